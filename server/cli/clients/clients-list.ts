import { editDistance } from '@drawbridge/shared/nearest-name.ts'
import type { Client, ClientStore } from '../../core/clients/client.ts'
import { isExpired, isInUse } from '../../core/clients/client-life.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'

const pageSize = 500

/** At most `most` of the stored clients, by id, read page by page beside running servers. */
export async function listStoredClients(
  store: Pick<ClientStore, 'listClients'>,
  most: number,
): Promise<Client[]> {
  const clients: Client[] = []
  for (let after = ''; clients.length < most;) {
    const page = await store.listClients({ after, limit: pageSize })
    clients.push(...page)
    after = page.at(-1)?.id ?? after
    if (page.length < pageSize) break
  }
  return clients.slice(0, most)
}

/**
 * The one of `candidates` that somebody who typed `text` may have meant: it begins with it, or a few letters differ.
 * Undefined when none is near, or several are just as near.
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  const beginning = candidates.filter((candidate) => text.length > 5 && candidate.startsWith(text))
  if (beginning.length === 1) return beginning[0]
  const measured = candidates
    .map((candidate) => ({ candidate, distance: editDistance(text, candidate) }))
    .filter(({ distance }) => distance <= 3)
    .toSorted((one, other) => one.distance - other.distance)
  const [first, second] = measured
  return first && first.distance !== second?.distance ? first.candidate : undefined
}

/** Whoever looks at more than this looks at nothing. */
const maxListed = 10_000

/**
 * Prints the clients that are known: of the file that CLIENTS names, and of the store. Registrations that nobody has signed in with are
 * left out unless `all` says otherwise: anybody can make them.
 */
export async function listClients(input: CommandInput, options: { all: boolean }): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'clients'])
  const now = input.runtime.now()
  const stored = await withStore(config, async (store) =>
    store ? listStoredClients(store, maxListed + 1) : [],
  )
  const alive = stored.filter((client) => !isExpired(client, now))
  const known = alive.filter((client) => options.all || isInUse(client))
  const unused = alive.filter((client) => !isInUse(client)).length
  const rows = [...readConfiguredClients(config, now).values(), ...known].slice(0, maxListed).map(rowOf)
  const { terminal } = input
  if (input.json) terminal.print(JSON.stringify({ ok: true, clients: rows, unused }))
  else terminal.print(rows.length === 0 ? 'No clients.' : clientTable(rows))
  if (!options.all && unused > 0) {
    terminal.note(`${unused} more registered and nobody has signed in with them. To see them: --all`)
  }
  return exitCode.ok
}

/** One client as the command prints it with `--json`; times are epoch seconds. Nothing secret is in it. */
interface ClientRow {
  client_id: string
  kind: Client['kind']
  client_name: string | undefined
  redirect_uris: readonly string[]
  grant_types: readonly string[]
  token_endpoint_auth_method: string
  introspects: boolean
  created_at: number
  expires_at: number | undefined
}

function rowOf(client: Client): ClientRow {
  return {
    client_id: client.id,
    kind: client.kind,
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.authMethod,
    introspects: client.introspects,
    created_at: client.createdAt,
    expires_at: client.expiresAt,
  }
}

function clientTable(rows: readonly ClientRow[]): string {
  return textTable(
    ['client', 'kind', 'name', 'proves itself by', 'since', 'until'],
    rows.map((row) => [
      row.client_id,
      row.introspects ? `${row.kind}, introspects` : row.kind,
      printable(row.client_name ?? '-'),
      row.token_endpoint_auth_method,
      dayText(row.created_at),
      row.expires_at === undefined ? '-' : dayText(row.expires_at),
    ]),
  )
}

/** A client chooses its name itself: nothing in it may steer the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

function dayText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}
