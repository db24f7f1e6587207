import type { LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import { OAuthFailure } from '../login-port.ts'
import { within } from '../wait.ts'
import { createRefreshPace } from '../tokens/refresh-pace.ts'
import {
  type RefreshNeed,
  type RefreshOutcome,
  type RefreshTurnPorts,
  refreshUnderLock,
} from '../tokens/refresh.ts'

/** How long a call waits for tokens that are renewed early: it could go on with those there are. */
const earlyWaitMs = 2000
/** A pause of this length is waited for; before a longer one the call fails, and says how long. */
const maxWaitMs = 2000
/** So long a call tries again: an authorization server that is started anew is back by then. */
const patienceMs = 5000

/** How one process renews tokens: one request at a time, and none too soon. */
interface LoginRenewal {
  /**
   * For tokens that have ended. Resolves with better ones, with the login as it is when only a person can go on, or with
   * undefined when it is gone. Rejects with {@link OAuthFailure} `unavailable`, or with `CredentialError`.
   */
  renew(credential: Credential, need: 'ended' | 'refused'): Promise<Credential | undefined>
  /** For tokens that are still good: within 2 seconds, renewed or not. Never rejects. */
  renewEarly(credential: Credential): Promise<Credential | undefined>
  /** Rejects like {@link LoginRenewal.renew} while the authorization server has to be left alone. */
  pause(issuer: string | undefined): Promise<void>
  failed(): void
  /** Whether refused tokens may be replaced. Not if that has helped nothing too often of late. */
  mayFollowRefusal(): boolean
  /** Counts refused tokens that were replaced in another way than by {@link LoginRenewal.renew}. */
  followedRefusal(): void
  /** The renewal whose request may be on the wire, if any. One that still waits for its lock has nothing to lose. */
  underway(): Promise<unknown> | undefined
}

/** `note` is told of what goes on, for a person who debugs. */
export function createLoginRenewal(
  id: LoginId,
  ports: Omit<RefreshTurnPorts, 'maySend'> & { note(text: string): void },
): LoginRenewal {
  const { runtime, note } = ports
  const pace = createRefreshPace(
    () => (runtime.randomBytes(1)[0] ?? 0) / 255,
    () => performance.now(),
  )
  let flight: Promise<RefreshOutcome> | undefined
  let lastCause: unknown
  let isSent = false

  function fly(credential: Credential, need: RefreshNeed): Promise<RefreshOutcome> {
    flight ??= refresh(credential, need).finally(() => {
      flight = undefined
      isSent = false
    })
    return flight
  }

  async function refresh(credential: Credential, need: RefreshNeed): Promise<RefreshOutcome> {
    let outcome: RefreshOutcome
    try {
      outcome = await refreshUnderLock(id, credential, need, { ...ports, maySend })
    } catch (error) {
      pace.failed(undefined)
      throw error
    }
    note(`token renewal (${need}): ${outcome.kind}`)
    if (outcome.kind === 'unavailable') {
      lastCause = outcome.cause
      pace.failed(outcome.retryAfterSeconds)
    } else {
      pace.succeeded()
      if (outcome.kind === 'renewed' && need === 'refused') pace.followedRefusal()
    }
    return outcome
  }

  function maySend(need: RefreshNeed): boolean {
    isSent = need !== 'refused' || pace.mayFollowRefusal()
    return isSent
  }

  function unavailable(issuer: string | undefined): OAuthFailure {
    const pauseMs = pace.pauseMs()
    const reason = lastCause instanceof Error ? `: ${lastCause.message.replace(/\.$/, '')}` : ''
    return new OAuthFailure('unavailable', `The token has ended and cannot be renewed now${reason}.`, {
      cause: lastCause,
      ...(issuer === undefined ? {} : { issuer }),
      ...(pauseMs === 0 ? {} : { retryAfterSeconds: Math.ceil(pauseMs / 1000) }),
    })
  }

  async function pause(issuer: string | undefined): Promise<void> {
    const pauseMs = pace.pauseMs()
    if (pauseMs > maxWaitMs) throw unavailable(issuer)
    if (pauseMs > 0) await runtime.sleep(pauseMs)
  }

  return {
    async renew(credential, need) {
      const giveUpAt = performance.now() + patienceMs
      for (;;) {
        if (flight === undefined) await pause(credential.issuer)
        const outcome = await fly(credential, need)
        if (outcome.kind !== 'unavailable') return outcome.credential
        if (performance.now() > giveUpAt) throw unavailable(credential.issuer)
      }
    },
    async renewEarly(credential) {
      if (flight === undefined && pace.pauseMs() > 0) return credential
      try {
        const outcome = await within(earlyWaitMs, fly(credential, 'early'))
        return outcome === undefined || outcome.kind === 'unavailable' ? credential : outcome.credential
      } catch (error) {
        note(`token renewal (early): ${error instanceof Error ? error.name : 'failed'}`)
        return credential
      }
    },
    pause,
    failed: () => pace.failed(undefined),
    mayFollowRefusal: pace.mayFollowRefusal,
    followedRefusal: pace.followedRefusal,
    underway: () => (isSent ? flight : undefined),
  }
}
