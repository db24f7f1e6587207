import { describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  nextSession,
  rotationTerms,
  secondFactorSample,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import { describeAttempts } from './attempts.ts'
import { clientSample, describeClients } from './clients.ts'
import { describeClientUse } from './client-use.ts'
import { describeCodes } from './codes.ts'
import { describeCollection } from './collection.ts'
import { describeDevices, deviceSample } from './devices.ts'
import { describeEndedGrants } from './ended-grants.ts'
import { describeGrantRecords } from './grant-records.ts'
import { type OpenedStore, type StoreInstances, useInstances } from './instances.ts'
import { describeNames } from './names.ts'
import { describeProviderSessions } from './provider-sessions.ts'
import { describeReplays } from './replays.ts'
import { describeSealedSessions } from './sealed-sessions.ts'
import { describeSecondFactors } from './second-factors.ts'
import { describeSignOuts } from './sign-outs.ts'
import { describeSocialSignIns, socialSignInSample } from './social-sign-ins.ts'
import { describeTexts } from './texts.ts'
import { describeTokens } from './tokens.ts'
import { describeUnredeemedCodes } from './unredeemed-codes.ts'

/** The contract of the store, the same for every driver. `open` returns a fresh, empty store. */
export function describeStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} store`, () => {
    const instances = useInstances(open)
    describeClients(instances)
    describeClientUse(instances)
    describeDevices(instances)
    describeSocialSignIns(instances)
    describeSecondFactors(instances)
    describeAttempts(instances)
    describeCodes(instances)
    describeUnredeemedCodes(instances)
    describeTokens(instances)
    describeReplays(instances)
    describeProviderSessions(instances)
    describeEndedGrants(instances)
    describeGrantRecords(instances)
    describeSignOuts(instances)
    describeSealedSessions(instances)
    describeCollection(instances)
    describeNames(instances)
    describeTexts(instances)
    describeKeeping(instances)
  })
}

function describeKeeping({ store, reopen }: StoreInstances): void {
  it('a store can be prepared before its first use, and again', async () => {
    await store().prepare()
    await store().prepare()
    expect(await store().findClient('nothing')).toBeUndefined()
  })

  it('everything that a store confirmed is there after reopening', async () => {
    const kept = await addGrant(store(), grantSample('kept'))
    const ended = await addGrant(store(), grantSample('ended'))
    await store().addClient(clientSample)
    await store().keepClient(clientSample.id, start + 2 * 86_400)
    await store().addDevice(deviceSample('waits'))
    await store().addDevice(deviceSample('allowed'))
    await store().decideDevice('device allowed', 'approved', start)
    await store().pollDevice('device waits', 5, start)
    const twoAddresses = { addresses: ['192.0.2.1', '2001:db8::1'], at: start + 2 } as const
    await store().recordGrantUses([
      { grantId: kept.grant.id, usedAt: start + 3, address: '192.0.2.1', tool: 'list_notes', twoAddresses },
    ])
    await store().addSocialSignIn(socialSignInSample('kept'), 5)
    await store().addSecondFactor(secondFactorSample('half'))
    await store().attemptSecondFactor({ id: 'half', bindingHash: 'binding', max: 1 }, start)
    await store().countAttempt('key', 60, start)
    await store().rotateRefreshToken(kept.tokens.refreshHash, successorSample('kept 2'), rotationTerms(start))
    await store().saveProviderSession(nextSession(kept.session))
    const lease = { grantId: kept.grant.id, version: 2, owner: 'one', until: start + 15 }
    await store().leaseProviderSession(lease, start)
    await store().releaseProviderSession({ ...lease, outcomeKnown: false, refusedAt: start + 4 })
    await store().leaseProviderSession(lease, start)
    await store().recordProviderRenewal('issuer', start)
    await store().endGrant(ended.grant.id, 'code_reuse', start)
    await reopen()

    expect(await store().findClient(clientSample.id)).toStrictEqual({
      ...clientSample,
      expiresAt: start + 2 * 86_400,
    })
    expect(await store().trimClients(0, 10, start)).toBe(0)
    expect(await store().pollDevice('device waits', 5, start + 3)).toEqual({ kind: 'slow_down' })
    expect((await store().pollDevice('device allowed', 5, start)).kind).toBe('approved')
    expect(await store().listGrants(undefined, { after: '', limit: 10 })).toEqual([
      {
        grant: ended.grant,
        lastUse: undefined,
        twoAddresses: undefined,
        replays: undefined,
        end: { at: start, reason: 'code_reuse' },
      },
      {
        grant: kept.grant,
        lastUse: { usedAt: start + 3, address: '192.0.2.1', tool: 'list_notes' },
        twoAddresses,
        replays: undefined,
        end: undefined,
      },
    ])
    expect(await store().listSocialSignIns('binding', start)).toEqual([socialSignInSample('kept')])
    expect(
      await store().attemptSecondFactor({ id: 'half', bindingHash: 'binding', max: 1 }, start + 1),
    ).toBeUndefined()
    expect(await store().countAttempt('key', 60, start)).toEqual({ count: 2, windowEndsAt: start + 60 })
    expect(await store().findAccessToken('access kept 2', start)).toMatchObject({ grant: kept.grant })
    expect(await store().findProviderSession(kept.grant.id)).toEqual(nextSession(kept.session))
    expect(
      await store().leaseProviderSession({ ...lease, owner: 'two', until: start + 30 }, start + 15),
    ).toEqual({ kind: 'leased', attempt: 3 })
    expect(await store().releaseProviderSession({ ...lease, owner: 'two', outcomeKnown: true })).toBe(
      start + 4,
    )
    expect(await store().findProviderRenewal('issuer')).toBe(start)
    expect(await store().redeemAuthorizationCode(kept.code.codeHash, kept.tokens, start + 5)).toEqual({
      kind: 'used',
      redeemedAt: start,
    })
    expect(await dueSignOuts(store(), start + 1)).toEqual([ended.session, secondFactorSample('half').session])
  })
}
