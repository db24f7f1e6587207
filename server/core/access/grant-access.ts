import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type {
  CurrentUser,
  Grant,
  GrantStore,
  ReportGrantEnd,
  StoredProviderSession,
} from '../session/grant.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Profile } from '../session/session-provider.ts'
import type { AccessControl } from './access-control.ts'
import { type AccessDecision, type AccessPolicy, fullAccess } from './access-rules.ts'

export interface GrantAccessPorts {
  access: AccessControl
  keeper: Pick<SessionKeeper, 'open' | 'claimsOf'>
  store: Pick<GrantStore, 'endGrant'>
  runtime: Pick<Runtime, 'now'>
  reportGrantEnd: ReportGrantEnd
}

const maxUsers = 10_000

/** Decides about users with a grant by the current claims of their provider session. */
export class GrantAccess {
  readonly #ports: GrantAccessPorts
  // Decrypting and reading a session on every call would cost more than all rules.
  readonly #users = new BoundedMap<KnownUser>(maxUsers)

  constructor(ports: GrantAccessPorts) {
    this.#ports = ports
  }

  /** Decides once for each version of the session, probe and policy. Rejects with `ProviderError`. */
  async decide({ user, clientId }: Grant, session: StoredProviderSession): Promise<AccessDecision> {
    const { access } = this.#ports
    const { policy } = access
    if (!policy) return fullAccess
    const known = this.#knownOf(session)
    if (known.decided?.policy !== policy)
      known.decided = { policy, decision: await access.decide(user.sub, known.profile, clientId) }
    return known.decided.decision
  }

  /** Decides as {@link decide} does, and ends the grant of a user who is refused. Also rejects with `StoreUnavailableError`. */
  async enforce(grant: Grant, session: StoredProviderSession): Promise<AccessDecision> {
    const decision = await this.decide(grant, session)
    if (decision.kind === 'denied') {
      const { store, runtime, reportGrantEnd } = this.#ports
      await store.endGrant(grant.id, 'access_rule', runtime.now())
      reportGrantEnd(grant, 'access_rule')
    }
    return decision
  }

  /** As the provider last described them. Rejects with `ProviderError` if `session` does not open. */
  async userOf({ user }: Grant, session: StoredProviderSession): Promise<CurrentUser> {
    return this.#ports.access.describe(user, this.#knownOf(session).profile)
  }

  #knownOf(session: StoredProviderSession): KnownUser {
    const { access, keeper } = this.#ports
    const { grantId, version } = session
    const probed = keeper.claimsOf(session)
    const known = this.#users.get(grantId)
    if (known?.version === version && known.probedAt === probed?.at) return known
    const profile = access.profileOf({ kind: 'session', session: keeper.open(session) }, probed?.claims)
    const user: KnownUser = { version, probedAt: probed?.at, profile }
    this.#users.set(grantId, user)
    return user
  }
}

/** A user's profile for one version of a session, as of one probe, and what the policy in force decides about it. */
interface KnownUser {
  version: number
  probedAt: number | undefined
  profile: Profile
  decided?: { policy: AccessPolicy; decision: AccessDecision }
}
