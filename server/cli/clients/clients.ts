import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { looksLikeDocumentUrl } from '../../core/clients/client-id-metadata-document.ts'
import { type ClientRemoval, removeKnownClient } from '../../core/clients/client-removal.ts'
import { type ClientFacts, listKnownClients, listStoredClients } from '../../core/operator/client-list.ts'
import {
  CommandFailure,
  type CommandInput,
  type CommandOptions,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'
import { printFacts } from '../terminal.ts'
import { withStore } from '../with-store.ts'

const maxCompared = 5000

/**
 * Prints the clients of the file CLIENTS and of the store. Leaves out registrations that were never used to sign in, which anybody
 * can make, unless `all`.
 */
export async function listClients(
  input: CommandInput,
  { all = false }: Pick<CommandOptions, 'all'>,
): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'clients'])
  const { runtime } = input
  const configured = readConfiguredClients(config, runtime.now())
  const { clients, unused } = await withStore(config, (store) =>
    listKnownClients({ all }, { store, configured, runtime }),
  )
  printFacts(
    input,
    { ok: true, clients, unused },
    {
      head: ['client', 'kind', 'name', 'proves itself by', 'since', 'until'],
      rows: clients.map(cellsOf),
      none: 'No clients.',
    },
  )
  if (!all && unused > 0) {
    input.terminal.note(`${unused} more registered and nobody has signed in with them. To see them: --all`)
  }
  return exitCode.ok
}

function cellsOf(row: ClientFacts): string[] {
  return [
    row.client_id,
    row.introspects ? `${row.kind}, introspects` : row.kind,
    plainText(row.client_name ?? '-'),
    row.token_endpoint_auth_method,
    dayText(row.created_at),
    row.expires_at === undefined ? '-' : dayText(row.expires_at),
  ]
}

function dayText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}

/**
 * Removes a client from the store and ends all its grants. Running servers refuse it from the next request on, except that they
 * use a cached metadata document until it has to be fetched again.
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
  const what = removed ? `Removed ${clientId}.` : `${clientId} was removed before.`
  printFacts(
    input,
    { ok: true, client_id: clientId, removed, grants_ended: grantsEnded },
    `${what} Grants ended: ${grantsEnded}.`,
  )
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
  const place = config.store.kind === 'memory' ? 'in memory' : 'in the store'
  return new CommandFailure(
    `There is no client ${JSON.stringify(clientId)} ${place}.${suggestion(clientId, ids)}`,
    'drawbridge-server clients list --all',
    { code: exitCode.usage },
  )
}
