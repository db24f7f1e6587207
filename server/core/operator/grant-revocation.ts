import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, GrantOwner, GrantStore } from '../session/grant.ts'
import { endAllGrants, isLive, readGrants } from '../session/grant-pages.ts'
import { maxWaiting } from './grant-list.ts'

const reason = 'revoked_by_operator'

/**
 * Ends one grant, or a future one whose tokens have not been fetched. Every running server refuses its tokens from the next
 * request on. Returns the ended grant, none if it had already ended, and undefined if the id is unknown.
 */
export async function revokeGrant(
  grantId: string,
  store: GrantStore,
  now: number,
): Promise<Grant[] | undefined> {
  const waiting = await store.listUnredeemedCodes(undefined, { now, limit: maxWaiting })
  const code = waiting.find(({ grant }) => grant.id === grantId)
  if (code && (await store.expireCode(code.codeHash, now))) return [code.grant]
  const record = await store.findGrant(grantId)
  if (!record) return undefined
  if (!isLive(record, now)) return []
  await store.endGrant(grantId, reason, now)
  return [record.grant]
}

/** Also ends future grants whose tokens have not been fetched, as {@link endAllGrants} does. */
export async function* revokeGrantsOf(
  owners: readonly GrantOwner[],
  store: GrantStore,
  now: number,
): AsyncGenerator<Grant> {
  for (const of of owners) yield* endAllGrants(store, of, reason, now)
}

/** Counts what {@link revokeGrantsOf} would end, up to `max`. */
export async function countRevocable(
  owners: readonly GrantOwner[],
  max: number,
  { store, runtime }: { store: GrantStore; runtime: Pick<Runtime, 'now' | 'sleep'> },
): Promise<number> {
  const now = runtime.now()
  let count = 0
  for (const of of owners) {
    count += (await store.listUnredeemedCodes(of, { now, limit: max })).length
    for await (const record of readGrants({ store, runtime }, of)) {
      if (isLive(record, now)) count += 1
      if (count >= max) return max
    }
  }
  return Math.min(count, max)
}
