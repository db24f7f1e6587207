import { describe, expect, it } from 'vitest'
import type { PendingSocialSignIn } from '../../../server/core/sign-in/pending-sign-in.ts'
import { start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Returns a social sign-in named `id` that may return for ten minutes. */
export function socialSignInSample(
  id: string,
  bindingHash = 'binding',
  expiresAt: number = start + 600,
): PendingSocialSignIn {
  return { id, bindingHash, sealed: `sealed ${id}`, expiresAt }
}

/** Store contract: pending social sign-ins. */
export function describeSocialSignIns({ store, race }: StoreInstances): void {
  const listed = async (bindingHash: string, now = start): Promise<string[]> =>
    (await store().listSocialSignIns(bindingHash, now)).map(({ id }) => id)

  describe('pending social sign-ins', () => {
    it('the store lists a social sign-in until the second before it expires', async () => {
      await store().addSocialSignIn(socialSignInSample('a'), 5)
      expect(await listed('binding', start + 599)).toEqual(['a'])
      expect(await listed('binding', start + 600)).toEqual([])
    })

    it('the store keeps the newest five social sign-ins of one browser, listed newest first, and all of the others', async () => {
      await store().addSocialSignIn(socialSignInSample('other', 'other browser'), 5)
      for (const id of ['q', 'z', 'b', 'y', 'a', 'm', 'c'])
        await store().addSocialSignIn(socialSignInSample(id), 5)
      const newest = ['c', 'm', 'a', 'y', 'b'].map((id) => socialSignInSample(id))
      expect(await store().listSocialSignIns('binding', start)).toEqual(newest)
      expect(await listed('other browser')).toEqual(['other'])
      expect(await listed('nobody')).toEqual([])
      expect(await store().removeSocialSignIn('q')).toBe(false)
    })

    it('fifty social sign-ins of one browser at once leave five', async () => {
      await race((each, tab) => each.addSocialSignIn(socialSignInSample(`tab ${tab}`), 5))
      expect(await listed('binding')).toHaveLength(5)
    })

    it('the store lets exactly one of fifty callers take a social sign-in', async () => {
      await store().addSocialSignIn(socialSignInSample('a'), 5)
      await store().addSocialSignIn(socialSignInSample('b'), 5)
      const taken = await race((each) => each.removeSocialSignIn('a'))
      expect(taken.filter(Boolean)).toHaveLength(1)
      expect(await listed('binding')).toEqual(['b'])
    })
  })
}
