import { describe, expect, it } from 'vitest'
import { dueSignOuts, secondFactorSample, start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

const most = 5

/** Store contract: sign-ins that wait for their second factor. */
export function describeSecondFactors({ store, race }: StoreInstances): void {
  const pending = secondFactorSample('a')
  const attempt = (now: number, id = 'a', bindingHash = 'binding') =>
    store().attemptSecondFactor({ id, bindingHash, max: most }, now)

  describe('second factors', () => {
    it('a second factor allows the maximum of attempts; the next one ends it, and its session is due for sign-out', async () => {
      await store().addSecondFactor(pending)
      for (let count = 1; count <= most; count += 1) expect(await attempt(start + count)).toEqual(pending)
      expect(await dueSignOuts(store(), start + 600)).toEqual([])
      expect(await attempt(start + 7)).toBeUndefined()
      expect(await dueSignOuts(store(), start + 6)).toEqual([])
      expect(await dueSignOuts(store(), start + 7)).toEqual([pending.session])
      expect(await attempt(start + 8)).toBeUndefined()
      expect(await store().removeSecondFactor('a', true, start + 8)).toBe(false)
    })

    it.each([
      ['until the second before its end', 599, true],
      ['not at its end', 600, false],
    ])('a second factor may be tried %s', async (_when, after, live) => {
      await store().addSecondFactor(pending)
      expect((await attempt(start + after)) !== undefined).toBe(live)
    })

    it('another browser learns nothing of a second factor, and its attempts do not count', async () => {
      await store().addSecondFactor(pending)
      for (let count = 0; count < 2 * most; count += 1) {
        expect(await attempt(start, 'a', 'other browser')).toBeUndefined()
      }
      for (let count = 0; count < most; count += 1) expect(await attempt(start)).toEqual(pending)
      expect(await attempt(start, 'a', 'other browser')).toBeUndefined()
      expect(await dueSignOuts(store(), start)).toEqual([])
    })

    it.each([
      ['that was taken up leaves nothing to sign out', false, []],
      ['that was abandoned has its session due for sign-out', true, [pending.session]],
    ])('a second factor %s', async (_what, signOut, due) => {
      await store().addSecondFactor(pending)
      expect(await store().removeSecondFactor('a', signOut, start + 5)).toBe(true)
      expect(await attempt(start + 5)).toBeUndefined()
      expect(await dueSignOuts(store(), start + 5)).toEqual(due)
      expect(await store().removeSecondFactor('a', true, start + 5)).toBe(false)
      expect(await dueSignOuts(store(), start + 5)).toEqual(due)
    })

    it('fifty attempts of a second factor at once: the maximum succeeds, and the sign-out is due once', async () => {
      await store().addSecondFactor(pending)
      const answers = await race((each) =>
        each.attemptSecondFactor({ id: 'a', bindingHash: 'binding', max: most }, start),
      )
      expect(answers.filter(Boolean)).toEqual(Array.from({ length: most }, () => pending))
      expect(await dueSignOuts(store(), start)).toEqual([pending.session])
    })

    it('the store lets exactly one of fifty callers take a second factor', async () => {
      await store().addSecondFactor(pending)
      const taken = await race((each, index) => each.removeSecondFactor('a', index % 2 === 0, start))
      expect(taken.filter(Boolean)).toHaveLength(1)
      const gaveUp = taken.indexOf(true) % 2 === 0
      expect(await dueSignOuts(store(), start)).toEqual(gaveUp ? [pending.session] : [])
    })
  })
}
