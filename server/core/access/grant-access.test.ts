import { beforeEach, expect, it } from 'vitest'
import {
  accessSample,
  grantAccessSample,
  profileSample,
} from '../../../tests/support/server/core/access-sample.ts'
import { grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import type { StoredProviderSession } from '../session/grant.ts'
import { type Claims, ProviderError } from '../session/session-provider.ts'
import { AccessControl } from './access-control.ts'
import { type AccessPolicy, type AccessRule, createAccessPolicy, fullAccess } from './access-rules.ts'
import type { GrantAccess } from './grant-access.ts'

const { grant } = grantSample('a')
const stored: StoredProviderSession = {
  grantId: grant.id,
  sealed: 'sealed',
  issuedAt: 1000,
  expiresAt: 2000,
  version: 1,
}

let opened: number
let ended: unknown[]
let probed: { claims: Claims; at: number } | undefined
/** The role the provider reports unless a probe returned another. */
let role: string
let access: GrantAccess

beforeEach(() => {
  opened = 0
  ended = []
  probed = undefined
  role = 'partner'
  access = grantAccessSample({
    access: accessSample([{ effect: 'allow', conditions: { claim: { role: ['partner'] } } }], {
      profileOf: (_of, claims) => ({ ...profileSample, claims: claims ?? { role } }),
    }),
    keeper: {
      open() {
        opened += 1
        return signInSample('ada').session
      },
      claimsOf: () => probed,
    },
    store: { endGrant: async (...given) => void ended.push(given) },
    runtime: { now: () => 1500 },
    reportGrantEnd: (of, reason) => void ended.push([of.id, reason]),
  })
})

it('without rules everyone has full access, and no session is opened', async () => {
  expect(await grantAccessSample().enforce(grant, stored)).toEqual(fullAccess)
})

it('a session is opened once for each of its versions', async () => {
  for (const version of [1, 1, 2, 2]) {
    expect(await access.enforce(grant, { ...stored, version })).toMatchObject({ kind: 'allowed', rule: 1 })
  }
  expect(opened).toBe(2)
  expect(ended).toEqual([])
})

it('a refresh that brings other claims ends the grant', async () => {
  await access.enforce(grant, stored)
  role = 'guest'
  expect(await access.enforce(grant, stored)).toMatchObject({ kind: 'allowed' })
  expect(await access.enforce(grant, { ...stored, version: 2 })).toMatchObject({
    kind: 'denied',
    reason: 'no_rule',
  })
  expect(ended).toEqual([
    [grant.id, 'access_rule', 1500],
    [grant.id, 'access_rule'],
  ])
})

it('a session check that brings other claims ends the grant', async () => {
  await access.enforce(grant, stored)
  probed = { claims: { role: 'partner' }, at: 1600 }
  expect(await access.enforce(grant, stored)).toMatchObject({ kind: 'allowed' })
  probed = { claims: { role: 'guest' }, at: 1700 }
  expect(await access.enforce(grant, stored)).toMatchObject({ kind: 'denied' })
  expect(ended).toHaveLength(2)
})

it("a grant has the claims of the session's last refresh or check", async () => {
  const names = grantAccessSample({
    keeper: { open: () => signInSample('ada').session, claimsOf: () => probed },
    access: accessSample(undefined, {
      profileOf: (_of, claims) => ({ ...profileSample, name: claims ? 'after the check' : role }),
    }),
  })
  expect(await names.userOf(grant, stored)).toMatchObject({
    id: grant.user.id,
    email: undefined,
    name: 'partner',
  })
  role = 'after the refresh'
  expect(await names.userOf(grant, { ...stored, version: 2 })).toMatchObject({ name: role })
  probed = { claims: { name: 'after the check' }, at: 1600 }
  expect(await names.userOf(grant, { ...stored, version: 2 })).toMatchObject({ name: 'after the check' })
})

it('an access decision is kept until the session, its check or the rules change', async () => {
  const partners = createAccessPolicy([{ effect: 'allow', conditions: { claim: { role: ['partner'] } } }])
  let decisions = 0
  const counted = (of: AccessPolicy): AccessPolicy => ({
    decide(person) {
      decisions += 1
      return of.decide(person)
    },
    mayOffer: of.mayOffer,
  })
  let policy = counted(partners)
  const control = new AccessControl({
    policy: () => policy,
    provider: {
      capabilities: () => Promise.reject(new Error('not asked')),
      profileOf: () => ({ ...profileSample, claims: { role } }),
    },
  })
  const kept = grantAccessSample({
    access: control,
    keeper: { open: () => signInSample('ada').session, claimsOf: () => probed },
  })
  const first = await kept.decide(grant, stored)
  const made = decisions
  expect(await kept.decide(grant, stored)).toBe(first)
  expect(decisions).toBe(made)
  expect(await kept.decide(grant, { ...stored, version: 2 })).not.toBe(first)
  policy = counted(createAccessPolicy([]))
  expect(await kept.decide(grant, { ...stored, version: 2 })).toMatchObject({ kind: 'denied' })
})

it('a session that no key opens now leaves its grant undecided and alive', async () => {
  const unreadable = grantAccessSample({
    access: accessSample([]),
    keeper: {
      open() {
        throw new ProviderError('transient', 'unreadable')
      },
      claimsOf: () => undefined,
    },
    store: { endGrant: async () => void ended.push('ended') },
  })
  await expect(unreadable.enforce(grant, stored)).rejects.toMatchObject({ failure: 'transient' })
  expect(ended).toEqual([])
})

it('a rule about a client ends the grants of that client, and leaves those of the same user with other clients', async () => {
  const blocked = grantSample('blocked', {
    user: grant.user,
    clientId: 'https://client.example/metadata.json',
  })
  const other = grantSample('other', { user: grant.user, clientId: 'mcpc_other' })
  const rules: AccessRule[] = [
    { effect: 'deny', conditions: { client: ['client.example'] } },
    { effect: 'allow', conditions: { client: ['mcpc_other'] }, scopes: ['mcp'] },
  ]
  const byClient = grantAccessSample({
    access: accessSample(rules),
    store: { endGrant: async (id) => void ended.push(id) },
    runtime: { now: () => 1500 },
    reportGrantEnd: () => {},
  })
  const decide = ({ grant: of }: typeof blocked) => byClient.enforce(of, { ...stored, grantId: of.id })
  for (let round = 0; round < 2; round += 1) {
    expect(await decide(other)).toMatchObject({ kind: 'allowed', rule: 2, scopes: ['mcp'] })
    expect(await decide(blocked)).toMatchObject({ kind: 'denied', reason: 'deny_rule', rule: 1 })
  }
  expect(await byClient.decide(grant, stored)).toMatchObject({ kind: 'denied', reason: 'no_rule' })
  expect(ended).toEqual(['grant blocked', 'grant blocked'])
})
