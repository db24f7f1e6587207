import { beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../../server/core/store.ts'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  mintedSample,
  rotationTerms,
  secondFactorSample,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import { clientSample } from './clients.ts'
import { deviceSample } from './devices.ts'
import type { StoreInstances } from './instances.ts'
import { socialSignInSample } from './social-sign-ins.ts'
import { longText } from './texts.ts'

const { grant, tokens } = grantSample('a')
const page = { now: start, limit: 9 }

/** Looks for a record by a name, or does something to it. Resolves with a falsy value if no record has that name. */
type Lookup = (store: Store, name: string) => Promise<unknown>

const lookups: readonly [what: string, name: string, find: Lookup][] = [
  ['client', clientSample.id, (store, id) => store.findClient(id)],
  ['client to remove', clientSample.id, (store, id) => store.removeClient(id)],
  ['device', 'user code a', (store, hash) => store.findDevice(hash, start)],
  ['device to decide about', 'device a', (store, hash) => store.decideDevice(hash, 'approved', start)],
  [
    'device to poll',
    'device a',
    async (store, hash) => (await store.pollDevice(hash, 5, start)).kind !== 'unknown',
  ],
  ['social sign-in', 's', (store, id) => store.removeSocialSignIn(id)],
  ['browser', 'b', async (store, hash) => (await store.listSocialSignIns(hash, start)).length],
  [
    'second factor to try',
    'f',
    (store, id) => store.attemptSecondFactor({ id, bindingHash: 'binding', max: 5 }, start),
  ],
  ['second factor to remove', 'f', (store, id) => store.removeSecondFactor(id, true, start)],
  ['code', 'code a', (store, hash) => store.findAuthorizationCode(hash)],
  ['code to expire', 'code waits', (store, hash) => store.expireCode(hash, start)],
  [
    'code to redeem',
    'code waits',
    async (store, hash) =>
      (await store.redeemAuthorizationCode(hash, mintedSample('x'), start)).kind === 'redeemed',
  ],
  ['access token', tokens.accessHash, (store, hash) => store.findAccessToken(hash, start)],
  [
    'access token to remove',
    tokens.accessHash,
    async (store, hash) => {
      await store.removeAccessToken(hash)
      return !(await store.findAccessToken(tokens.accessHash, start))
    },
  ],
  ['refresh token', tokens.refreshHash, (store, hash) => store.findRefreshToken(hash)],
  [
    'refresh token to rotate',
    tokens.refreshHash,
    async (store, hash) =>
      (await store.rotateRefreshToken(hash, successorSample('x'), rotationTerms(start))).kind === 'rotated',
  ],
  ['family', tokens.familyHash ?? '', (store, hash) => store.findGrantByFamily(hash)],
  ['grant', grant.id, (store, id) => store.findGrant(id)],
  [
    'grant to end',
    grant.id,
    async (store, id) => {
      await store.endGrant(id, 'code_reuse', start)
      return (await store.findGrant(grant.id))?.end
    },
  ],
  ['provider session', grant.id, (store, id) => store.findProviderSession(id)],
  [
    'sign-out to remove',
    'grant ended',
    async (store, id) => {
      await store.postponeSignOut(id, start)
      await store.removeSignOut(id)
      return (await dueSignOuts(store, start)).length === 0
    },
  ],
  [
    'key of sessions',
    'k',
    async (store, kid) => (await store.listSessionsSealedWith(kid, { after: '', limit: 9 })).length,
  ],
  ...(['userId', 'clientId'] as const).flatMap((kind): [string, string, Lookup][] => {
    const owner = { userId: grant.user.id, clientId: grant.clientId }[kind]
    const of = (id: string) => (kind === 'userId' ? { userId: id } : { clientId: id })
    return [
      [
        `${kind} of grants`,
        owner,
        async (store, id) => (await store.listGrants(of(id), { after: '', limit: 9 })).length,
      ],
      [
        `${kind} of grants to end`,
        owner,
        async (store, id) => (await store.endGrants(of(id), 'revoked_by_user', page)).length,
      ],
    ]
  }),
]

/** Store contract: names, which are compared byte by byte. */
export function describeNames({ store }: StoreInstances): void {
  describe('names', () => {
    beforeEach(async () => {
      await store().addClient(clientSample)
      await store().addDevice(deviceSample('a'))
      await store().addSocialSignIn(socialSignInSample('s', 'b'), 5)
      await store().addSecondFactor(secondFactorSample('f'))
      for (const name of ['a', 'ended']) {
        const { session, ...sample } = grantSample(name)
        await addGrant(store(), { ...sample, session: { ...session, sealed: 'k.sealed' } })
      }
      await store().endGrant('grant ended', 'code_reuse', start)
      const waiting = grantSample('waits')
      await store().addAuthorizationCode(waiting.code, waiting.session)
    })

    it.each(lookups)('a %s is found by %j and by nothing like it', async (_what, name, find) => {
      const near = [name.toUpperCase(), `${name} `, `${name}\0`, `${name}1`, `${name.slice(0, -1)}%`]
      const [kind] = name.split(' ')
      const others = lookups.map(([, other]) => other).filter((other) => other.split(' ')[0] !== kind)
      for (const other of ['', '__proto__', '.', longText, ...near, ...others])
        expect(await find(store(), other), other.slice(0, 100)).toBeFalsy()
      expect(await find(store(), name)).toBeTruthy()
    })
  })
}
