import { AccessControl } from '../../../../server/core/access/access-control.ts'
import { type AccessRule, createAccessPolicy } from '../../../../server/core/access/access-rules.ts'
import { GrantAccess, type GrantAccessPorts } from '../../../../server/core/access/grant-access.ts'
import type { Profile, SessionProvider } from '../../../../server/core/session/session-provider.ts'
import { profileOfSample, signInSample } from './sign-in-sample.ts'

/** The answer of a provider that verifies addresses but knows nothing about the user. */
export const profileSample: Profile = {
  email: undefined,
  emailVerified: false,
  name: undefined,
  providers: [],
  claims: {},
}

/** Creates access with `rules`, or for everyone; `provider` answers for the provider. */
export function accessSample(
  rules?: readonly AccessRule[],
  provider: Partial<Pick<SessionProvider, 'capabilities' | 'profileOf'>> = {},
): AccessControl {
  const policy = rules && createAccessPolicy(rules)
  return new AccessControl({
    policy: () => policy,
    provider: {
      capabilities: async () => ({ password: true, social: [], captcha: undefined, confirmsEmail: true }),
      profileOf: profileOfSample,
      ...provider,
    },
  })
}

/** Creates access for Ada's grants without rules: no grant ends. */
export function grantAccessSample(ports: Partial<GrantAccessPorts> = {}): GrantAccess {
  const fail = (): never => {
    throw new Error('Without rules no grant ends.')
  }
  return new GrantAccess({
    access: accessSample(),
    keeper: { open: () => signInSample('ada').session, claimsOf: () => undefined },
    store: { endGrant: fail },
    runtime: { now: fail },
    reportGrantEnd: fail,
    ...ports,
  })
}
