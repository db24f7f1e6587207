import {
  type Claims,
  type Profile,
  type ProfileSource,
  ProviderError,
  type SessionProvider,
} from '../session/session-provider.ts'
import type { CurrentUser, User } from '../session/grant.ts'
import { type AccessDecision, type AccessPolicy, fullAccess } from './access-rules.ts'

export interface AccessControlPorts {
  provider: Pick<SessionProvider, 'capabilities' | 'profileOf'>
  policy: () => AccessPolicy | undefined
}

/** Decides who may use the server. The only place that does: at sign-in, at `/mcp` and for introspection. */
export class AccessControl {
  readonly #ports: AccessControlPorts

  constructor(ports: AccessControlPorts) {
    this.#ports = ports
  }

  /** Undefined: every user may do everything, and profiles need not be read. */
  get policy(): AccessPolicy | undefined {
    return this.#ports.policy()
  }

  /** `probed` holds the provider's latest claims, if it was asked. */
  profileOf(of: ProfileSource, probed?: Claims): Profile {
    return this.#ports.provider.profileOf(of, probed)
  }

  /** Returns the user as tools and upstreams see them. Leaves out an email address that the provider marks as unverified. */
  async describe({ id, sub }: Pick<User, 'id' | 'sub'>, profile: Profile): Promise<CurrentUser> {
    const { email, name } = profile
    const shown = profile.emailVerified === false ? undefined : email
    return { id, sub, email: shown, name, emailVerified: await this.#provesEmail(profile) }
  }

  /** Also false while the provider cannot say whether it verifies addresses: that must not lock users out. */
  async #provesEmail({ email, emailVerified }: Profile): Promise<boolean> {
    if (email === undefined || emailVerified !== true) return false
    try {
      return (await this.#ports.provider.capabilities()).confirmsEmail
    } catch (error) {
      if (error instanceof ProviderError) return false
      throw error
    }
  }

  /** An address marked as verified counts only if the provider verifies addresses. Rejects with `ProviderError`. */
  async decide(sub: string, profile: Profile, clientId?: string): Promise<AccessDecision> {
    const { policy } = this
    if (!policy) return fullAccess
    const claimed = policy.decide({ ...profile, sub, clientId })
    const unverified = policy.decide({ ...profile, emailVerified: false, sub, clientId })
    if (unverified.rule === claimed.rule) return claimed
    const { confirmsEmail } = await this.#ports.provider.capabilities()
    return confirmsEmail ? claimed : unverified
  }
}
