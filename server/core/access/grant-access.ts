import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type {
  CurrentUser,
  Grant,
  GrantStore,
  ReportGrantEnd,
  StoredProviderSession,
} from '../session/grant.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { createBoundedMap } from '../bounded-map.ts'
import {
  type Profile,
  ProviderError,
  type ProviderSession,
  type SessionProvider,
} from '../session/session-provider.ts'
import type { AccessControl } from './access-control.ts'
import { type AccessDecision, fullAccess } from './access-rules.ts'

/** Dependencies of {@link GrantAccess}. */
export interface GrantAccessPorts {
  control: AccessControl
  keeper: Pick<SessionKeeper, 'open' | 'claimsOf'>
  provider: Pick<SessionProvider, 'profileOf'>
  store: Pick<GrantStore, 'endGrant'>
  runtime: Pick<Runtime, 'now'>
  reportGrantEnd: ReportGrantEnd
}

const maxProfiles = 10_000

/** Decides about users with a grant by the current claims of their provider session. */
export class GrantAccess {
  readonly #ports: GrantAccessPorts
  // Decrypting and reading a session on every call would cost more than all rules.
  readonly #profiles = createBoundedMap<KnownProfile>(maxProfiles)

  constructor(ports: GrantAccessPorts) {
    this.#ports = ports
  }

  /** Decides as {@link AccessControl.decide} does. Rejects with `ProviderError`, also when no key of the ring opens `session`. */
  async decide({ user }: Grant, session: StoredProviderSession): Promise<AccessDecision> {
    const { control } = this.#ports
    return control.hasRules ? control.decide(user.sub, this.#profileOf(session)) : fullAccess
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

  /**
   * Returns the user of a grant as the provider last described them. Rejects with `ProviderError` when no key of the ring opens
   * `session`.
   */
  async userOf({ user }: Grant, session: StoredProviderSession): Promise<CurrentUser> {
    return this.#ports.control.describe(user, this.#profileOf(session))
  }

  #profileOf(session: StoredProviderSession): Profile {
    const { keeper, provider } = this.#ports
    const { grantId, version } = session
    const probed = keeper.claimsOf(session)
    const known = this.#profiles.get(grantId)
    if (known?.version === version && known.probedAt === probed?.at) return known.profile
    const opened = openOrUnavailable(() => keeper.open(session))
    const profile = provider.profileOf({ kind: 'session', session: opened }, probed?.claims)
    this.#profiles.set(grantId, { version, probedAt: probed?.at, profile })
    return profile
  }
}

/** Reports a session that no key opens as unavailable: a later key may open it, so nothing is decided about its user. */
function openOrUnavailable(open: () => ProviderSession): ProviderSession {
  try {
    return open()
  } catch (cause) {
    throw new ProviderError('transient', 'The session of the grant cannot be opened.', { cause })
  }
}

/** A user's profile for one version of a session, as of one probe. */
interface KnownProfile {
  version: number
  probedAt: number | undefined
  profile: Profile
}
