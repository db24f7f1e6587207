import { expect, it } from 'vitest'
import { capabilitiesSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { accessSample, profileSample } from '../../../tests/support/server/core/access-sample.ts'
import { type Profile, ProviderError, type ProviderCapabilities } from '../session/session-provider.ts'
import { type AccessRule, fullAccess } from './access-rules.ts'

const byEmail: AccessRule = { effect: 'allow', conditions: { email: ['*@example.com'] } }
const bySub: AccessRule = { effect: 'allow', conditions: { sub: ['user-1'] } }
const everyone: AccessRule = { effect: 'allow', conditions: {} }
const ada = { ...profileSample, email: 'ada@example.com', emailVerified: true }

const confirming = (confirmsEmail: boolean) => async () => capabilitiesSample({ confirmsEmail })
const down = (): Promise<never> => Promise.reject(new ProviderError('transient', 'down'))

it('without rules: everyone has full access, and neither profile nor provider is looked at', async () => {
  const access = accessSample(undefined, {
    capabilities: down,
    profileOf() {
      throw new Error('looked at')
    },
  })
  expect(access.policy).toBe(undefined)
  expect(await access.decide('user-1', ada)).toEqual(fullAccess)
})

it('an address that the provider calls verified counts if the provider proves addresses', async () => {
  const access = accessSample([byEmail], { capabilities: confirming(true) })
  expect(await access.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 1 })
})

it('an address that the provider calls verified counts as unverified if the provider does not prove addresses', async () => {
  const access = accessSample([byEmail], { capabilities: confirming(false) })
  expect(await access.decide('user-1', ada)).toEqual({
    kind: 'denied',
    reason: 'address_not_verified',
    rule: undefined,
  })
  const others = accessSample([byEmail, everyone], { capabilities: confirming(false) })
  expect(await others.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 2 })
})

it('a rule on verified addresses cannot be decided while the provider is down', async () => {
  const access = accessSample([byEmail], { capabilities: down })
  await expect(access.decide('user-1', ada)).rejects.toThrow(ProviderError)
})

it('access rules call the provider only if an address decides', async () => {
  const access = accessSample([bySub, byEmail], { capabilities: down })
  expect(await access.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 1 })
  expect(await access.decide('user-2', { ...ada, emailVerified: false })).toMatchObject({ kind: 'denied' })
})

it("access control does not hide a fault that is not the provider's", async () => {
  const access = accessSample(undefined, { capabilities: () => Promise.reject(new RangeError('a bug')) })
  await expect(access.describe({ id: 'p#user-1', sub: 'user-1' }, ada)).rejects.toThrow(RangeError)
})

const user = { id: 'p#user-1', sub: 'user-1' }

it.each<[string, Partial<Profile>, ProviderCapabilities['confirmsEmail'] | 'down', object]>([
  ['proven', {}, true, { email: 'ada@example.com', emailVerified: true }],
  ['not proven by that provider', {}, false, { email: 'ada@example.com', emailVerified: false }],
  ['one whose provider is down', {}, 'down', { email: 'ada@example.com', emailVerified: false }],
  ['one that the provider says nothing about', { emailVerified: undefined }, true, { emailVerified: false }],
  ['not verified', { emailVerified: false }, true, { email: undefined, emailVerified: false }],
  ['none', { email: undefined }, true, { email: undefined, emailVerified: false }],
])(
  'tools and upstreams learn whether an address is verified: %s',
  async (_what, profile, confirms, shown) => {
    const access = accessSample(undefined, {
      capabilities: confirms === 'down' ? down : confirming(confirms),
    })
    expect(await access.describe(user, { ...ada, ...profile, name: 'Ada' })).toMatchObject({
      ...user,
      name: 'Ada',
      ...shown,
    })
  },
)

it('an unproven address does not get a client past a rule about clients, nor around it', async () => {
  const rules: AccessRule[] = [
    { effect: 'deny', conditions: { client: ['mcpc_1'] } },
    { effect: 'allow', conditions: { client: ['mcpc_2'], email: ['*@example.com'] } },
  ]
  const decide = (clientId: string | undefined, confirms: boolean) =>
    accessSample(rules, { capabilities: confirming(confirms) }).decide('user-1', ada, clientId)
  expect(await decide('mcpc_1', true)).toMatchObject({ kind: 'denied', reason: 'deny_rule', rule: 1 })
  expect(await decide('mcpc_1', false)).toMatchObject({ kind: 'denied', reason: 'deny_rule', rule: 1 })
  expect(await decide('mcpc_2', true)).toMatchObject({ kind: 'allowed', rule: 2 })
  expect(await decide('mcpc_2', false)).toMatchObject({ kind: 'denied', reason: 'address_not_verified' })
  expect(await decide('mcpc_3', true)).toMatchObject({ kind: 'denied', reason: 'no_rule' })
  expect(await decide(undefined, true)).toMatchObject({ kind: 'denied', reason: 'no_rule' })
})
