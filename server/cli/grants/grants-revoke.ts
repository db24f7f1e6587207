import type { GrantStore } from '../../core/session/grant.ts'
import { CommandFailure, type CommandInput, type ExitCode, exitCode, readConfig } from '../command.ts'
import { collectGrants, grantsOfUser, isLive } from './grants-list.ts'
import { withStore } from '../with-store.ts'

const reason = 'revoked_by_operator'
const batchSize = 100
/** How far is counted before anybody has said yes. */
const maxCounted = 1000
/** Far more than people allow within two minutes. */
const maxWaiting = 10_000

/** What to revoke: exactly one of the three. */
export interface GrantsRevokeOptions {
  grantId: string | undefined
  /** The `sub` of a person at the session provider. */
  user: string | undefined
  client: string | undefined
  /** Ends more than one without asking. */
  yes: boolean
}

/**
 * Ends grants, and what would become one when its tokens are fetched, with the reason `revoked_by_operator`. Their tokens are refused from the next request on, by every running
 * server; their provider sessions are signed out by those. More than one only with `yes`.
 */
export async function revokeGrants(input: CommandInput, options: GrantsRevokeOptions): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { grantId, user, client } = options
  if ([grantId, user, client].filter((choice) => choice !== undefined).length !== 1) {
    throw new CommandFailure(
      'It is not clear which grants are meant.',
      'Give one grant id, or --user SUB, or --client ID. To see them: drawbridge-server grants list',
      { code: exitCode.usage },
    )
  }
  const now = input.runtime.now()
  const revoked = await withStore(config, async (store) => {
    if (grantId !== undefined) return revokeOne(grantId, store, now)
    if (!store) return []
    const of = user === undefined ? { clientId: client ?? '' } : grantsOfUser(user, config)
    if (!options.yes) await refuseSeveral(of, store, now)
    return revokeAll(of, store, now)
  })
  input.terminal.print(
    input.json ? JSON.stringify({ ok: true, revoked: revoked.length, grants: revoked }) : textOf(revoked),
  )
  return exitCode.ok
}

async function revokeOne(grantId: string, store: GrantStore | undefined, now: number): Promise<string[]> {
  if (await revokeWaiting(grantId, store, now)) return [grantId]
  const record = await store?.findGrant(grantId)
  if (!store || !record) {
    throw new CommandFailure(`There is no grant ${JSON.stringify(grantId)}.`, 'drawbridge-server grants list')
  }
  if (!isLive(record, now)) return []
  await store.endGrant(grantId, reason, now)
  return [grantId]
}

async function revokeWaiting(grantId: string, store: GrantStore | undefined, now: number): Promise<boolean> {
  const waiting = (await store?.listUnredeemedCodes(undefined, { now, limit: maxWaiting })) ?? []
  const code = waiting.find(({ grant }) => grant.id === grantId)
  return code !== undefined && store !== undefined && (await store.expireCode(code.codeHash, now))
}

async function revokeAll(
  of: { userId: string } | { clientId: string },
  store: GrantStore,
  now: number,
): Promise<string[]> {
  const revoked: string[] = []
  for (;;) {
    const ended = await store.endGrants(of, reason, { now, limit: batchSize })
    revoked.push(...ended.map(({ id }) => id))
    if (ended.length < batchSize) return revoked
  }
}

async function refuseSeveral(
  of: { userId: string } | { clientId: string },
  store: GrantStore,
  now: number,
): Promise<void> {
  const keep = (record: Parameters<typeof isLive>[0]): boolean => isLive(record, now)
  const { records, isCut } = await collectGrants(store, of, { keep, most: maxCounted })
  const waiting = await store.listUnredeemedCodes(of, { now, limit: maxCounted })
  const count = records.length + waiting.length
  if (count < 2) return
  throw new CommandFailure(
    `This ends ${isCut ? `more than ${maxCounted}` : count} grants: those people have to sign in again.`,
    'To go on, give --yes. To see them first: drawbridge-server grants list with the same choice.',
    { code: exitCode.usage },
  )
}

function textOf(revoked: readonly string[]): string {
  if (revoked.length === 0) return 'There was nothing to end.'
  return revoked.length === 1 ? `Ended grant ${revoked[0]}.` : `Ended ${revoked.length} grants.`
}
