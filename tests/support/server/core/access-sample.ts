import { AccessControl } from '../../../../server/core/access/access-control.ts'
import { type AccessRule, createAccessPolicy } from '../../../../server/core/access/access-rules.ts'
import { GrantAccess, type GrantAccessPorts } from '../../../../server/core/access/grant-access.ts'
import type { Profile, SessionProvider } from '../../../../server/core/session/session-provider.ts'

/** What a provider says that proves addresses, and knows nothing about anybody. */
export const profileSample: Profile = { email: undefined, emailVerified: false, providers: [], claims: {} }

/** Access by `rules`, or for everyone; the provider is asked as `provider` says. */
export function accessSample(
  rules?: readonly AccessRule[],
  provider: Partial<Pick<SessionProvider, 'capabilities' | 'profileOf'>> = {},
): AccessControl {
  const policy = rules && createAccessPolicy(rules)
  return new AccessControl({
    policy: () => policy,
    provider: {
      capabilities: async () => ({ password: true, social: [], captcha: undefined, confirmsEmail: true }),
      profileOf: () => profileSample,
      ...provider,
    },
  })
}

/** For grants, when there are no rules: nothing is opened, and no grant ends. */
export function grantAccessSample(ports: Partial<GrantAccessPorts> = {}): GrantAccess {
  const fail = (): never => {
    throw new Error('Without rules nothing is looked at.')
  }
  return new GrantAccess({
    control: accessSample(),
    keeper: { open: fail, claimsOf: () => undefined },
    provider: { profileOf: () => profileSample },
    store: { endGrant: fail },
    runtime: { now: fail },
    reportGrantEnd: fail,
    ...ports,
  })
}
