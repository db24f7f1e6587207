import { describe, expect, it } from 'vitest'
import { accessSample, profileSample } from '../../../tests/support/server/core/access-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { ProviderError, type ProviderCapabilities } from '../session/session-provider.ts'
import { type AccessRule, fullAccess } from './access-rules.ts'

const byEmail: AccessRule = { effect: 'allow', conditions: { email: ['*@example.com'] } }
const bySub: AccessRule = { effect: 'allow', conditions: { sub: ['user-1'] } }
const everyone: AccessRule = { effect: 'allow', conditions: {} }
const ada = { ...profileSample, email: 'ada@example.com', emailVerified: true }

const confirming = (confirmsEmail: boolean) => async (): Promise<ProviderCapabilities> => ({
  password: true,
  social: [],
  captcha: undefined,
  confirmsEmail,
})
const down = (): Promise<never> => Promise.reject(new ProviderError('transient', 'down'))

describe('without rules', () => {
  it('everyone has full access, and neither profile nor provider is looked at', async () => {
    const access = accessSample(undefined, {
      capabilities: down,
      profileOf() {
        throw new Error('looked at')
      },
    })
    expect(access.hasRules).toBe(false)
    expect(await access.decide('user-1', ada)).toEqual(fullAccess)
    expect(await access.decideAbout(signInSample('ada').identity, undefined)).toEqual(fullAccess)
  })
})

describe('an address that the provider calls verified', () => {
  it('counts where the provider proves addresses', async () => {
    const access = accessSample([byEmail], { capabilities: confirming(true) })
    expect(await access.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 1 })
  })

  it('counts as unverified where it does not', async () => {
    const access = accessSample([byEmail], { capabilities: confirming(false) })
    expect(await access.decide('user-1', ada)).toEqual({ kind: 'denied', rule: undefined })
    const others = accessSample([byEmail, everyone], { capabilities: confirming(false) })
    expect(await others.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 2 })
  })

  it('cannot be decided about while the provider is down', async () => {
    const access = accessSample([byEmail], { capabilities: down })
    await expect(access.decide('user-1', ada)).rejects.toThrow(ProviderError)
  })

  it('makes no call to the provider where it decides nothing', async () => {
    const access = accessSample([bySub, byEmail], { capabilities: down })
    expect(await access.decide('user-1', ada)).toMatchObject({ kind: 'allowed', rule: 1 })
    expect(await access.decide('user-2', { ...ada, emailVerified: false })).toMatchObject({ kind: 'denied' })
  })
})

describe('whom a token names', () => {
  it('is decided about by the profile that the provider makes of the token and of its last word', async () => {
    const seen: unknown[] = []
    const access = accessSample([{ effect: 'allow', conditions: { sub: ['sub x'] } }], {
      profileOf(of, probed) {
        seen.push(of, probed)
        return profileSample
      },
    })
    const { identity } = signInSample('x')
    expect(await access.decideAbout(identity, { role: 'x' })).toMatchObject({ kind: 'allowed' })
    expect(seen).toEqual([{ kind: 'identity', identity }, { role: 'x' }])
  })
})
