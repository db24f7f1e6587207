import { beforeEach, describe, expect, it } from 'vitest'
import type { StoredProviderSession } from '../../../server/core/session/grant.ts'
import { addGrant, type GrantSample, grantSample, nextSession, start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: provider sessions and their leases. */
export function describeProviderSessions(instances: StoreInstances): void {
  describeSaving(instances)
  describeLeases(instances)
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

    it('saving a provider session replaces the version before it, and nothing else', async () => {
      const other = await addGrant(store(), grantSample('b'))
      expect(await store().saveProviderSession(next(2))).toBe(true)
      expect(await store().findProviderSession(session.grantId)).toEqual(next(2))
      expect((await store().findAccessToken('access a 1', start))?.providerSession).toEqual(next(2))
      expect(await store().findProviderSession(other.grant.id)).toEqual(other.session)
    })

    it.each([
      ['the version that is stored', 2],
      ['an older version', 1],
      ['a version too far ahead', 4],
    ])('saving a provider session refuses %s', async (_what, version) => {
      await store().saveProviderSession(next(2))
      expect(await store().saveProviderSession(next(version, 'stale'))).toBe(false)
      expect(await store().findProviderSession(session.grantId)).toEqual(next(2))
    })

    it('fifty writers of one version of a provider session: one wins', async () => {
      const saved = await race((each, index) => each.saveProviderSession(next(2, `racer ${index}`)))
      expect(saved.filter(Boolean)).toHaveLength(1)
      const found = await store().findProviderSession(session.grantId)
      expect(found?.sealed).toBe(`racer ${saved.indexOf(true)}`)
    })
  })
}

function describeLeases({ store, race }: StoreInstances): void {
  let sample: GrantSample
  /** Returns the attempt of an acquired lease of 15 s; 'held' if it is refused. */
  const lease = async (owner: string, now: number, version = 1): Promise<number | 'held'> => {
    const request = { grantId: sample.grant.id, version, owner, until: now + 15 }
    const result = await store().leaseProviderSession(request, now)
    return result.kind === 'leased' ? result.attempt : result.kind
  }

  type Step = () => Promise<unknown>
  const take =
    (owner: string, after: number, expected: number | 'held', version = 1): Step =>
    async () =>
      expect(await lease(owner, start + after, version), `${owner} after ${after} s`).toBe(expected)
  const giveBack =
    (owner: string, outcomeKnown: boolean): Step =>
    () =>
      store().releaseProviderSession({ grantId: sample.grant.id, owner, outcomeKnown })
  const save: Step = () => store().saveProviderSession(nextSession(sample.session))
  const end: Step = () => store().endGrant(sample.grant.id, 'code_reuse', start)
  const ofAnotherGrant: Step = async () => void (sample = await addGrant(store(), grantSample('b')))

  describe('leases', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    // The attempt counts the leases whose holder may have reached the provider.
    it.each<[what: string, steps: Step[]]>([
      [
        'are held by one owner until their end, whose outcome is unknown then',
        [take('one', 0, 1), take('two', 14, 'held'), take('two', 15, 2), take('one', 15, 'held')],
      ],
      [
        'are renewed by their owner',
        [take('one', 0, 1), take('one', 10, 2), take('two', 20, 'held'), take('two', 25, 3)],
      ],
      [
        'given back with a known outcome do not count',
        [take('one', 0, 1), giveBack('one', true), take('two', 0, 1)],
      ],
      [
        'given back with an unknown outcome count',
        [take('one', 0, 1), giveBack('one', false), take('two', 0, 2)],
      ],
      [
        'a known outcome takes back its own lease only, not an earlier one',
        [
          take('one', 0, 1),
          giveBack('one', false),
          take('two', 0, 2),
          giveBack('two', true),
          take('three', 0, 2),
        ],
      ],
      [
        'are given back by their owner only',
        [giveBack('one', true), take('one', 0, 1), giveBack('two', true), take('two', 0, 'held')],
      ],
      [
        'are given back once',
        [take('one', 0, 1), giveBack('one', false), giveBack('one', true), take('two', 0, 2)],
      ],
      [
        'are not given back by an owner that has lost them',
        [take('one', 0, 1), take('two', 15, 2), giveBack('one', true), take('three', 16, 'held')],
      ],
      [
        'that are refused do not count',
        [
          take('one', 0, 1),
          take('two', 1, 'held'),
          take('two', 1, 'held', 2),
          giveBack('one', true),
          take('two', 2, 1),
        ],
      ],
      ['are refused for an older version', [take('one', 0, 'held', 0)]],
      ['are refused for a newer version', [take('one', 0, 'held', 2)]],
      ['are refused for an ended grant', [end, take('one', 0, 'held')]],
      [
        'end with the save, and begin to count again',
        [take('one', 0, 1), take('one', 1, 2), save, take('two', 1, 1, 2)],
      ],
      ['of one grant do not concern another', [take('one', 0, 1), ofAnotherGrant, take('two', 0, 1)]],
    ])('leases: %s', async (_what, steps) => {
      for (const step of steps) await step()
    })

    it('a lease goes to one of fifty owners, as the first attempt', async () => {
      const results = await race((each, index) =>
        each.leaseProviderSession(
          { grantId: sample.grant.id, version: 1, owner: `owner ${index}`, until: start + 15 },
          start,
        ),
      )
      expect(results.filter(({ kind }) => kind === 'leased')).toEqual([{ kind: 'leased', attempt: 1 }])
      expect(await lease('late', start + 15)).toBe(2)
    })
  })
}

function describeRefusals({ store }: StoreInstances): void {
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

    it('the store keeps the time of the first refusal', async () => {
      expect(await attempt(start, false)).toBeUndefined()
      expect(await attempt(start + 5, true)).toBe(start + 5)
      expect(await attempt(start + 20, true)).toBe(start + 5)
      expect(await attempt(start + 40, false)).toBe(start + 5)
    })

    it('a new session of the same grant begins without a refusal', async () => {
      await attempt(start + 5, true)
      const next = { ...nextSession(sample.session), issuedAt: start + 60 }
      await store().saveProviderSession(next)
      expect(await attempt(start + 70, false, 2)).toBeUndefined()
      expect(await attempt(start + 80, true, 2)).toBe(start + 80)
    })

    it('a session that is only resealed keeps its refusal', async () => {
      await attempt(start + 5, true)
      await store().saveProviderSession({ ...sample.session, version: 2, sealed: 'other.sealed' })
      expect(await attempt(start + 70, true, 2)).toBe(start + 5)
    })

    it('a refusal of one grant does not concern another, and without the lease nothing is recorded', async () => {
      await attempt(start + 5, true)
      const other = await addGrant(store(), grantSample('b'))
      const foreign = { grantId: other.grant.id, owner: 'two', outcomeKnown: true, refusedAt: start + 6 }
      expect(await store().releaseProviderSession(foreign)).toBeUndefined()
      sample = other
      expect(await attempt(start + 9, false)).toBeUndefined()
    })
  })
}

function describeRenewals({ store }: StoreInstances): void {
  it('the latest renewal of the provider is found, by the issuer', async () => {
    expect(await store().findProviderRenewal('https://one.example')).toBeUndefined()
    await store().recordProviderRenewal('https://one.example', start + 10)
    await store().recordProviderRenewal('https://one.example', start + 30)
    await store().recordProviderRenewal('https://one.example', start + 20)
    await store().recordProviderRenewal('https://two.example', start + 90)
    expect(await store().findProviderRenewal('https://one.example')).toBe(start + 30)
  })
}
