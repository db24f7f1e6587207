import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, GrantEndReason, GrantOwner, GrantRecord, GrantStore } from './grant.ts'

const pageSize = 200
const endedAtOnce = 100

/** True when the grant can still be used at `now`. */
export function isLive({ grant, end }: GrantRecord, now: number): boolean {
  return end === undefined && grant.expiresAt > now
}

/** Reads grants page by page, by id, starting after `after`, next to running servers. */
export async function* readGrants(
  { store, runtime }: { store: Pick<GrantStore, 'listGrants'>; runtime: Pick<Runtime, 'sleep'> },
  of: GrantOwner | undefined,
  after = '',
): AsyncGenerator<GrantRecord> {
  for (let last = after; ;) {
    const page = await store.listGrants(of, { after: last, limit: pageSize })
    yield* page
    last = page.at(-1)?.grant.id ?? last
    if (page.length < pageSize) return
    // An in-process store reads synchronously: yield to its other users.
    await runtime.sleep(0)
  }
}

/** Ends all grants of `of`. Yields each after it has ended, so that those are known if the store fails partway. */
export async function* endAllGrants(
  store: Pick<GrantStore, 'endGrants'>,
  of: GrantOwner,
  reason: GrantEndReason,
  now: number,
): AsyncGenerator<Grant> {
  for (;;) {
    const ended = await store.endGrants(of, reason, { now, limit: endedAtOnce })
    yield* ended
    if (ended.length < endedAtOnce) return
  }
}
