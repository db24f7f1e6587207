import { beforeEach, describe, expect, it } from 'vitest'
import type { GrantEndReason } from '../../../server/core/session/grant.ts'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  grantSeconds,
  nextSession,
  rotationTerms,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

const reasons: readonly GrantEndReason[] = ['refresh_token_reuse', 'code_reuse', 'provider_session_ended']

/** Store contract: grants that end early, and their pending sign-outs. */
export function describeEndedGrants(instances: StoreInstances): void {
  describeEndGrant(instances)
  describeLateSaves(instances)
  describeRefusedSessions(instances)
}

function describeEndGrant({ store, race }: StoreInstances): void {
  let sample: GrantSample

  describe('ended grants', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('an ended grant takes every token and the session with it, and no other grant', async () => {
      const { tokens, grant, session } = sample
      const twin = await addGrant(store(), grantSample('b', { user: grant.user, clientId: grant.clientId }))
      await store().endGrant(grant.id, 'provider_session_ended', start + 5)
      expect(await store().findAccessToken(tokens.accessHash, start + 5)).toBeUndefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({
        grant,
        endReason: 'provider_session_ended',
        usedAt: undefined,
      })
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      await store().saveProviderSession(nextSession(session))
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      const options = rotationTerms(start + 5)
      expect(await store().rotateRefreshToken(tokens.refreshHash, successorSample('x'), options)).toEqual({
        kind: 'ended',
      })
      expect(await store().findAccessToken(twin.tokens.accessHash, start + 5)).toBeDefined()
      expect(await store().findProviderSession(twin.grant.id)).toEqual(twin.session)
    })

    it('the newest session of an ended grant is due for sign-out at once', async () => {
      await store().saveProviderSession(nextSession(sample.session))
      await store().endGrant(sample.grant.id, 'code_reuse', start + 5)
      expect(await store().claimSignOuts({ limit: 5, until: start + 9 }, start + 4)).toEqual([])
      expect(await store().claimSignOuts({ limit: 5, until: start + 9 }, start + 5)).toEqual([
        { session: nextSession(sample.session), attempts: 1, since: start + 5 },
      ])
    })

    it('the first reason of an ended grant stays, and the sign-out is due once', async () => {
      const { tokens, grant, session } = sample
      await store().endGrant(grant.id, 'code_reuse', start)
      await store().endGrant(grant.id, 'provider_session_ended', start + 1)
      expect((await store().findRefreshToken(tokens.refreshHash))?.endReason).toBe('code_reuse')
      expect(await dueSignOuts(store(), start + 1)).toEqual([session])
      await store().removeSignOut(grant.id)
      await store().endGrant(grant.id, 'refresh_token_reuse', start + 2)
      expect(await dueSignOuts(store(), start + 2)).toEqual([])
    })

    it('fifty callers end a grant once', async () => {
      await race((each, index) => each.endGrant(sample.grant.id, reasons[index % 3] ?? 'code_reuse', start))
      expect(await dueSignOuts(store(), start)).toEqual([sample.session])
      expect(reasons).toContain((await store().findRefreshToken(sample.tokens.refreshHash))?.endReason)
    })

    it('a grant that ends while its tokens rotate leaves no token alive', async () => {
      const options = rotationTerms(start)
      await race<unknown>((each, index) =>
        index === 20
          ? each.endGrant(sample.grant.id, 'code_reuse', start)
          : each.rotateRefreshToken(sample.tokens.refreshHash, successorSample(`racer ${index}`), options),
      )
      const live = await race((each, index) => each.findAccessToken(`access racer ${index}`, start))
      expect(live.filter(Boolean)).toEqual([])
      expect(await dueSignOuts(store(), start)).toEqual([sample.session])
    })

    it('an expired grant that is still there is signed out all the same', async () => {
      await store().endGrant(sample.grant.id, 'code_reuse', start + grantSeconds)
      expect(await dueSignOuts(store(), start + grantSeconds)).toEqual([sample.session])
    })
  })
}

function describeLateSaves({ store, race }: StoreInstances): void {
  let sample: GrantSample

  describe('a session saved after its grant ended', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
      await store().endGrant(sample.grant.id, 'code_reuse', start)
    })

    it('a session saved after its grant ended is not readable, but replaces the one that waits for its sign-out', async () => {
      expect(await store().saveProviderSession(nextSession(sample.session))).toBe(false)
      expect(await store().findProviderSession(sample.grant.id)).toBeUndefined()
      expect(await dueSignOuts(store(), start)).toEqual([nextSession(sample.session)])
    })

    it('a session saved after its grant ended leaves the sign-out as claimed and as due as it was', async () => {
      await store().claimSignOuts({ limit: 5, until: start + 30 }, start)
      await store().saveProviderSession(nextSession(sample.session))
      expect(await store().claimSignOuts({ limit: 5, until: start + 60 }, start + 29)).toEqual([])
      expect(await store().claimSignOuts({ limit: 5, until: start + 60 }, start + 30)).toEqual([
        { session: nextSession(sample.session), attempts: 2, since: start },
      ])
    })

    it.each([0, 1, 3])(
      'a session saved after its grant ended is dropped when its version is %i and 1 waits',
      async (version) => {
        const stale = nextSession({ ...sample.session, version: version - 1 }, 'stale')
        expect(await store().saveProviderSession(stale)).toBe(false)
        expect(await dueSignOuts(store(), start)).toEqual([sample.session])
      },
    )

    it('a session saved after its grant ended is dropped when the sign-out is done', async () => {
      await store().removeSignOut(sample.grant.id)
      expect(await store().saveProviderSession(nextSession(sample.session))).toBe(false)
      expect(await dueSignOuts(store(), start + grantSeconds)).toEqual([])
    })

    it('fifty saves and ends of a grant at once: the newest session is signed out, in any order', async () => {
      const other = await addGrant(store(), grantSample('b'))
      await race(async (each, index) =>
        index % 2 === 0
          ? each.saveProviderSession(nextSession(other.session))
          : each.endGrant(other.grant.id, 'code_reuse', start + 1),
      )
      expect(await dueSignOuts(store(), start + 1)).toEqual([sample.session, nextSession(other.session)])
    })
  })
}

function describeRefusedSessions({ store, race }: StoreInstances): void {
  let sample: GrantSample
  const refuse = (version: number, now = start + 5, each = store()): Promise<boolean> =>
    each.endRefusedSession({ grantId: sample.grant.id, version }, 'provider_session_ended', now)

  describe('a session that the provider refused', () => {
    beforeEach(async () => {
      sample = await addGrant(store(), grantSample('a'))
    })

    it('a refused session ends its grant and no other, for good; nothing is left to sign out, nothing sealed is left', async () => {
      const { grant, tokens } = sample
      const other = await addGrant(store(), grantSample('b'))
      const sealed = 'gone.sealed'
      await store().saveProviderSession(nextSession(sample.session, sealed))
      expect(await refuse(2)).toBe(true)
      await store().endGrant(grant.id, 'code_reuse', start + 6)
      expect(await store().findAccessToken(other.tokens.accessHash, start + 5)).toBeDefined()
      expect(await store().findAccessToken(tokens.accessHash, start + 5)).toBeUndefined()
      expect(await store().findProviderSession(grant.id)).toBeUndefined()
      expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({
        grant,
        endReason: 'provider_session_ended',
        usedAt: undefined,
      })
      const options = rotationTerms(start + 5)
      expect(await store().rotateRefreshToken(tokens.refreshHash, successorSample('x'), options)).toEqual({
        kind: 'ended',
      })
      expect(await dueSignOuts(store(), start + grantSeconds)).toEqual([])
      expect(await store().listSealingKeys()).not.toContain('gone')
      expect(await store().saveProviderSession(nextSession(sample.session))).toBe(false)
    })

    it.each([
      ['older than the stored one', 1],
      ['newer than the stored one', 3],
    ])('a refused session ends nothing when it is %s', async (_what, version) => {
      await store().saveProviderSession(nextSession(sample.session))
      expect(await refuse(version)).toBe(false)
      expect(await store().findAccessToken(sample.tokens.accessHash, start + 5)).toBeDefined()
      expect((await store().findRefreshToken(sample.tokens.refreshHash))?.endReason).toBeUndefined()
      expect(await store().findProviderSession(sample.grant.id)).toEqual(nextSession(sample.session))
    })

    it('a refused session ends nothing that has ended: the first reason and the sign-out stay', async () => {
      await store().endGrant(sample.grant.id, 'code_reuse', start)
      expect(await refuse(1)).toBe(false)
      expect((await store().findRefreshToken(sample.tokens.refreshHash))?.endReason).toBe('code_reuse')
      expect(await dueSignOuts(store(), start + 5)).toEqual([sample.session])
    })

    it('fifty callers end a refused session once', async () => {
      const ended = await race((each) => refuse(1, start + 5, each))
      expect(ended.filter(Boolean)).toHaveLength(1)
    })

    it('fifty refusals and saves of a session at once: the grant ends or the new session lives, never both', async () => {
      const answers = await race((each, index) =>
        index % 2 === 0 ? refuse(1, start + 5, each) : each.saveProviderSession(nextSession(sample.session)),
      )
      expect(answers.filter(Boolean)).toHaveLength(1)
      const saved = answers.indexOf(true) % 2 === 1
      expect(await store().findProviderSession(sample.grant.id)).toEqual(
        saved ? nextSession(sample.session) : undefined,
      )
      expect(await dueSignOuts(store(), start + 5)).toEqual([])
    })
  })
}
