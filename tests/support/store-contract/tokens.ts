import { beforeEach, describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  grantSeconds,
  rotationTerms,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: access and refresh tokens. */
export function describeTokens(instances: StoreInstances): void {
  describeAccessTokens(instances)
  describeRotation(instances)
}

function describeAccessTokens({ store }: StoreInstances): void {
  describe('access tokens', () => {
    it.each([
      ['a second before the token ends', 3599, true, grantSeconds],
      ['when the token ends', 3600, false, grantSeconds],
      ['a second before its grant ends', 99, true, 100],
      ['when its grant ends', 100, false, 100],
    ])('RFC 6749 5.1: an access token %s', async (_when, after, live, seconds) => {
      const { tokens } = await addGrant(store(), grantSample('a', { expiresAt: start + seconds }))
      const found = await store().findAccessToken(tokens.accessHash, start + after)
      expect(found !== undefined).toBe(live)
    })

    it('RFC 7009 2.1: a removed access token is not found any more; its grant and the others of it go on', async () => {
      const { tokens } = await addGrant(store(), grantSample('a'))
      const options = rotationTerms(start)
      await store().rotateRefreshToken(tokens.refreshHash, successorSample('a 2'), options)
      await store().removeAccessToken(tokens.accessHash)
      await store().removeAccessToken(tokens.accessHash)
      expect(await store().findAccessToken(tokens.accessHash, start)).toBeUndefined()
      expect(await store().findAccessToken('access a 2', start)).toBeDefined()
      expect((await store().findRefreshToken('refresh a 2'))?.endReason).toBeUndefined()
      expect(await dueSignOuts(store(), start)).toEqual([])
    })
  })
}

function describeRotation({ store, race }: StoreInstances): void {
  let sample: GrantSample
  const rotate = (refreshHash: string, successor: string, now: number, each = store()) =>
    each.rotateRefreshToken(refreshHash, successorSample(successor), rotationTerms(now))

  describe('refresh tokens', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('a refresh token rotates into a successor with its own scope; the older access token lives on', async () => {
      const { tokens, grant } = sample
      const narrowed = { ...successorSample('a 2'), scope: 'narrow' }
      expect(await store().rotateRefreshToken(tokens.refreshHash, narrowed, rotationTerms(start))).toEqual({
        kind: 'rotated',
      })
      expect(await store().findAccessToken('access a 2', start)).toMatchObject({ grant, scope: 'narrow' })
      expect(await store().findAccessToken(tokens.accessHash, start)).toMatchObject({ scope: 'mcp' })
      expect(await store().findRefreshToken('refresh a 2')).toEqual({
        grant,
        endReason: undefined,
        usedAt: undefined,
      })
    })

    it('a used refresh token shows when it got its successor, replayed or not', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start + 7)
      await rotate(sample.tokens.refreshHash, 'x', start + 60)
      expect(await store().findRefreshToken(sample.tokens.refreshHash)).toEqual({
        grant: sample.grant,
        endReason: undefined,
        usedAt: start + 7,
      })
      expect((await store().findRefreshToken('refresh a 2'))?.usedAt).toBeUndefined()
      await rotate('refresh a 2', 'a 3', start + 600)
      await store().endGrant(sample.grant.id, 'code_reuse', start + 601)
      expect((await store().findRefreshToken(sample.tokens.refreshHash))?.usedAt).toBe(start + 7)
      expect((await store().findRefreshToken('refresh a 2'))?.usedAt).toBe(start + 600)
    })

    it('fifty rotations of a refresh token at once: one successor, which all get', async () => {
      const results = await race((each, index) =>
        rotate(sample.tokens.refreshHash, `racer ${index}`, start, each),
      )
      const winner = results.findIndex(({ kind }) => kind === 'rotated')
      expect(results.filter(({ kind }) => kind === 'rotated')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'replayed')).toEqual(
        Array.from({ length: 49 }, () => ({
          kind: 'replayed',
          sealedTokens: `sealed pair racer ${winner}`,
          firstUse: { at: start, address: undefined },
        })),
      )
      const live = await race((each, index) => each.findRefreshToken(`refresh racer ${index}`))
      expect(live.filter(Boolean)).toHaveLength(1)
      const access = await race((each, index) => each.findAccessToken(`access racer ${index}`, start))
      expect(access.flatMap((found, index) => (found ? [index] : []))).toEqual([winner])
    })

    it('fifty grants rotate at once, each into its own successor', async () => {
      await race((each, index) => addGrant(each, grantSample(`racer ${index}`)))
      const results = await race((each, index) =>
        rotate(`refresh racer ${index} 1`, `racer ${index} 2`, start, each),
      )
      expect(results.every(({ kind }) => kind === 'rotated')).toBe(true)
      const found = await race((each, index) => each.findRefreshToken(`refresh racer ${49 - index} 2`))
      expect(found.map((each) => each?.grant.id)).toEqual(
        found.map((_, index) => `grant racer ${49 - index}`),
      )
    })

    it.each([
      ['a second before the grant ends', grantSeconds - 1, 'rotated'],
      ['when the grant ends', grantSeconds, 'ended'],
    ])('a refresh token rotated %s', async (_when, after, kind) => {
      expect((await rotate(sample.tokens.refreshHash, 'late', start + after)).kind).toBe(kind)
    })
  })

  describe('reused refresh tokens', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
      await rotate(sample.tokens.refreshHash, 'a 2', start)
    })

    it('RFC 9700 4.14.2: a used refresh token presented again after 121 s ends the grant with all its tokens', async () => {
      const other = await addGrant(store(), grantSample('b'))
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
      expect(await store().claimSignOuts({ limit: 5, until: start + 121 }, start + 120)).toEqual([])
      expect(await dueSignOuts(store(), start + 121)).toEqual([sample.session])
    })

    it('fifty late presentations of a used refresh token at once: one is the reuse, for the rest the grant has ended', async () => {
      const results = await race((each, index) =>
        rotate(sample.tokens.refreshHash, `t ${index}`, start + 200, each),
      )
      expect(results.filter(({ kind }) => kind === 'reused')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'ended')).toHaveLength(49)
      expect(await store().claimSignOuts({ limit: 5, until: start + 200 }, start + 200)).toHaveLength(1)
    })

    it('a used token of an expired grant is ended, not reused', async () => {
      expect((await rotate(sample.tokens.refreshHash, 'x', start + grantSeconds)).kind).toBe('ended')
      expect((await store().findRefreshToken('refresh a 2'))?.endReason).toBeUndefined()
    })
  })
}
