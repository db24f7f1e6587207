import { editDistance } from '@drawbridge/shared/nearest-name.ts'
import { type ClientFacts, listKnownClients } from '../../core/operator/client-list.ts'
import { readConfiguredClients } from '../../config/client-file.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'

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

/**
 * Prints the clients that are known: of the file that CLIENTS names, and of the store. Registrations that nobody has signed in with are
 * left out unless `all` says otherwise: anybody can make them.
 */
export async function listClients(input: CommandInput, options: { all: boolean }): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'clients'])
  const { runtime } = input
  const configured = readConfiguredClients(config, runtime.now())
  const { clients, unused } = await withStore(config, (store) =>
    listKnownClients(options, { store, configured, runtime }),
  )
  const { terminal } = input
  if (input.json) terminal.print(JSON.stringify({ ok: true, clients, unused }))
  else terminal.print(clients.length === 0 ? 'No clients.' : clientTable(clients))
  if (!options.all && unused > 0) {
    terminal.note(`${unused} more registered and nobody has signed in with them. To see them: --all`)
  }
  return exitCode.ok
}

function clientTable(rows: readonly ClientFacts[]): string {
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
