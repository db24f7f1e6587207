import { beforeEach, describe, expect, it } from 'vitest'
import type { StoredProviderSession } from '../core/grant.ts'
import type { Store } from '../core/store.ts'
import {
  addGrant,
  type GrantSample,
  grantSample,
  grantSeconds,
  race,
  start,
} from '../testing/grant-sample.ts'

const daySeconds = 86_400

/** The part of the store contract about provider sessions, leases and what is collected. */
export function describeUpkeep(store: () => Store): void {
  describeSessions(store)
  describeLeases(store)
  describeCollection(store)
}

function describeSessions(store: () => Store): void {
  let session: StoredProviderSession
  const next = (version: number, sealed = `sealed ${version}`): StoredProviderSession => ({
    ...session,
    version,
    sealed,
    issuedAt: start + version,
    expiresAt: start + version + 3600,
  })

  describe('saving a provider session', () => {
    beforeEach(async () => {
      session = (await addGrant(store(), grantSample('a'))).session
    })

    it('replaces the version before it, and nothing else', async () => {
      const other = await addGrant(store(), grantSample('b'))
      expect(await store().saveProviderSession(next(2))).toBe(true)
      expect(await store().findProviderSession(session.grantId)).toEqual(next(2))
      expect(await store().findProviderSession(other.grant.id)).toEqual(other.session)
    })

    it.each([
      ['the version that is stored', 1],
      ['an older version', 0],
      ['a version too far ahead', 3],
    ])('refuses %s', async (_what, version) => {
      expect(await store().saveProviderSession(next(version, 'stale'))).toBe(false)
      expect(await store().findProviderSession(session.grantId)).toEqual(session)
    })

    it('refuses a stale writer after two newer generations', async () => {
      await store().saveProviderSession(next(2))
      await store().saveProviderSession(next(3))
      expect(await store().saveProviderSession(next(2, 'stale'))).toBe(false)
      expect(await store().findProviderSession(session.grantId)).toEqual(next(3))
    })

    it('fifty writers of one version: one wins', async () => {
      const saved = await race((index) => store().saveProviderSession(next(2, `racer ${index}`)))
      expect(saved.filter(Boolean)).toHaveLength(1)
      const found = await store().findProviderSession(session.grantId)
      expect(found?.sealed).toBe(`racer ${saved.indexOf(true)}`)
    })

    it('refuses a grant that does not exist', async () => {
      expect(await store().saveProviderSession({ ...next(2), grantId: 'nothing' })).toBe(false)
      expect(await store().findProviderSession('nothing')).toBeUndefined()
    })

    it('needs no lease: the version alone decides', async () => {
      const { grantId } = session
      await store().leaseProviderSession({ grantId, version: 1, owner: 'holder', until: start + 15 }, start)
      expect(await store().saveProviderSession(next(2))).toBe(true)
    })
  })
}

function describeLeases(store: () => Store): void {
  let sample: GrantSample
  const lease = (owner: string, now: number, version = 1): Promise<boolean> =>
    store().leaseProviderSession({ grantId: sample.grant.id, version, owner, until: now + 15 }, now)
  const release = (owner: string): Promise<void> =>
    store().releaseProviderSession({ grantId: sample.grant.id, owner })

  describe('leases', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('is held by one owner until its end', async () => {
      expect(await lease('one', start)).toBe(true)
      expect(await lease('two', start)).toBe(false)
      expect(await lease('two', start + 14)).toBe(false)
      expect(await lease('two', start + 15)).toBe(true)
      expect(await lease('one', start + 15)).toBe(false)
    })

    it('leaves session and version as they are', async () => {
      await lease('one', start)
      await release('one')
      expect(await store().findProviderSession(sample.grant.id)).toEqual(sample.session)
    })

    it('is renewed by its owner', async () => {
      await lease('one', start)
      expect(await lease('one', start + 10)).toBe(true)
      expect(await lease('two', start + 20)).toBe(false)
      expect(await lease('two', start + 25)).toBe(true)
    })

    it('is given back by its owner only', async () => {
      await lease('one', start)
      await release('two')
      expect(await lease('two', start)).toBe(false)
      await release('one')
      expect(await lease('two', start)).toBe(true)
    })

    it('is not given back by an owner that has lost it', async () => {
      await lease('one', start)
      await lease('two', start + 15)
      await release('one')
      expect(await lease('three', start + 16)).toBe(false)
    })

    it('ends with the save', async () => {
      await lease('one', start)
      await store().saveProviderSession({ ...sample.session, version: 2 })
      expect(await lease('two', start, 2)).toBe(true)
    })

    it.each([0, 2])('is refused for version %i when 1 is stored', async (version) => {
      expect(await lease('one', start, version)).toBe(false)
    })

    it('is refused for an ended or unknown grant', async () => {
      await store().endGrant(sample.grant.id, 'code_reuse', start)
      expect(await lease('one', start)).toBe(false)
      const unknown = { grantId: 'nothing', version: 1, owner: 'one', until: start + 15 }
      expect(await store().leaseProviderSession(unknown, start)).toBe(false)
    })

    it('goes to one of fifty owners', async () => {
      const taken = await race((index) => lease(`owner ${index}`, start))
      expect(taken.filter(Boolean)).toHaveLength(1)
    })

    it('of one grant does not concern another', async () => {
      await lease('one', start)
      sample = await addGrant(store(), grantSample('b'))
      expect(await lease('two', start)).toBe(true)
    })
  })
}

function describeCollection(store: () => Store): void {
  describe('collectExpired', () => {
    it('finds nothing to delete in an empty store', async () => {
      expect(await store().collectExpired(start + 10 * grantSeconds, 500)).toBe(0)
    })

    it('deletes nothing that is live', async () => {
      const { grant, tokens, code } = await addGrant(store(), grantSample('a'))
      await store().addSocialSignIn({ id: 's', bindingHash: 'b', sealed: 'x', expiresAt: start + 600 }, 5)
      expect(await store().collectExpired(start + 599, 500)).toBe(0)
      expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
      expect(await store().findAccessToken(tokens.accessHash, start + 599)).toBeDefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toBeDefined()
      expect(await store().findProviderSession(grant.id)).toBeDefined()
      expect(await store().listSocialSignIns('b', start + 599)).toHaveLength(1)
    })

    it('deletes a social sign-in at its end', async () => {
      const pending = { id: 's', bindingHash: 'b', sealed: 'x', expiresAt: start + 600 }
      await store().addSocialSignIn(pending, 5)
      expect(await store().collectExpired(start + 600, 500)).toBe(1)
      expect(await store().removeSocialSignIn('s')).toBe(false)
    })

    it.each([
      ['used', true],
      ['never used', false],
    ])('keeps a %s code for a day past its end, so that its reuse is noticed', async (_what, used) => {
      const { code, session, tokens } = grantSample('a')
      await store().addAuthorizationCode(code, session)
      if (used) await store().redeemAuthorizationCode(code.codeHash, tokens, start)
      // The access token of a used code is long expired by then.
      await store().collectExpired(code.expiresAt + daySeconds - 1, 500)
      expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
      expect(await store().redeemAuthorizationCode(code.codeHash, tokens, start + daySeconds)).toEqual(
        used ? { kind: 'used', redeemedAt: start } : { kind: 'expired' },
      )
      expect(await store().collectExpired(code.expiresAt + daySeconds, 500)).toBe(1)
      expect(await store().findAuthorizationCode(code.codeHash)).toBeUndefined()
    })

    it('deletes an access token at its end and leaves its grant', async () => {
      const { grant, tokens } = await addGrant(store(), grantSample('a'))
      expect(await store().collectExpired(start + 3600, 500)).toBe(1)
      expect(await store().findRefreshToken(tokens.refreshHash)).toBeDefined()
      expect(await store().findProviderSession(grant.id)).toBeDefined()
    })

    it('keeps an ended grant until its own end, so that its tokens still say why', async () => {
      const { grant, tokens } = await addGrant(store(), grantSample('a'))
      await store().endGrant(grant.id, 'code_reuse', start)
      await store().collectExpired(start + grantSeconds - 1, 500)
      expect((await store().findRefreshToken(tokens.refreshHash))?.endReason).toBe('code_reuse')
    })

    it('deletes an expired grant with its refresh tokens and its session', async () => {
      const { grant, tokens } = await addGrant(store(), grantSample('a'))
      // Code, access token, refresh token, grant.
      expect(await store().collectExpired(start + grantSeconds, 500)).toBe(4)
      expect(await store().findRefreshToken(tokens.refreshHash)).toBeUndefined()
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      expect(await store().saveProviderSession({ ...grantSample('a').session, version: 2 })).toBe(false)
      expect(await store().collectExpired(start + grantSeconds, 500)).toBe(0)
    })

    it('works in batches that never touch a live neighbour and leave nothing behind', async () => {
      const live = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          addGrant(store(), grantSample(`live ${index}`, { expiresAt: start + 3 * grantSeconds })),
        ),
      )
      for (let index = 0; index < 20; index += 1) await addGrant(store(), grantSample(`old ${index}`))
      const now = start + grantSeconds
      const batches: number[] = []
      for (;;) {
        const deleted = await store().collectExpired(now, 7)
        if (deleted === 0) break
        batches.push(deleted)
        for (const { grant, tokens } of live) {
          expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({ grant, endReason: undefined })
          expect(await store().findProviderSession(grant.id)).toBeDefined()
        }
      }
      // Four rows of each old one; code and access token of each live one.
      expect(batches.reduce((sum, deleted) => sum + deleted, 0)).toBe(20 * 4 + 5 * 2)
      expect(Math.max(...batches)).toBeLessThanOrEqual(7)
      expect(batches.slice(0, -1).every((deleted) => deleted === 7)).toBe(true)
    })

    it('deletes nothing with a limit of 0', async () => {
      await addGrant(store(), grantSample('a'))
      expect(await store().collectExpired(start + grantSeconds, 0)).toBe(0)
    })

    it('two collectors at once delete each row once', async () => {
      for (let index = 0; index < 10; index += 1) await addGrant(store(), grantSample(`old ${index}`))
      const deleted = await race(() => store().collectExpired(start + grantSeconds, 3))
      expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(40)
    })
  })
}
