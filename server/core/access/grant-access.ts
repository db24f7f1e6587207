import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, GrantStore, ReportGrantEnd, StoredProviderSession } from '../session/grant.ts'
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

/** What {@link GrantAccess} needs from outside. */
export interface GrantAccessPorts {
  control: AccessControl
  keeper: Pick<SessionKeeper, 'open' | 'claimsOf'>
  provider: Pick<SessionProvider, 'profileOf'>
  store: Pick<GrantStore, 'endGrant'>
  runtime: Pick<Runtime, 'now'>
  reportGrantEnd: ReportGrantEnd
}

const maxProfiles = 10_000

/** Decides about people who have signed in before, by what their provider session says about them now. */
export class GrantAccess {
  readonly #ports: GrantAccessPorts
  // Opening and reading a session on every call would cost more than all rules.
  readonly #profiles = createBoundedMap<KnownProfile>(maxProfiles)

  constructor(ports: GrantAccessPorts) {
    this.#ports = ports
  }

  /** Rejects with `ProviderError`, as {@link AccessControl.decide}, and when no key of the ring opens `session`. */
  async decide({ user }: Grant, session: StoredProviderSession): Promise<AccessDecision> {
    const { control } = this.#ports
    return control.hasRules ? control.decide(user.sub, this.#profileOf(session)) : fullAccess
  }

  /** As {@link decide}; ends the grant of somebody who may not come in any more. Rejects with `StoreUnavailableError` too. */
  async enforce(grant: Grant, session: StoredProviderSession): Promise<AccessDecision> {
    const decision = await this.decide(grant, session)
    if (decision.kind === 'denied') {
      const { store, runtime, reportGrantEnd } = this.#ports
      await store.endGrant(grant.id, 'access_rule', runtime.now())
      reportGrantEnd(grant, 'access_rule')
    }
    return decision
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

/** A session that no key opens now may be opened later: nothing can be said about its person. */
function openOrUnavailable(open: () => ProviderSession): ProviderSession {
  try {
    return open()
  } catch (cause) {
    throw new ProviderError('transient', 'The session of the grant cannot be opened.', { cause })
  }
}

/** The person of one version of a session, as of a probe. */
interface KnownProfile {
  version: number
  probedAt: number | undefined
  profile: Profile
}
