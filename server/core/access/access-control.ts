import type { Claims, Identity, Profile, SessionProvider } from '../session/session-provider.ts'
import { type AccessDecision, type AccessPolicy, fullAccess } from './access-rules.ts'

/** What {@link AccessControl} needs from outside. */
export interface AccessControlPorts {
  provider: Pick<SessionProvider, 'capabilities' | 'profileOf'>
  /** The policy in force at this moment; undefined: there are no rules. */
  policy: () => AccessPolicy | undefined
}

/** Decides who may come in. The one place that does: at sign-in, at `/mcp`, and for introspection. */
export class AccessControl {
  readonly #ports: AccessControlPorts

  constructor(ports: AccessControlPorts) {
    this.#ports = ports
  }

  /** False: everyone may do everything, and profiles need not be read. */
  get hasRules(): boolean {
    return this.#ports.policy() !== undefined
  }

  /** Decides about whom a verified token names. `probed` is what the provider last said about that person, if it was asked. */
  async decideAbout(identity: Identity, probed: Claims | undefined): Promise<AccessDecision> {
    if (!this.hasRules) return fullAccess
    return this.decide(identity.sub, this.#ports.provider.profileOf({ kind: 'identity', identity }, probed))
  }

  /**
   * Decides about the person whom the provider calls `sub`. An address that the provider calls verified only counts if the provider
   * proves addresses; the provider is asked for that only where it matters. Rejects with `ProviderError` if it does not
   * answer.
   */
  async decide(sub: string, profile: Profile): Promise<AccessDecision> {
    const policy = this.#ports.policy()
    if (!policy) return fullAccess
    const claimed = policy.decide({ ...profile, sub })
    if (!profile.emailVerified) return claimed
    const unverified = policy.decide({ ...profile, emailVerified: false, sub })
    if (unverified.rule === claimed.rule) return claimed
    const { confirmsEmail } = await this.#ports.provider.capabilities()
    return confirmsEmail ? claimed : unverified
  }
}
