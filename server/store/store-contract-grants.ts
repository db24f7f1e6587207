import { beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../core/store.ts'
import {
  addGrant,
  type GrantSample,
  grantSample,
  grantSeconds,
  mintedSample,
  race,
  start,
  successorSample,
} from '../testing/grant-sample.ts'

const replaySeconds = 120

/** The part of the store contract about codes, grants and tokens. */
export function describeGrants(store: () => Store): void {
  describeCodes(store)
  describeAccessTokens(store)
  describeRefreshTokens(store)
  describeEndedGrants(store)
}

function describeCodes(store: () => Store): void {
  const { code, session, tokens, grant } = grantSample('a')
  const redeem = (now: number, minted = tokens) => store().redeemAuthorizationCode(code.codeHash, minted, now)

  describe('authorization codes', () => {
    beforeEach(() => store().addAuthorizationCode(code, session))

    it('gives back what was added, and nothing for another hash', async () => {
      expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
      expect(await store().findAuthorizationCode(`${code.codeHash} `)).toBeUndefined()
      expect(await store().findAuthorizationCode(code.codeHash.toUpperCase())).toBeUndefined()
    })

    it('makes no grant before it is redeemed', async () => {
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      expect(await store().findAccessToken(tokens.accessHash, start)).toBeUndefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toBeUndefined()
    })

    it('becomes a grant with its session and tokens', async () => {
      expect(await redeem(start)).toEqual({ kind: 'redeemed' })
      expect(await store().findAccessToken(tokens.accessHash, start)).toEqual({
        grant,
        scope: 'mcp',
        expiresAt: start + 3600,
        providerSession: session,
      })
      expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({ grant, endReason: undefined })
      expect(await store().findProviderSession(grant.id)).toEqual(session)
    })

    it('is found when used and when expired, so that reuse is noticed', async () => {
      await redeem(start)
      expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
    })

    it.each([
      ['one second before its end', 59, 'redeemed'],
      ['at its end', 60, 'expired'],
      ['long after its end', 86_400, 'expired'],
    ])('RFC 6749 4.1.2: redeemed %s', async (_when, after, kind) => {
      expect(await redeem(start + after)).toEqual({ kind })
      const live = kind === 'redeemed'
      expect((await store().findAccessToken(tokens.accessHash, start)) !== undefined).toBe(live)
      expect((await store().findProviderSession(grant.id)) !== undefined).toBe(live)
    })

    it('used wins over expired, and says when it was first used', async () => {
      await redeem(start + 7)
      expect(await redeem(start + 8)).toEqual({ kind: 'used', redeemedAt: start + 7 })
      expect(await redeem(start + 3600)).toEqual({ kind: 'used', redeemedAt: start + 7 })
    })

    it('unknown is unknown', async () => {
      expect(await store().redeemAuthorizationCode('nothing', tokens, start)).toEqual({ kind: 'unknown' })
    })

    it('fifty redemptions at once: one wins, and only its tokens exist', async () => {
      const results = await race((index) => redeem(start, mintedSample(`racer ${index}`)))
      expect(results.filter(({ kind }) => kind === 'redeemed')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'used')).toHaveLength(49)
      const winner = results.findIndex(({ kind }) => kind === 'redeemed')
      const live = await race((index) => store().findAccessToken(`access racer ${index}`, start))
      expect(live.flatMap((record, index) => (record ? [index] : []))).toEqual([winner])
      const refresh = await race((index) => store().findRefreshToken(`refresh racer ${index}`))
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

    it.each([
      ['without email and name', { id: 'p#b', sub: 'b', email: undefined, name: undefined }],
      ['with a NUL and an emoji in the name', { id: 'p#b', sub: 'b', email: 'é@例え.jp', name: 'a\0b 👩‍🚀' }],
      ['with a name of 100,000 characters', { id: 'p#b', sub: 'b', email: '', name: 'n'.repeat(100_000) }],
    ])('keeps a user %s', async (_what, user) => {
      const sample = await addGrant(store(), grantSample('b', { user, clientId: 'c\0d', scope: '' }))
      expect(await store().findAuthorizationCode(sample.code.codeHash)).toEqual(sample.code)
      expect((await store().findAccessToken(sample.tokens.accessHash, start))?.grant).toEqual(sample.grant)
      expect((await store().findRefreshToken(sample.tokens.refreshHash))?.grant).toEqual(sample.grant)
    })
  })
}

function describeAccessTokens(store: () => Store): void {
  describe('access tokens', () => {
    it.each([
      ['a second before the token ends', { after: 3599, live: true }],
      ['when the token ends', { after: 3600, live: false }],
    ])('RFC 6749 5.1: %s', async (_when, { after, live }) => {
      const { tokens } = await addGrant(store(), grantSample('a'))
      const found = await store().findAccessToken(tokens.accessHash, start + after)
      expect(found !== undefined).toBe(live)
    })

    it('is dead when its grant has expired, whatever its own end', async () => {
      const { tokens } = await addGrant(store(), grantSample('a', { expiresAt: start + 100 }))
      expect(await store().findAccessToken(tokens.accessHash, start + 99)).toBeDefined()
      expect(await store().findAccessToken(tokens.accessHash, start + 100)).toBeUndefined()
    })

    it('is not found by another hash, nor by that of a refresh token or a code', async () => {
      const { tokens, code } = await addGrant(store(), grantSample('a'))
      for (const hash of ['', `${tokens.accessHash}\0`, tokens.refreshHash, code.codeHash]) {
        expect(await store().findAccessToken(hash, start)).toBeUndefined()
      }
    })

    it('brings the newest provider session', async () => {
      const { tokens, session } = await addGrant(store(), grantSample('a'))
      const newer = { ...session, sealed: 'newer', version: 2, issuedAt: start + 1, expiresAt: start + 9 }
      await store().saveProviderSession(newer)
      expect((await store().findAccessToken(tokens.accessHash, start))?.providerSession).toEqual(newer)
    })
  })
}

function describeRefreshTokens(store: () => Store): void {
  let sample: GrantSample
  const rotate = (refreshHash: string, successor: string, now: number) =>
    store().rotateRefreshToken(refreshHash, successorSample(successor), { now, replaySeconds })

  describe('refresh tokens', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('rotates into a successor with its own scope; the older access token lives on', async () => {
      const { tokens, grant } = sample
      const narrowed = { ...successorSample('a 2'), scope: 'narrow' }
      expect(
        await store().rotateRefreshToken(tokens.refreshHash, narrowed, { now: start, replaySeconds }),
      ).toEqual({ kind: 'rotated' })
      expect(await store().findAccessToken('access a 2', start)).toMatchObject({ grant, scope: 'narrow' })
      expect(await store().findAccessToken(tokens.accessHash, start)).toMatchObject({ scope: 'mcp' })
      expect(await store().findRefreshToken('refresh a 2')).toEqual({ grant, endReason: undefined })
    })

    it.each([0, 119, 120])(
      'presented again after %i s: the same successor, nothing stored',
      async (after) => {
        await rotate(sample.tokens.refreshHash, 'a 2', start)
        expect(await rotate(sample.tokens.refreshHash, 'loser', start + after)).toEqual({
          kind: 'replayed',
          sealedTokens: 'sealed pair a 2',
        })
        expect(await store().findAccessToken('access loser', start)).toBeUndefined()
        expect(await store().findRefreshToken('refresh loser')).toBeUndefined()
        expect(await store().findAccessToken('access a 2', start + after)).toBeDefined()
      },
    )

    it('RFC 9700 4.14.2: presented again after 121 s, the grant ends with all its tokens', async () => {
      const other = await addGrant(store(), grantSample('b'))
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      expect(await rotate(sample.tokens.refreshHash, 'thief', start + 121)).toEqual({ kind: 'reused' })
      for (const hash of [sample.tokens.accessHash, 'access a 2', 'access thief']) {
        expect(await store().findAccessToken(hash, start + 121)).toBeUndefined()
      }
      expect(await rotate('refresh a 2', 'a 3', start + 121)).toEqual({ kind: 'ended' })
      expect(await rotate(sample.tokens.refreshHash, 'a 4', start + 121)).toEqual({ kind: 'ended' })
      expect(await store().findRefreshToken('refresh thief')).toBeUndefined()
      expect((await store().findRefreshToken('refresh a 2'))?.endReason).toBe('refresh_token_reuse')
      expect(await store().findProviderSession(sample.grant.id)).toBeUndefined()
      expect(await store().findAccessToken(other.tokens.accessHash, start + 121)).toBeDefined()
    })

    it('a replay does not lengthen the window', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      expect((await rotate(sample.tokens.refreshHash, 'x', start + 119)).kind).toBe('replayed')
      expect((await rotate(sample.tokens.refreshHash, 'y', start + 121)).kind).toBe('reused')
    })

    it('a used successor does not end the window of its predecessor', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      expect((await rotate('refresh a 2', 'a 3', start + 60)).kind).toBe('rotated')
      expect((await rotate(sample.tokens.refreshHash, 'x', start + 120)).kind).toBe('replayed')
      expect((await rotate('refresh a 2', 'y', start + 180)).kind).toBe('replayed')
    })

    it('fifty rotations at once: one successor, which all get', async () => {
      const results = await race((index) => rotate(sample.tokens.refreshHash, `racer ${index}`, start))
      const winner = results.findIndex(({ kind }) => kind === 'rotated')
      expect(results.filter(({ kind }) => kind === 'rotated')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'replayed')).toEqual(
        Array.from({ length: 49 }, () => ({
          kind: 'replayed',
          sealedTokens: `sealed pair racer ${winner}`,
        })),
      )
      const live = await race((index) => store().findRefreshToken(`refresh racer ${index}`))
      expect(live.filter(Boolean)).toHaveLength(1)
    })

    it('fifty late presentations at once: one is the reuse, for the rest the grant has ended', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      const results = await race((index) => rotate(sample.tokens.refreshHash, `t ${index}`, start + 200))
      expect(results.filter(({ kind }) => kind === 'reused')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'ended')).toHaveLength(49)
    })

    it('a long chain stays one grant', async () => {
      let hash = sample.tokens.refreshHash
      for (let step = 2; step <= 30; step += 1) {
        expect((await rotate(hash, `a ${step}`, start + step * 3000)).kind).toBe('rotated')
        hash = `refresh a ${step}`
      }
      expect((await store().findRefreshToken(hash))?.grant).toEqual(sample.grant)
    })

    it.each([
      ['a second before the grant ends', grantSeconds - 1, 'rotated'],
      ['when the grant ends', grantSeconds, 'ended'],
    ])('rotated %s', async (_when, after, kind) => {
      expect((await rotate(sample.tokens.refreshHash, 'late', start + after)).kind).toBe(kind)
    })

    it('a used token of an expired grant is ended, not reused', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      expect((await rotate(sample.tokens.refreshHash, 'x', start + grantSeconds)).kind).toBe('ended')
      expect((await store().findRefreshToken('refresh a 2'))?.endReason).toBeUndefined()
    })

    it.each(['', 'nothing', 'refresh a 1\0', 'access a 1', 'code a'])('%j is unknown', async (hash) => {
      expect(await store().findRefreshToken(hash)).toBeUndefined()
      expect(await rotate(hash, 'x', start)).toEqual({ kind: 'ended' })
      expect(await store().findRefreshToken('refresh x')).toBeUndefined()
    })
  })
}

function describeEndedGrants(store: () => Store): void {
  describe('ended grants', () => {
    it('takes every token and the session with it, and no other grant', async () => {
      const { tokens, grant, session } = await addGrant(store(), grantSample('a'))
      const twin = await addGrant(store(), grantSample('b', { user: grant.user, clientId: grant.clientId }))
      await store().endGrant(grant.id, 'provider_session_ended', start + 5)
      expect(await store().findAccessToken(tokens.accessHash, start + 5)).toBeUndefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({
        grant,
        endReason: 'provider_session_ended',
      })
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      await store().saveProviderSession({ ...session, version: 2 })
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      const options = { now: start + 5, replaySeconds }
      expect(await store().rotateRefreshToken(tokens.refreshHash, successorSample('x'), options)).toEqual({
        kind: 'ended',
      })
      expect(await store().findAccessToken(twin.tokens.accessHash, start + 5)).toBeDefined()
      expect(await store().findProviderSession(twin.grant.id)).toEqual(twin.session)
    })

    it('the first reason stays', async () => {
      const { tokens, grant } = await addGrant(store(), grantSample('a'))
      await store().endGrant(grant.id, 'code_reuse', start)
      await store().endGrant(grant.id, 'provider_session_ended', start + 1)
      expect((await store().findRefreshToken(tokens.refreshHash))?.endReason).toBe('code_reuse')
    })

    it('ending a grant that does not exist does nothing', async () => {
      const { tokens } = await addGrant(store(), grantSample('a'))
      await store().endGrant('', 'code_reuse', start)
      await store().endGrant('nothing', 'code_reuse', start)
      expect(await store().findAccessToken(tokens.accessHash, start)).toBeDefined()
    })
  })
}
