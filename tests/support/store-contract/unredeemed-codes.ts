import { describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  mintedSample,
  start,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

const ada = { id: 'p#ada', sub: 'ada', email: undefined, name: undefined }
const page = { now: start, limit: 9 }

/** Store contract: allowed but unredeemed codes, which can be listed and ended like a grant. */
export function describeUnredeemedCodes({ store, race }: StoreInstances): void {
  async function allow(name: string, expiresAt = start + 60): Promise<GrantSample> {
    const sample = grantSample(name, { user: ada, clientId: 'one' })
    const waiting = { ...sample, code: { ...sample.code, expiresAt } }
    await store().addAuthorizationCode(waiting.code, waiting.session)
    return waiting
  }
  const redeem = (name: string, now = start): Promise<{ kind: string }> =>
    store().redeemAuthorizationCode(`code ${name}`, mintedSample(`${name} 1`), now)

  describe('unredeemed codes', () => {
    it('the store lists unredeemed codes by user, by client and all, in the order in which they expire', async () => {
      const late = await allow('late', start + 120)
      const soon = await allow('soon')
      const other = grantSample('other')
      await store().addAuthorizationCode({ ...other.code, expiresAt: start + 90 }, other.session)
      expect(await store().listUnredeemedCodes({ userId: ada.id }, page)).toEqual([soon.code, late.code])
      expect(await store().listUnredeemedCodes({ clientId: 'one' }, page)).toEqual([soon.code, late.code])
      expect((await store().listUnredeemedCodes(undefined, page)).map(({ codeHash }) => codeHash)).toEqual([
        'code soon',
        'code other',
        'code late',
      ])
      expect(await store().listUnredeemedCodes({ userId: ada.id }, { ...page, limit: 1 })).toEqual([
        soon.code,
      ])
      expect(await store().listUnredeemedCodes({ userId: 'one' }, page)).toEqual([])
    })

    it('the store lists no code that is redeemed, expired or ended', async () => {
      await allow('redeemed')
      await allow('expired', start)
      await allow('ended')
      await redeem('redeemed')
      expect(await store().expireCode('code ended', start)).toBe(true)
      expect(await store().listUnredeemedCodes(undefined, page)).toEqual([])
      expect(await store().listUnredeemedCodes({ userId: ada.id }, page)).toEqual([])
    })

    it('an ended code is expired, and its session due for sign-out at once', async () => {
      const { session } = await allow('a')
      expect(await store().expireCode('code a', start + 5)).toBe(true)
      expect(await redeem('a', start + 5)).toEqual({ kind: 'expired' })
      expect(await store().expireCode('code a', start + 6)).toBe(false)
      expect(await store().claimSignOuts({ limit: 5, until: start + 5 }, start + 5)).toEqual([
        { session, attempts: 1, since: start + 5 },
      ])
    })

    it.each([
      ['redeemed', 'code redeemed'],
      ['expired', 'code expired'],
    ])('ending a code that is %s changes nothing', async (_what, hash) => {
      await allow('expired', start)
      await allow('redeemed')
      await redeem('redeemed')
      expect(await store().expireCode(hash, start)).toBe(false)
      expect(await store().findProviderSession('grant redeemed')).toBeDefined()
      expect(await dueSignOuts(store(), start)).toEqual([])
    })

    it.each([
      ['user', { userId: ada.id }],
      ['client', { clientId: 'one' }],
    ] as const)('unredeemed codes end with all grants of a %s, and with no other', async (_whose, of) => {
      const live = await addGrant(store(), grantSample('live', { user: ada, clientId: 'one' }))
      const waiting = await allow('waiting')
      const other = grantSample('other')
      await store().addAuthorizationCode(other.code, other.session)
      const ended = await store().endGrants(of, 'revoked_by_user', page)
      expect(ended.map(({ id }) => id).toSorted()).toEqual(['grant live', 'grant waiting'])
      expect(await redeem('waiting')).toEqual({ kind: 'expired' })
      expect((await dueSignOuts(store(), start)).map(({ grantId }) => grantId).toSorted()).toEqual(
        [live.session.grantId, waiting.session.grantId].toSorted(),
      )
      expect((await redeem('other')).kind).toBe('redeemed')
      expect(await store().endGrants(of, 'revoked_by_user', page)).toEqual([])
    })

    it('unredeemed codes count within the limit of a page', async () => {
      for (const name of ['a', 'b', 'c']) await allow(name)
      for (const name of ['d', 'e']) await addGrant(store(), grantSample(name, { user: ada }))
      const ended: number[] = []
      const end = () => store().endGrants({ userId: ada.id }, 'revoked_by_user', { now: start, limit: 2 })
      for (let round = 0; round < 3; round += 1) ended.push((await end()).length)
      expect(ended).toEqual([2, 2, 1])
    })

    it('fifty redemptions and ends of a code at once: no grant of the user lives afterwards', async () => {
      await allow('a')
      await race<unknown>((each, index) =>
        index % 2 === 0
          ? each.redeemAuthorizationCode('code a', mintedSample(`racer ${index}`), start)
          : each.endGrants({ userId: ada.id }, 'revoked_by_user', page),
      )
      const live = await race((each, index) => each.findAccessToken(`access racer ${index}`, start))
      expect(live.filter(Boolean)).toEqual([])
      expect(await dueSignOuts(store(), start)).toHaveLength(1)
    })
  })
}
