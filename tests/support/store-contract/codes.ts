import { beforeEach, describe, expect, it } from 'vitest'
import { dueSignOuts, grantSample, mintedSample, start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: authorization codes. */
export function describeCodes({ store, race }: StoreInstances): void {
  const { code, session, tokens, grant } = grantSample('a')
  const redeem = (now: number) => store().redeemAuthorizationCode(code.codeHash, tokens, now)

  describe('authorization codes', () => {
    beforeEach(() => store().addAuthorizationCode(code, session))

    it('an authorization code makes no grant before it is redeemed', async () => {
      expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
      expect(await store().findGrant(grant.id)).toBeUndefined()
      expect(await store().listGrants(undefined, { after: '', limit: 9 })).toEqual([])
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      expect(await store().findAccessToken(tokens.accessHash, start)).toBeUndefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toBeUndefined()
    })

    it('an authorization code becomes a grant with its session and tokens', async () => {
      expect(await redeem(start)).toEqual({ kind: 'redeemed' })
      expect(await store().findAccessToken(tokens.accessHash, start)).toEqual({
        grant,
        scope: 'mcp',
        expiresAt: start + 3600,
        awaitsFirstUse: false,
        providerSession: session,
      })
      expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({
        grant,
        endReason: undefined,
        usedAt: undefined,
      })
      expect(await store().findProviderSession(grant.id)).toEqual(session)
      expect(await dueSignOuts(store(), start + 86_400)).toEqual([])
    })

    it.each([
      ['one second before its end', 59, 'redeemed'],
      ['at its end', 60, 'expired'],
      ['long after its end', 86_400, 'expired'],
    ])('RFC 6749 4.1.2: an authorization code redeemed %s', async (_when, after, kind) => {
      expect(await redeem(start + after)).toEqual({ kind })
      const live = kind === 'redeemed'
      expect((await store().findAccessToken(tokens.accessHash, start)) !== undefined).toBe(live)
      expect((await store().findProviderSession(grant.id)) !== undefined).toBe(live)
    })

    it('a used code stays used after its expiry and end, with the time of its first use', async () => {
      await redeem(start + 7)
      expect(await redeem(start + 8)).toEqual({ kind: 'used', redeemedAt: start + 7 })
      await store().endGrant(grant.id, 'code_reuse', start + 20)
      expect(await redeem(start + 3600)).toEqual({ kind: 'used', redeemedAt: start + 7 })
    })

    it('a code whose session was abandoned is expired, even for a slow clock', async () => {
      await store().collectExpired(start + 60, 500)
      expect(await redeem(start + 59)).toEqual({ kind: 'expired' })
      expect(await store().findAccessToken(tokens.accessHash, start)).toBeUndefined()
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      expect(await dueSignOuts(store(), start + 60)).toEqual([session])
    })

    it('fifty redemptions of a code at once: one wins, and only its tokens exist', async () => {
      const results = await race((each, index) =>
        each.redeemAuthorizationCode(code.codeHash, mintedSample(`racer ${index}`), start),
      )
      expect(results.filter(({ kind }) => kind === 'redeemed')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'used')).toHaveLength(49)
      const winner = results.findIndex(({ kind }) => kind === 'redeemed')
      const live = await race((each, index) => each.findAccessToken(`access racer ${index}`, start))
      expect(live.flatMap((record, index) => (record ? [index] : []))).toEqual([winner])
      const refresh = await race((each, index) => each.findRefreshToken(`refresh racer ${index}`))
      expect(refresh.flatMap((record, index) => (record ? [index] : []))).toEqual([winner])
    })

    it('a client without refresh tokens gets an access token only', async () => {
      const { scope, accessHash, accessExpiresAt } = tokens
      const minted = { scope, accessHash, accessExpiresAt, refreshHash: undefined }
      expect(await store().redeemAuthorizationCode(code.codeHash, minted, start)).toEqual({
        kind: 'redeemed',
      })
      expect(await store().findAccessToken(accessHash, start)).toMatchObject({ grant })
      expect(await store().findRefreshToken('')).toBeUndefined()
    })
  })
}
