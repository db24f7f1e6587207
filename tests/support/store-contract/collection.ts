import { describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  grantSeconds,
  rotationTerms,
  secondFactorSample,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import type { StoredProviderSession } from '../../../server/core/session/grant.ts'
import type { StoreInstances } from './instances.ts'
import { bareClient, clientSample } from './clients.ts'
import { deviceSample } from './devices.ts'
import { socialSignInSample } from './social-sign-ins.ts'

const daySeconds = 86_400

/** Store contract: expired rows. */
export function describeCollection(instances: StoreInstances): void {
  describeDeletion(instances)
  describeGivenUpSessions(instances)
  describeBatches(instances)
}

function describeDeletion({ store }: StoreInstances): void {
  describe('collectExpired', () => {
    it.each<[what: string, add: () => Promise<unknown>, seconds: number, isThere: () => Promise<unknown>]>([
      [
        'a social sign-in at its end',
        () => store().addSocialSignIn(socialSignInSample('s'), 5),
        600,
        () => store().removeSocialSignIn('s'),
      ],
      [
        'counted attempts at the end of their window',
        () => store().countAttempt('key', 60, start),
        60,
        async () => (await store().countAttempt('key', 60, start)).count > 1,
      ],
      [
        'an access token at its end',
        () => addGrant(store(), grantSample('a')),
        3600,
        () => store().findAccessToken('access a 1', start),
      ],
      [
        'a device an hour after its end',
        () => store().addDevice(deviceSample('a')),
        600 + 3600,
        async () => (await store().pollDevice('device a', 5, start)).kind !== 'unknown',
      ],
      [
        'a client at the end that it was moved to',
        async () => {
          await store().addClient(clientSample)
          await store().keepClient(clientSample.id, start + 9 * daySeconds)
        },
        9 * daySeconds,
        () => store().findClient(clientSample.id),
      ],
    ])('collectExpired deletes %s, and nothing else', async (_what, add, seconds, isThere) => {
      await add()
      expect(await store().collectExpired(start + seconds - 1, 500)).toBe(0)
      expect(await store().collectExpired(start + seconds, 500)).toBe(1)
      expect(await isThere()).toBeFalsy()
    })

    it('collectExpired never deletes a client without an end', async () => {
      await store().addClient(bareClient)
      expect(await store().collectExpired(start + 1000 * daySeconds, 500)).toBe(0)
      expect(await store().findClient(bareClient.id)).toBeDefined()
    })

    it.each([
      ['used', true],
      ['never used', false],
    ])(
      'collectExpired keeps a %s code for a day past its end, so that its reuse is noticed',
      async (_what, used) => {
        const { code, session, tokens } = grantSample('a')
        await store().addAuthorizationCode(code, session)
        if (used) await store().redeemAuthorizationCode(code.codeHash, tokens, start)
        // By then the access token of a used code has long expired, and the session of the other was abandoned.
        await store().collectExpired(code.expiresAt + daySeconds - 1, 500)
        expect(await store().findAuthorizationCode(code.codeHash)).toEqual(code)
        expect(await store().redeemAuthorizationCode(code.codeHash, tokens, start + daySeconds)).toEqual(
          used ? { kind: 'used', redeemedAt: start } : { kind: 'expired' },
        )
        expect(await store().collectExpired(code.expiresAt + daySeconds, 500)).toBe(1)
        expect(await store().findAuthorizationCode(code.codeHash)).toBeUndefined()
      },
    )

    it('collectExpired keeps an ended grant until its own end, without its refresh tokens, whose family still says why', async () => {
      const { grant, tokens } = await addGrant(store(), grantSample('a'))
      const live = await addGrant(store(), grantSample('b'))
      await store().rotateRefreshToken(tokens.refreshHash, successorSample('a 2'), rotationTerms(start))
      await store().endGrant(grant.id, 'code_reuse', start + 1)
      while ((await store().collectExpired(start + 1, 1)) > 0);
      for (const hash of [tokens.refreshHash, 'refresh a 2']) {
        expect(await store().findRefreshToken(hash)).toBeUndefined()
      }
      expect(await store().findRefreshToken(live.tokens.refreshHash)).toBeDefined()
      await store().collectExpired(start + grantSeconds - 1, 500)
      expect((await store().findGrantByFamily('family a'))?.end?.reason).toBe('code_reuse')
      while ((await store().collectExpired(start + grantSeconds, 500)) > 0);
      expect(await store().findGrantByFamily('family a')).toBeUndefined()
    })

    it('collectExpired deletes nothing with a limit of 0', async () => {
      await addGrant(store(), grantSample('a'))
      await store().addSecondFactor(secondFactorSample('f'))
      expect(await store().collectExpired(start + grantSeconds, 0)).toBe(0)
      expect(await dueSignOuts(store(), start + grantSeconds)).toEqual([])
    })
  })
}

function describeGivenUpSessions({ store, race }: StoreInstances): void {
  const claim = (now: number) => store().claimSignOuts({ limit: 10, until: now }, now)

  describe('unused sessions', () => {
    it.each<[what: string, add: () => Promise<unknown>, session: StoredProviderSession, seconds: number]>([
      ['grant', () => addGrant(store(), grantSample('a')), grantSample('a').session, grantSeconds],
      [
        'code',
        () => store().addAuthorizationCode(grantSample('a').code, grantSample('a').session),
        grantSample('a').session,
        60,
      ],
      [
        'second factor',
        () => store().addSecondFactor(secondFactorSample('f')),
        secondFactorSample('f').session,
        600,
      ],
    ])(
      'the session of a %s is due for sign-out when this has expired, and once',
      async (_what, add, session, seconds) => {
        await add()
        await store().collectExpired(start + seconds - 1, 500)
        expect(await claim(start + seconds - 1)).toEqual([])
        await store().collectExpired(start + seconds, 500)
        expect(await claim(start + seconds)).toEqual([{ session, attempts: 1, since: start + seconds }])
        await store().removeSignOut(session.grantId)
        await store().collectExpired(start + 2 * grantSeconds, 500)
        expect(await claim(start + 2 * grantSeconds)).toEqual([])
      },
    )

    it('a session of a grant that ended before is not due again when it expires', async () => {
      const ended = await addGrant(store(), grantSample('a'))
      await addGrant(store(), grantSample('b'))
      await store().endGrant(ended.grant.id, 'code_reuse', start)
      await store().endRefusedSession({ grantId: 'grant b', version: 1 }, 'provider_session_ended', start)
      await store().removeSignOut(ended.grant.id)
      await store().collectExpired(start + grantSeconds, 500)
      expect(await claim(start + grantSeconds)).toEqual([])
    })

    it('a sign-out that waits outlives its grant', async () => {
      const { grant, session } = await addGrant(store(), grantSample('a'))
      await store().endGrant(grant.id, 'code_reuse', start)
      await store().collectExpired(start + grantSeconds, 500)
      expect(await claim(start + grantSeconds)).toEqual([{ session, attempts: 1, since: start }])
    })

    it('a session of a code that is found only a day later is due all the same', async () => {
      const { code, session } = grantSample('a')
      await store().addAuthorizationCode(code, session)
      while ((await store().collectExpired(start + 2 * daySeconds, 500)) > 0);
      expect(await claim(start + 2 * daySeconds)).toHaveLength(1)
      expect(await store().findAuthorizationCode(code.codeHash)).toBeUndefined()
    })

    it('fifty collectors and redemptions at once: a session has a grant or is signed out, never both', async () => {
      await race((each, index) => {
        const { code, session } = grantSample(`racer ${index}`)
        return each.addAuthorizationCode(code, session)
      })
      // An instance with a slow clock may redeem what another already collects.
      const redeemed = await race(async (each, index) => {
        if (index % 5 === 0) await each.collectExpired(start + 60, 4)
        const { code, tokens } = grantSample(`racer ${index}`)
        return (await each.redeemAuthorizationCode(code.codeHash, tokens, start + 59)).kind
      })
      const due = new Set((await dueSignOuts(store(), start + 60)).map(({ grantId }) => grantId))
      for (const [index, kind] of redeemed.entries()) {
        const id = `grant racer ${index}`
        expect((await store().findProviderSession(id)) !== undefined).toBe(kind === 'redeemed')
        expect(due.has(id)).toBe(kind === 'expired')
      }
    })
  })
}

function describeBatches({ store, race }: StoreInstances): void {
  describe('batches of what has expired', () => {
    it('batches of expired rows never touch a live neighbour and leave nothing behind', async () => {
      const live = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          addGrant(store(), grantSample(`live ${index}`, { expiresAt: start + 3 * grantSeconds })),
        ),
      )
      for (let index = 0; index < 20; index += 1) {
        const { tokens } = await addGrant(store(), grantSample(`old ${index}`))
        await store().rotateRefreshToken(
          tokens.refreshHash,
          successorSample(`${index} 2`),
          rotationTerms(start),
        )
        await store().rotateRefreshToken(
          `refresh ${index} 2`,
          successorSample(`${index} 3`),
          rotationTerms(start),
        )
      }
      const now = start + grantSeconds
      const batches: number[] = []
      for (;;) {
        const deleted = await store().collectExpired(now, 7)
        if (deleted === 0) break
        batches.push(deleted)
        for (const { grant, tokens } of live) {
          expect(await store().findRefreshToken(tokens.refreshHash)).toEqual({
            grant,
            endReason: undefined,
            usedAt: undefined,
          })
          expect(await store().findProviderSession(grant.id)).toBeDefined()
        }
      }
      // The code of each old one, three access tokens, each with the refresh token that it was requested with, the
      // last refresh token and the grant; code and access token of each live one.
      expect(batches.reduce((sum, deleted) => sum + deleted, 0)).toBe(20 * (1 + 3 + 1 + 1) + 5 * 2)
      expect(Math.max(...batches)).toBeLessThanOrEqual(7)
      expect(batches.slice(0, -1).every((deleted) => deleted === 7)).toBe(true)
      expect(await store().findProviderSession('grant old 7')).toBeUndefined()
      for (const hash of ['refresh old 7 1', 'refresh 7 2', 'refresh 7 3'])
        expect(await store().findRefreshToken(hash)).toBeUndefined()
      expect(await dueSignOuts(store(), now)).toHaveLength(20)
    })

    it('two collectors at once delete each row once', async () => {
      for (let index = 0; index < 10; index += 1) await addGrant(store(), grantSample(`old ${index}`))
      const deleted = await race((each) => each.collectExpired(start + grantSeconds, 3))
      const rest = await store().collectExpired(start + grantSeconds, 500)
      expect(deleted.reduce((sum, count) => sum + count, rest)).toBe(40)
      expect(await dueSignOuts(store(), start + grantSeconds)).toHaveLength(10)
    })
  })
}
