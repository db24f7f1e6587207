import { describe, expect, it } from 'vitest'
import { addGrant, dueSignOuts, type GrantSample, grantSample, start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: the outbox of sign-outs. */
export function describeSignOuts({ store, race }: StoreInstances): void {
  const claim = (limit: number, until: number, now: number) => store().claimSignOuts({ limit, until }, now)

  /** Adds a grant that ended `after` seconds past the start. */
  async function ended(name: string, after = 0): Promise<GrantSample> {
    const sample = await addGrant(store(), grantSample(name))
    await store().endGrant(sample.grant.id, 'code_reuse', start + after)
    return sample
  }

  describe('sign-outs', () => {
    it('a claimed sign-out comes back at the end of the claim, counted', async () => {
      const { session } = await ended('a')
      expect(await claim(10, start + 30, start)).toEqual([{ session, attempts: 1, since: start }])
      expect(await claim(10, start + 60, start + 29)).toEqual([])
      expect(await claim(10, start + 60, start + 30)).toEqual([{ session, attempts: 2, since: start }])
      expect(await claim(10, start + 90, start + 60)).toEqual([{ session, attempts: 3, since: start }])
    })

    it('the store claims sign-outs in the order in which they are due, up to the limit', async () => {
      const late = await ended('a', 9)
      const early = await ended('b', 1)
      const middle = await ended('c', 5)
      const first = await claim(2, start + 30, start + 9)
      expect(first.map(({ session }) => session)).toEqual([early.session, middle.session])
      expect(await dueSignOuts(store(), start + 9)).toEqual([late.session])
      expect(await claim(0, start + 30, start + 9)).toEqual([])
    })

    it('a postponed sign-out is due later, behind the others, and keeps its age and count; a completed one is gone, and no other', async () => {
      const a = await ended('a', 1)
      const b = await ended('b', 2)
      await claim(10, start + 30, start + 2)
      await store().postponeSignOut(a.grant.id, start + 40)
      await store().postponeSignOut(b.grant.id, start + 39)
      expect(await claim(10, start + 80, start + 38)).toEqual([])
      expect(await claim(10, start + 80, start + 40)).toEqual([
        { session: b.session, attempts: 2, since: start + 2 },
        { session: a.session, attempts: 2, since: start + 1 },
      ])
      for (const { grant } of [a, b]) await store().postponeSignOut(grant.id, start - 1)
      await store().removeSignOut(a.grant.id)
      expect(await dueSignOuts(store(), start)).toEqual([b.session])
    })

    it('fifty workers at once get different sign-outs', async () => {
      const samples = await race((each, index) => addGrant(each, grantSample(`racer ${index}`)))
      await race((each, index) => each.endGrant(samples[index]?.grant.id ?? '', 'code_reuse', start))
      const claims = await race((each) => each.claimSignOuts({ limit: 3, until: start + 30 }, start))
      for (const each of claims) expect(each.length).toBeLessThanOrEqual(3)
      const rest = await claim(100, start + 30, start)
      const all = [...claims.flat(), ...rest]
      expect(new Set(all.map(({ session }) => session.grantId)).size).toBe(50)
      expect(all).toHaveLength(50)
      expect(all.every(({ attempts }) => attempts === 1)).toBe(true)
    })
  })
}
