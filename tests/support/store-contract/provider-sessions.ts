import { beforeEach, describe, expect, it } from 'vitest'
import type { LeaseResult, StoredProviderSession } from '../../../server/core/session/grant.ts'
import { addGrant, type GrantSample, grantSample, nextSession, start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: provider sessions and their leases. */
export function describeProviderSessions(instances: StoreInstances): void {
  describeSaving(instances)
  describeLeases(instances)
  describeLeaseAttempts(instances)
  describeRefusals(instances)
  describeRenewals(instances)
}

function describeSaving({ store, race }: StoreInstances): void {
  let session: StoredProviderSession
  const next = (version: number, sealed?: string): StoredProviderSession =>
    nextSession({ ...session, version: version - 1 }, sealed)

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
      const saved = await race((each, index) => each.saveProviderSession(next(2, `racer ${index}`)))
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

const taken: LeaseResult['kind'] = 'leased'

function describeLeases({ store, race }: StoreInstances): void {
  let sample: GrantSample
  const lease = async (
    owner: string,
    now: number,
    version = 1,
    each = store(),
  ): Promise<LeaseResult['kind']> => {
    const request = { grantId: sample.grant.id, version, owner, until: now + 15 }
    return (await each.leaseProviderSession(request, now)).kind
  }
  const release = (owner: string): Promise<unknown> =>
    store().releaseProviderSession({ grantId: sample.grant.id, owner, outcomeKnown: true })

  describe('leases', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('is held by one owner until its end', async () => {
      expect(await lease('one', start)).toBe(taken)
      expect(await lease('two', start)).toBe('held')
      expect(await lease('two', start + 14)).toBe('held')
      expect(await lease('two', start + 15)).toBe(taken)
      expect(await lease('one', start + 15)).toBe('held')
    })

    it('leaves session and version as they are', async () => {
      await lease('one', start)
      await release('one')
      expect(await store().findProviderSession(sample.grant.id)).toEqual(sample.session)
    })

    it('is renewed by its owner', async () => {
      await lease('one', start)
      expect(await lease('one', start + 10)).toBe(taken)
      expect(await lease('two', start + 20)).toBe('held')
      expect(await lease('two', start + 25)).toBe(taken)
    })

    it('is given back by its owner only', async () => {
      await lease('one', start)
      await release('two')
      expect(await lease('two', start)).toBe('held')
      await release('one')
      expect(await lease('two', start)).toBe(taken)
    })

    it('is not given back by an owner that has lost it', async () => {
      await lease('one', start)
      await lease('two', start + 15)
      await release('one')
      expect(await lease('three', start + 16)).toBe('held')
    })

    it('ends with the save', async () => {
      await lease('one', start)
      await store().saveProviderSession(nextSession(sample.session))
      expect(await lease('two', start, 2)).toBe(taken)
    })

    it.each([0, 2])('is refused for version %i when 1 is stored', async (version) => {
      expect(await lease('one', start, version)).toBe('held')
    })

    it('is refused for an ended or unknown grant', async () => {
      await store().endGrant(sample.grant.id, 'code_reuse', start)
      expect(await lease('one', start)).toBe('held')
      const unknown = { grantId: 'nothing', version: 1, owner: 'one', until: start + 15 }
      expect(await store().leaseProviderSession(unknown, start)).toEqual({ kind: 'held' })
    })

    it('goes to one of fifty owners', async () => {
      const results = await race((each, index) => lease(`owner ${index}`, start, 1, each))
      expect(results.filter((kind) => kind === taken)).toHaveLength(1)
    })

    it('of one grant does not concern another', async () => {
      await lease('one', start)
      sample = await addGrant(store(), grantSample('b'))
      expect(await lease('two', start)).toBe(taken)
    })
  })
}

function describeLeaseAttempts({ store, race }: StoreInstances): void {
  let sample: GrantSample
  /** Returns the attempt of an acquired lease; undefined when another owner holds it. */
  const attempt = async (owner: string, now: number, version = 1): Promise<number | undefined> => {
    const request = { grantId: sample.grant.id, version, owner, until: now + 15 }
    const result = await store().leaseProviderSession(request, now)
    return result.kind === 'leased' ? result.attempt : undefined
  }
  const release = (owner: string, outcomeKnown: boolean): Promise<unknown> =>
    store().releaseProviderSession({ grantId: sample.grant.id, owner, outcomeKnown })

  describe('attempts of leases', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('the first is 1', async () => {
      expect(await attempt('one', start)).toBe(1)
    })

    it('one that was never given back counts: its holder may have reached the provider', async () => {
      await attempt('one', start)
      expect(await attempt('two', start + 15)).toBe(2)
      expect(await attempt('three', start + 30)).toBe(3)
    })

    it('one given back with a known outcome does not count', async () => {
      await attempt('one', start)
      await release('one', true)
      expect(await attempt('two', start)).toBe(1)
    })

    it('one given back with an unknown outcome counts', async () => {
      await attempt('one', start)
      await release('one', false)
      expect(await attempt('two', start)).toBe(2)
    })

    it('a known outcome takes back its own lease only, not an earlier one', async () => {
      await attempt('one', start)
      await release('one', false)
      await attempt('two', start)
      await release('two', true)
      expect(await attempt('three', start)).toBe(2)
    })

    it('its owner takes it again: what came of the first time is unknown as well', async () => {
      await attempt('one', start)
      expect(await attempt('one', start + 1)).toBe(2)
    })

    it('a lease that is refused does not count', async () => {
      await attempt('one', start)
      expect(await attempt('two', start + 1)).toBeUndefined()
      expect(await attempt('two', start + 1, 2)).toBeUndefined()
      await release('one', true)
      expect(await attempt('two', start + 2)).toBe(1)
    })

    it('giving back what one has not, or twice, changes nothing', async () => {
      await release('one', true)
      await attempt('one', start)
      await release('two', true)
      await release('one', false)
      await release('one', true)
      expect(await attempt('two', start)).toBe(2)
    })

    it('begins again with a new session', async () => {
      await attempt('one', start)
      await attempt('two', start + 15)
      await store().saveProviderSession(nextSession(sample.session))
      expect(await attempt('three', start + 15, 2)).toBe(1)
    })

    it('of one grant does not concern another', async () => {
      await attempt('one', start)
      sample = await addGrant(store(), grantSample('b'))
      expect(await attempt('one', start)).toBe(1)
    })

    it('fifty owners at once: the one that has it is the first', async () => {
      const results = await race((each, index) =>
        each.leaseProviderSession(
          { grantId: sample.grant.id, version: 1, owner: `owner ${index}`, until: start + 15 },
          start,
        ),
      )
      expect(results.filter(({ kind }) => kind === 'leased')).toEqual([{ kind: 'leased', attempt: 1 }])
      expect(await attempt('late', start + 15)).toBe(2)
    })
  })
}

function describeRefusals({ store, reopen }: StoreInstances): void {
  let sample: GrantSample
  /** Makes one leased attempt with the given outcome; returns the result of its release. */
  const attempt = async (now: number, refused: boolean, version = 1): Promise<number | undefined> => {
    const lease = { grantId: sample.grant.id, version, owner: 'one', until: now + 15 }
    expect((await store().leaseProviderSession(lease, now)).kind).toBe('leased')
    const { grantId, owner } = lease
    return store().releaseProviderSession({
      grantId,
      owner,
      outcomeKnown: true,
      ...(refused && { refusedAt: now }),
    })
  }

  describe('refusals of the provider', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('a session that was never refused has no such time', async () => {
      expect(await attempt(start + 5, false)).toBeUndefined()
    })

    it('the time of the first one stays, whatever comes after it', async () => {
      expect(await attempt(start + 5, true)).toBe(start + 5)
      expect(await attempt(start + 20, true)).toBe(start + 5)
      expect(await attempt(start + 40, false)).toBe(start + 5)
    })

    it('a new session of the same grant begins without one', async () => {
      await attempt(start + 5, true)
      const next = { ...nextSession(sample.session), issuedAt: start + 60 }
      await store().saveProviderSession(next)
      expect(await attempt(start + 70, false, 2)).toBeUndefined()
      expect(await attempt(start + 80, true, 2)).toBe(start + 80)
    })

    it('a session that is only resealed keeps it', async () => {
      await attempt(start + 5, true)
      await store().saveProviderSession({ ...sample.session, version: 2, sealed: 'other.sealed' })
      expect(await attempt(start + 70, true, 2)).toBe(start + 5)
    })

    it('is kept over a restart', async () => {
      await attempt(start + 5, true)
      if (!(await reopen())) return
      expect(await attempt(start + 70, true)).toBe(start + 5)
    })

    it('of one grant does not concern another, and without the lease nothing is recorded', async () => {
      await attempt(start + 5, true)
      const other = await addGrant(store(), grantSample('b'))
      const foreign = { grantId: other.grant.id, owner: 'two', outcomeKnown: true, refusedAt: start + 6 }
      expect(await store().releaseProviderSession(foreign)).toBeUndefined()
      sample = other
      expect(await attempt(start + 9, false)).toBeUndefined()
    })
  })
}

function describeRenewals({ store, reopen }: StoreInstances): void {
  describe('renewals of the provider', () => {
    it('the latest is found, by the issuer', async () => {
      expect(await store().findProviderRenewal('https://one.example')).toBeUndefined()
      await store().recordProviderRenewal('https://one.example', start + 10)
      await store().recordProviderRenewal('https://one.example', start + 30)
      await store().recordProviderRenewal('https://one.example', start + 20)
      await store().recordProviderRenewal('https://two.example', start + 90)
      expect(await store().findProviderRenewal('https://one.example')).toBe(start + 30)
    })

    it('is kept over a restart', async () => {
      await store().recordProviderRenewal('https://one.example', start)
      if (await reopen()) expect(await store().findProviderRenewal('https://one.example')).toBe(start)
    })
  })
}
