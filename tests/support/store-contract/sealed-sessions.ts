import { describe, expect, it } from 'vitest'
import type { StoredProviderSession } from '../../../server/core/session/grant.ts'
import {
  addGrant,
  type GrantSample,
  grantSample,
  nextSession,
  secondFactorSample,
  sessionSample,
  start,
} from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'
import { socialSignInSample } from './social-sign-ins.ts'

/** Store contract: keys of sealed values. */
export function describeSealedSessions({ store }: StoreInstances): void {
  const sealedSample = (name: string, kid: string): GrantSample => {
    const sample = grantSample(name)
    return { ...sample, session: { ...sample.session, sealed: `${kid}.sealed-${name}` } }
  }
  const addSealed = (name: string, kid: string): Promise<GrantSample> =>
    addGrant(store(), sealedSample(name, kid))
  const list = (kid: string, after = '', limit = 100): Promise<StoredProviderSession[]> =>
    store().listSessionsSealedWith(kid, { after, limit })
  const ids = async (kid: string, after = '', limit = 100): Promise<string[]> =>
    (await list(kid, after, limit)).map(({ grantId }) => grantId)

  describe('keys that something is sealed with', () => {
    it('listSealingKeys lists the key of each sealed session once, in order', async () => {
      const kids = ['b', 'a', 'B', '2026-01', 'b', 'a', 'a']
      for (const [index, kid] of kids.entries()) await addSealed(`${index}`, kid)
      expect(await store().listSealingKeys()).toEqual(['2026-01', 'B', 'a', 'b'])
    })

    it('listSealingKeys counts a session that waits for its sign-out, until that is done', async () => {
      const { grant } = await addSealed('a', 'k')
      await store().endGrant(grant.id, 'code_reuse', start)
      expect(await store().listSealingKeys()).toEqual(['k'])
      await store().removeSignOut(grant.id)
      expect(await store().listSealingKeys()).toEqual([])
    })

    it('listSealingKeys counts a code with its session, until it is used', async () => {
      const { code, session, tokens } = sealedSample('a', 'k')
      await store().addAuthorizationCode(code, session)
      expect(await store().listSealingKeys()).toEqual(['k'])
      await store().redeemAuthorizationCode(code.codeHash, tokens, start)
      await store().saveProviderSession(nextSession(session, 'other.x'))
      expect(await store().listSealingKeys()).toEqual(['other'])
    })

    it('listSealingKeys counts pending sign-ins', async () => {
      await store().addSocialSignIn({ ...socialSignInSample('s'), sealed: 'social.x' }, 5)
      const pending = secondFactorSample('f')
      await store().addSecondFactor({
        ...pending,
        sealed: 'request.x',
        session: sessionSample('f', 'session.x'),
      })
      expect(await store().listSealingKeys()).toEqual(['request', 'session', 'social'])
      await store().removeSocialSignIn('s')
      await store().removeSecondFactor('f', false, start)
      expect(await store().listSealingKeys()).toEqual([])
    })
  })

  describe('sessions sealed with a key', () => {
    it('the list of sealed sessions has those of grants, and those waiting for their sign-out, by grant id', async () => {
      const samples: GrantSample[] = []
      for (const name of ['d', 'a', 'c', 'b']) samples.push(await addSealed(name, 'k'))
      await addSealed('aa', 'other')
      await store().endGrant('grant b', 'code_reuse', start)
      const sessions = samples.map(({ session }) => session)
      expect(await list('k')).toEqual(sessions.sort((one, two) => (one.grantId < two.grantId ? -1 : 1)))
      expect(await ids('other')).toEqual(['grant aa'])
    })

    it('pages of sealed sessions hold up to the limit and begin after the given id, over both kinds', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await addSealed(name, 'k')
      for (const name of ['a', 'd', 'e']) await store().endGrant(`grant ${name}`, 'code_reuse', start)
      expect(await ids('k', '', 3)).toEqual(['grant a', 'grant b', 'grant c'])
      expect(await ids('k', 'grant c', 3)).toEqual(['grant d', 'grant e', 'grant f'])
      expect(await ids('k', 'grant f', 3)).toEqual(['grant g'])
      expect(await ids('k', 'grant g', 3)).toEqual([])
      expect(await ids('k', 'grant cc', 1)).toEqual(['grant d'])
      expect(await ids('k', '', 0)).toEqual([])
    })

    it('saving a session under another key takes it off the list of the old one, waiting ones too', async () => {
      const live = await addSealed('a', 'old')
      const ended = await addSealed('b', 'old')
      await store().endGrant(ended.grant.id, 'code_reuse', start)
      expect(await store().saveProviderSession(nextSession(live.session, 'new.a'))).toBe(true)
      expect(await store().listSealingKeys()).toEqual(['new', 'old'])
      expect(await store().saveProviderSession(nextSession(ended.session, 'new.b'))).toBe(false)
      expect(await ids('old')).toEqual([])
      expect(await ids('new')).toEqual(['grant a', 'grant b'])
      expect(await store().listSealingKeys()).toEqual(['new'])
    })

    it('sessions of pending codes and sign-ins are not in the list of sealed ones: they expire on their own', async () => {
      const { code, session } = sealedSample('a', 'k')
      await store().addAuthorizationCode(code, session)
      await store().addSecondFactor({ ...secondFactorSample('f'), session: sessionSample('f', 'k.x') })
      expect(await list('k')).toEqual([])
    })
  })
}
