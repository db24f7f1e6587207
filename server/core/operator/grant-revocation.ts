import type { Grant, GrantStore } from '../session/grant.ts'
import { isLive } from '../session/grant-pages.ts'
import { maxWaiting } from './grant-list.ts'

export const revokedByOperator = 'revoked_by_operator'

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
  await store.endGrant(grantId, revokedByOperator, now)
  return [record.grant]
}
