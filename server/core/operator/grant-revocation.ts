import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { collectGrants, isLive, maxWaiting } from './grant-list.ts'
import type { Grant, GrantOwner, GrantStore } from '../session/grant.ts'

const reason = 'revoked_by_operator'
const batchSize = 100

type RevocationStore = Pick<
  GrantStore,
  'endGrant' | 'endGrants' | 'expireCode' | 'findGrant' | 'listGrants' | 'listUnredeemedCodes'
>

/**
 * Ends one grant, or what would become it when its tokens are fetched, with the reason `revoked_by_operator`. Its tokens are
 * refused from the next request on, by every running server, and its provider session is signed out by one of them. Answers
 * the grant that ended, none when it had ended before, and undefined when there is none of that id.
 */
export async function revokeGrant(
  grantId: string,
  store: RevocationStore,
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

/**
 * {@link revokeGrant} for everything of some users or clients. Gives each grant after it has ended, so that those are known when the
 * store fails on the way.
 */
export async function* revokeGrantsOf(
  owners: readonly GrantOwner[],
  store: RevocationStore,
  now: number,
): AsyncGenerator<Grant> {
  for (const of of owners) {
    for (;;) {
      const ended = await store.endGrants(of, reason, { now, limit: batchSize })
      yield* ended
      if (ended.length < batchSize) break
    }
  }
}

/** How many grants {@link revokeGrantsOf} would end; `most` stands for that many or more. */
export async function countRevocable(
  owners: readonly GrantOwner[],
  most: number,
  { store, runtime }: { store: RevocationStore; runtime: Pick<Runtime, 'now' | 'sleep'> },
): Promise<number> {
  const now = runtime.now()
  let count = 0
  for (const of of owners) {
    const live = await collectGrants({ store, runtime }, of, { keep: (record) => isLive(record, now), most })
    const waiting = await store.listUnredeemedCodes(of, { now, limit: most })
    count += live.length + waiting.length
  }
  return Math.min(count, most)
}
