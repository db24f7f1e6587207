import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { pagesOf } from '../paging.ts'
import type { Grant, GrantEndReason, GrantOwner, GrantRecord, GrantStore } from './grant.ts'

const endedAtOnce = 100

/** Neither ended nor expired. */
export function isLive(
  { grant, end }: Pick<GrantRecord, 'grant'> & Partial<GrantRecord>,
  now: number,
): boolean {
  return end === undefined && grant.expiresAt > now
}

/** Reads grants by id, starting after `after`, as {@link pagesOf} does. */
export async function* readGrants(
  { store, runtime }: { store: Pick<GrantStore, 'listGrants'>; runtime: Pick<Runtime, 'sleep'> },
  of: GrantOwner | undefined,
  after = '',
): AsyncGenerator<GrantRecord> {
  const pages = pagesOf(
    (page) => store.listGrants(of, page),
    ({ grant }) => grant.id,
    runtime,
    after,
  )
  for await (const page of pages) yield* page
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
