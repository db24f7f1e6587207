import { type GrantFacts, listGrants as listFacts } from '../../core/operator/grant-list.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'

/** Whoever looks at more than this looks at nothing. */
const maxListed = 10_000

/** Which grants to list. Both `user` and `client`: those of that person with that client. */
export interface GrantsListOptions {
  /** The `sub` of a person at the session provider, or an email address. */
  user: string | undefined
  client: string | undefined
  /** Also those that have ended and are not collected yet. */
  all: boolean
}

/**
 * Prints grants, and what would become one as soon as its tokens are fetched (`waiting`): whose, of which client, when they were
 * made and last used, from where and with which tool, and when and why they end.
 */
export async function listGrants(input: CommandInput, choice: GrantsListOptions): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { providerIssuer } = config
  const { runtime } = input
  const { grants, next } = await withStore(config, async (store) =>
    store
      ? listFacts(choice, { after: '', limit: maxListed }, { store, providerIssuer, runtime })
      : { grants: [], next: undefined },
  )
  // What waits is over within minutes, and so comes first.
  const rows = grants.toSorted((one, other) => Number(isWaiting(other)) - Number(isWaiting(one)))
  const truncated = next !== undefined
  const { terminal } = input
  if (input.json) terminal.print(JSON.stringify({ ok: true, grants: rows, truncated }))
  else terminal.print(rows.length === 0 ? 'No grants.' : grantTable(rows))
  if (truncated) terminal.note(`There are more than ${maxListed}. Choose with --user or --client.`)
  return exitCode.ok
}

function isWaiting({ state }: GrantFacts): boolean {
  return state === 'waiting'
}

function grantTable(rows: readonly GrantFacts[]): string {
  return textTable(
    ['grant', 'user', 'client', 'created', 'last used', 'from', 'tool', 'ends', ''],
    rows.map((row) => [
      row.id,
      printable(row.email ?? row.sub),
      printable(row.client_name === undefined ? row.client_id : `${row.client_name} (${row.client_id})`),
      timeText(row.created_at),
      row.last_used_at === undefined ? '-' : timeText(row.last_used_at),
      row.last_address ?? '-',
      row.last_tool === undefined ? '-' : printable(row.last_tool),
      timeText(row.ended_at ?? row.expires_at),
      row.state === 'live' ? '' : (row.end_reason ?? row.state),
    ]),
  )
}

/** A client chooses its name itself: nothing in it may steer the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** To the minute, in UTC. */
function timeText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`
}
