import { beforeEach, describe, expect, it } from 'vitest'
import type { RefreshRotation } from '../../../server/core/session/grant.ts'
import {
  addGrant,
  type GrantSample,
  grantSample,
  grantSeconds,
  mintedSample,
  rotationTerms,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: used refresh tokens, when they are answered and when they are collected. */
export function describeReplays(instances: StoreInstances): void {
  describeWindow(instances)
  describeReplayRecords(instances)
  describeUsedTokens(instances)
}

function describeWindow({ store }: StoreInstances): void {
  const first = 'refresh a 1'
  const rotate = (refreshHash: string, successor: string, now: number): Promise<RefreshRotation> =>
    store().rotateRefreshToken(refreshHash, successorSample(successor), rotationTerms(now))

  describe('the window of a used refresh token', () => {
    beforeEach(async () => {
      await addGrant(store(), grantSample('a'))
      await rotate(first, 'a 2', start)
    })

    const access = (after: number) => () => store().recordFirstUse('access a 2', start + after)
    const refresh = (after: number) => () => rotate('refresh a 2', 'a 3', start + after)
    const others = async () => {
      await store().recordFirstUse('access a 1', start)
      await store().removeAccessToken('access a 1')
      await store().removeAccessToken('access a 2')
    }

    it.each<[when: string, uses: (() => Promise<unknown>)[], seconds: number]>([
      ['two minutes after its use, whatever is done to other tokens', [others], 120],
      ['ten seconds after the access token of its successor was used', [access(60)], 70],
      ['ten seconds after its successor was used', [refresh(60)], 70],
      ['ten seconds after the first of several uses', [refresh(20), access(25)], 30],
      ['ten seconds after the first use of the access token', [access(20), access(29)], 30],
      ['two minutes after its use, however late the successor was used', [access(119)], 120],
      [
        'two minutes after its use, however often it is replayed',
        [() => rotate(first, 'w', start + 119)],
        120,
      ],
    ])('the window of a used refresh token closes %s', async (_when, uses, seconds) => {
      for (const use of uses) await use()
      expect(await rotate(first, 'x', start + seconds)).toMatchObject({
        kind: 'replayed',
        sealedTokens: 'sealed pair a 2',
      })
      expect((await rotate(first, 'y', start + seconds + 1)).kind).toBe('reused')
    })

    it('the window of a used refresh token is open for short-lived access tokens as well, collected or not', async () => {
      const brief = { ...successorSample('a 3'), accessExpiresAt: start + 1 }
      await store().rotateRefreshToken('refresh a 2', brief, rotationTerms(start))
      while ((await store().collectExpired(start + 110, 500)) > 0);
      expect((await rotate('refresh a 2', 'x', start + 110)).kind).toBe('replayed')
    })

    it('an access token awaits its first use when a refresh brought it', async () => {
      const awaits = async (hash: string): Promise<boolean | undefined> =>
        (await store().findAccessToken(hash, start))?.awaitsFirstUse
      expect([await awaits('access a 1'), await awaits('access a 2')]).toEqual([false, true])
      await store().recordFirstUse('access a 2', start)
      expect(await awaits('access a 2')).toBe(false)
    })
  })
}

function describeReplayRecords({ store, race }: StoreInstances): void {
  const first = 'refresh a 1'
  const rotate = (now: number, address?: string, each = store()): Promise<RefreshRotation> =>
    each.rotateRefreshToken(first, successorSample(`a ${address}`), rotationTerms(now, { address }))
  const replays = async (): Promise<unknown> => (await store().findGrant('grant a'))?.replays

  describe('replays of refresh tokens', () => {
    beforeEach(() => addGrant(store(), grantSample('a')))

    it('replays show when and from where the token was used first, and are counted with their grant, with both addresses when these differ', async () => {
      await rotate(start, '192.0.2.1')
      expect(await replays()).toBeUndefined()
      await rotate(start + 1, '192.0.2.1')
      expect(await replays()).toStrictEqual({ count: 1, lastAt: start + 1, addresses: undefined })
      expect(await rotate(start + 2, '198.51.100.7')).toEqual({
        kind: 'replayed',
        sealedTokens: 'sealed pair a 192.0.2.1',
        firstUse: { at: start, address: '192.0.2.1' },
      })
      const addresses = ['192.0.2.1', '198.51.100.7']
      expect(await replays()).toStrictEqual({ count: 2, lastAt: start + 2, addresses })
      await rotate(start + 4, '192.0.2.1')
      expect(await replays()).toStrictEqual({ count: 3, lastAt: start + 4, addresses })
      expect((await store().listGrants(undefined, { after: '', limit: 9 }))[0]?.replays).toEqual(
        await replays(),
      )
    })

    it.each([
      ['the first address is not known', undefined, '192.0.2.1'],
      ['the second is not known', '192.0.2.1', undefined],
      ['both are of one /64', '2001:db8::1', '2001:db8::2'],
    ])('replays name no addresses when %s', async (_when, one, other) => {
      await rotate(start, one)
      await rotate(start + 1, other)
      expect(await replays()).toStrictEqual({ count: 1, lastAt: start + 1, addresses: undefined })
    })

    it('fifty replays at once are all counted', async () => {
      await rotate(start)
      await race((each) => rotate(start, undefined, each))
      expect(await replays()).toMatchObject({ count: 50 })
    })
  })
}

function describeUsedTokens({ store }: StoreInstances): void {
  let sample: GrantSample
  const rotate = (refreshHash: string, successor: string, now: number): Promise<RefreshRotation> => {
    const minted = { ...successorSample(successor), accessExpiresAt: now + 3600 }
    return store().rotateRefreshToken(refreshHash, minted, rotationTerms(now))
  }
  const collect = async (now: number): Promise<void> => {
    while ((await store().collectExpired(now, 500)) > 0);
  }

  describe('refresh tokens that were used long ago', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('RFC 9700 4.14.2: used refresh tokens are collected, and their family still names the grant', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      await rotate('refresh a 2', 'a 3', start + 1800)
      await collect(start + 3599)
      expect(await store().findRefreshToken(sample.tokens.refreshHash)).toBeDefined()
      await collect(start + 3600)
      expect(await store().findRefreshToken(sample.tokens.refreshHash)).toBeUndefined()
      expect(await store().findRefreshToken('refresh a 2')).toBeDefined()
      expect((await rotate(sample.tokens.refreshHash, 'x', start + 3600)).kind).toBe('ended')
      expect((await rotate('refresh a 3', 'a 4', start + 3600)).kind).toBe('rotated')
      const found = await store().findGrantByFamily('family a')
      expect(found).toMatchObject({ grant: sample.grant, end: undefined })
    })

    it('the store keeps an unused refresh token as long as its grant, also when access tokens end', async () => {
      await rotate(sample.tokens.refreshHash, 'a 2', start)
      await store().removeAccessToken('access a 2')
      await collect(start + grantSeconds - 1)
      expect(await store().findRefreshToken('refresh a 2')).toMatchObject({ usedAt: undefined })
      expect(await store().findRefreshToken(sample.tokens.refreshHash)).toBeUndefined()
      await collect(start + grantSeconds)
      expect(await store().findRefreshToken('refresh a 2')).toBeUndefined()
    })

    it('used refresh tokens are removed with their grant, in any order in which their access tokens end', async () => {
      const long = { ...successorSample('a 2'), accessExpiresAt: start + grantSeconds }
      await store().rotateRefreshToken(sample.tokens.refreshHash, long, rotationTerms(start))
      await rotate('refresh a 2', 'a 3', start + 10)
      await rotate('refresh a 3', 'a 4', start + 20)
      await collect(start + 86_400)
      expect(await store().findRefreshToken('refresh a 2')).toBeUndefined()
      expect(await store().findRefreshToken('refresh a 4')).toBeDefined()
      await collect(start + grantSeconds)
      for (const hash of [sample.tokens.refreshHash, 'refresh a 3', 'refresh a 4']) {
        expect(await store().findRefreshToken(hash)).toBeUndefined()
      }
    })

    it('a grant without a family is found by no hash', async () => {
      for (const name of ['b', 'c'])
        await addGrant(store(), { ...grantSample(name), tokens: mintedSample(`${name} 1`) })
      for (const hash of ['', 'family b']) expect(await store().findGrantByFamily(hash)).toBeUndefined()
    })
  })
}
