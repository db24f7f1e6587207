import type { AuthorizationCodeRecord, GrantRecord, GrantStore } from '../../core/session/grant.ts'
import type { ServerConfig } from '../../config/setting.ts'
import type { ClientStore } from '../../core/clients/client.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { withStore } from '../with-store.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'

/** Whose grants a command is about; undefined: everybody's. */
export type GrantsOf = Parameters<GrantStore['listGrants']>[0]

const pageSize = 200

/** The grants of a person by their `sub` at the session provider of `config`. */
export function grantsOfUser(sub: string, config: Pick<ServerConfig, 'providerIssuer'>): { userId: string } {
  return { userId: `${config.providerIssuer}#${sub}` }
}

/** Whether it can still be used at `now`. */
export function isLive({ grant, end }: GrantRecord, now: number): boolean {
  return end === undefined && grant.expiresAt > now
}

/** At most `most` of the grants that `keep` wants, by id, and whether there are more. Reads page by page, beside running servers. */
export async function collectGrants(
  store: Pick<GrantStore, 'listGrants'>,
  of: GrantsOf,
  { keep, most }: { keep: (record: GrantRecord) => boolean; most: number },
): Promise<{ records: GrantRecord[]; isCut: boolean }> {
  const records: GrantRecord[] = []
  for (let after = ''; records.length <= most;) {
    const page = await store.listGrants(of, { after, limit: pageSize })
    records.push(...page.filter(keep))
    after = page.at(-1)?.grant.id ?? after
    if (page.length < pageSize) break
  }
  return { records: records.slice(0, most), isCut: records.length > most }
}

/** Whoever looks at more than this looks at nothing. */
const maxListed = 10_000

/** Which grants to list. Both `user` and `client`: those of that person with that client. */
export interface GrantsListOptions {
  /** The `sub` of a person at the session provider. */
  user: string | undefined
  client: string | undefined
  /** Also those that have ended and are not collected yet. */
  all: boolean
}

/**
 * Prints grants, and what would become one as soon as its tokens are fetched (`waiting`): whose, of which client, when they were
 * made and last used, from where and with which tool, and when and why they end.
 */
export async function listGrants(
  input: CommandInput,
  { user, client, all }: GrantsListOptions,
): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const now = input.runtime.now()
  const of =
    user !== undefined ? grantsOfUser(user, config) : client !== undefined ? { clientId: client } : undefined
  const keep = (record: GrantRecord): boolean =>
    (all || isLive(record, now)) && (client === undefined || record.grant.clientId === client)
  const { rows, isCut } = await withStore(config, async (store) => {
    if (!store) return { rows: [], isCut: false }
    const waiting = await store.listUnredeemedCodes(of, { now, limit: maxListed })
    const found = await collectGrants(store, of, { keep, most: maxListed })
    const ofClient = waiting.filter(({ grant }) => client === undefined || grant.clientId === client)
    const rows = await describe([...ofClient.map(waitingRecord), ...found.records], now, store)
    return { rows, isCut: found.isCut }
  })
  const { terminal } = input
  if (input.json) terminal.print(JSON.stringify({ ok: true, grants: rows, truncated: isCut }))
  else terminal.print(rows.length === 0 ? 'No grants.' : grantTable(rows))
  if (isCut) terminal.note(`There are more than ${maxListed}. Choose with --user or --client.`)
  return exitCode.ok
}

/** One grant as the command prints it with `--json`; times are epoch seconds. */
interface GrantRow {
  id: string
  sub: string
  email: string | undefined
  client_id: string
  client_name: string | undefined
  scope: string
  created_at: number
  last_used_at: number | undefined
  last_address: string | undefined
  last_tool: string | undefined
  two_addresses: GrantRecord['twoAddresses']
  expires_at: number
  /** Of a `waiting` one, `expires_at` is when it can be fetched no more. */
  state: 'live' | 'waiting' | 'expired' | 'ended'
  ended_at: number | undefined
  end_reason: string | undefined
}

/** A {@link GrantRecord}, or what is not a grant before its tokens are fetched. */
type ListedRecord = GrantRecord & { isWaiting?: true }

function waitingRecord({ grant, expiresAt }: AuthorizationCodeRecord): ListedRecord {
  return {
    grant: { ...grant, expiresAt },
    lastUse: undefined,
    twoAddresses: undefined,
    replays: undefined,
    end: undefined,
    isWaiting: true,
  }
}

async function describe(
  records: readonly ListedRecord[],
  now: number,
  clients: Pick<ClientStore, 'findClient'>,
): Promise<GrantRow[]> {
  const names = new Map<string, string | undefined>()
  for (const { grant } of records) {
    if (names.has(grant.clientId)) continue
    names.set(grant.clientId, (await clients.findClient(grant.clientId))?.name)
  }
  return records.map((record) => ({
    id: record.grant.id,
    sub: record.grant.user.sub,
    email: record.grant.user.email,
    client_id: record.grant.clientId,
    client_name: names.get(record.grant.clientId),
    scope: record.grant.scope,
    created_at: record.grant.createdAt,
    last_used_at: record.lastUse?.usedAt,
    last_address: record.lastUse?.address,
    last_tool: record.lastUse?.tool,
    two_addresses: record.twoAddresses,
    expires_at: record.grant.expiresAt,
    state: stateOf(record, now),
    ended_at: record.end?.at,
    end_reason: record.end?.reason,
  }))
}

function stateOf(record: ListedRecord, now: number): GrantRow['state'] {
  if (record.isWaiting) return 'waiting'
  if (isLive(record, now)) return 'live'
  return record.end ? 'ended' : 'expired'
}

function grantTable(rows: readonly GrantRow[]): string {
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
