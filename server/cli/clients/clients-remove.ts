import { listStoredClients } from '../../core/operator/client-list.ts'
import { type ClientRemoval, removeKnownClient } from '../../core/clients/client-removal.ts'
import { looksLikeDocumentUrl } from '../../core/clients/client-id-metadata-document.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import { nearest } from './clients-list.ts'
import { CommandFailure, type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'

const maxCompared = 5000

/**
 * Removes a client from the store and ends everything that people allowed to it. Running servers refuse it from the next
 * request on; what they have in memory of a metadata document they use until it has to be fetched again.
 */
export async function removeClient(input: CommandInput, clientId: string): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'clients'])
  const { runtime, terminal } = input
  const configured = readConfiguredClients(config, runtime.now())
  const { removed, grantsEnded } = await withStore(config, async (store) => {
    const outcome: ClientRemoval = store
      ? await removeKnownClient(clientId, { configured, store, runtime })
      : { kind: configured.has(clientId) ? 'configured' : 'unknown' }
    if (outcome.kind === 'configured') throw clientOfFile(clientId, config)
    if (outcome.kind === 'unknown') throw await unknownClient(clientId, store && { store, runtime }, config)
    return outcome
  })
  if (input.json) {
    terminal.print(JSON.stringify({ ok: true, client_id: clientId, removed, grants_ended: grantsEnded }))
  } else {
    const what = removed ? `Removed ${clientId}.` : `${clientId} was removed before.`
    terminal.print(`${what} Grants ended: ${grantsEnded}.`)
  }
  if (looksLikeDocumentUrl(clientId)) {
    const { hostname } = new URL(clientId)
    terminal.note(`People can connect it again. To refuse it: --client-document-hosts '!${hostname}'`)
  }
  return exitCode.ok
}

function clientOfFile(clientId: string, { clients }: Pick<ServerConfig, 'clients'>): CommandFailure {
  return new CommandFailure(
    `${clientId} is a client of the file ${clients}.`,
    'Take it out of there and start the servers again; then drawbridge-server grants revoke --client ends what it has.',
    { code: exitCode.usage },
  )
}

async function unknownClient(
  clientId: string,
  ports: Parameters<typeof listStoredClients>[0] | undefined,
  config: Pick<ServerConfig, 'store'>,
): Promise<CommandFailure> {
  const ids = ports ? (await listStoredClients(ports, maxCompared)).map(({ id }) => id) : []
  const meant = nearest(clientId, ids)
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`
  const place = config.store.kind === 'memory' ? 'in memory' : 'in the store'
  return new CommandFailure(
    `There is no client ${JSON.stringify(clientId)} ${place}.${question}`,
    'drawbridge-server clients list --all',
    { code: exitCode.usage },
  )
}
