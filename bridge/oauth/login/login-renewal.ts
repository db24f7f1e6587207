import { within } from '@drawbridge/shared/async.ts'
import type { Credential } from '../../credentials/credential.ts'
import { OAuthFailure } from '../login-port.ts'
import {
  type RefreshNeed,
  type RefreshOutcome,
  type RefreshContext,
  refreshUnderLock,
} from '../tokens/refresh.ts'

/** Limits the wait for an early renewal, since the current tokens still work. */
const earlyWaitMs = 2000
/** The longest pause to wait out; longer ones fail the call with the remaining time. */
const maxWaitMs = 2000
/** Retry period of a call, enough for an authorization server to restart. */
const patienceMs = 5000

/** Dependencies of a {@link LoginRenewal}. `note` receives debug messages. */
type LoginRenewalPorts = Omit<RefreshContext, 'need' | 'maySend'> & { note(text: string): void }

/** Renews the tokens of one process, one request at a time and with pauses. */
export class LoginRenewal {
  readonly #ports: LoginRenewalPorts
  readonly pace: RefreshPace
  #flight: Promise<RefreshOutcome> | undefined
  #isSent = false
  #lastCause: unknown

  constructor(ports: LoginRenewalPorts) {
    this.#ports = ports
    const { runtime } = ports
    this.pace = new RefreshPace(
      () => (runtime.randomBytes(1)[0] ?? 0) / 255,
      () => performance.now(),
    )
  }

  /**
   * Renews expired tokens. Resolves with better ones, with the unchanged login when the user has to sign in, or with
   * undefined when it is gone. Rejects with {@link OAuthFailure}: `unavailable`, or at once `client_refused` when the settings lack
   * what authenticates the client; or with `CredentialError`.
   */
  async renew(credential: Credential, need: 'ended' | 'refused'): Promise<Credential | undefined> {
    const giveUpAt = performance.now() + patienceMs
    for (;;) {
      if (this.#flight === undefined) await this.pause(credential.issuer)
      const outcome = await this.#fly(credential, need)
      if (outcome.kind !== 'unavailable') return outcome.credential
      const isLasting = outcome.cause instanceof OAuthFailure
      if (isLasting || performance.now() > giveUpAt) throw this.#unavailable(credential.issuer)
    }
  }

  /** Tries to renew valid tokens, for 2 seconds at most. Never rejects. */
  async renewEarly(credential: Credential): Promise<Credential | undefined> {
    if (this.#flight === undefined && this.pace.pauseMs() > 0) return credential
    try {
      const outcome = await within(earlyWaitMs, this.#fly(credential, 'early'))
      return outcome === undefined || outcome.kind === 'unavailable' ? credential : outcome.credential
    } catch (error) {
      this.#ports.note(`token renewal (early): ${error instanceof Error ? error.name : 'failed'}`)
      return credential
    }
  }

  /** Waits, or rejects like {@link LoginRenewal.renew}, while the authorization server has asked for a pause. */
  async pause(issuer: string | undefined): Promise<void> {
    const pauseMs = this.pace.pauseMs()
    if (pauseMs > maxWaitMs) throw this.#unavailable(issuer)
    if (pauseMs > 0) await this.#ports.runtime.sleep(pauseMs)
  }

  /** The renewal whose request may be in flight, if any. One still waiting for its lock has nothing to lose. */
  underway(): Promise<unknown> | undefined {
    return this.#isSent ? this.#flight : undefined
  }

  #fly(credential: Credential, need: RefreshNeed): Promise<RefreshOutcome> {
    this.#flight ??= this.#refresh(credential, need).finally(() => {
      this.#flight = undefined
      this.#isSent = false
    })
    return this.#flight
  }

  async #refresh(credential: Credential, need: RefreshNeed): Promise<RefreshOutcome> {
    const maySend = (): boolean => {
      this.#isSent = need !== 'refused' || this.pace.mayFollowRefusal()
      return this.#isSent
    }
    let outcome: RefreshOutcome
    try {
      outcome = await refreshUnderLock(credential, { ...this.#ports, need, maySend })
    } catch (error) {
      this.pace.failed(undefined)
      throw error
    }
    this.#ports.note(`token renewal (${need}): ${outcome.kind}`)
    if (outcome.kind === 'unavailable') {
      this.#lastCause = outcome.cause
      this.pace.failed(outcome.retryAfterSeconds)
    } else {
      this.pace.succeeded()
      if (outcome.kind === 'renewed' && need === 'refused') this.pace.followedRefusal()
    }
    return outcome
  }

  #unavailable(issuer: string | undefined): OAuthFailure {
    const cause = this.#lastCause
    if (cause instanceof OAuthFailure) return cause
    const pauseMs = this.pace.pauseMs()
    const reason = cause instanceof Error ? `: ${cause.message.replace(/\.$/, '')}` : ''
    return new OAuthFailure('unavailable', `The token has expired and cannot be renewed now${reason}.`, {
      cause,
      issuer,
      retryAfterSeconds: pauseMs === 0 ? undefined : Math.ceil(pauseMs / 1000),
    })
  }
}

const maxPauseMs = 60_000

/** A new token may be refused for good reason. Twelve a minute suffice for tokens of five seconds with an unknown expiry. */
const refusalLimits = [
  { max: 5, windowMs: 10_000 },
  { max: 12, windowMs: 60_000 },
] as const

/**
 * Limits how often a process sends requests to an authorization server. Doubles pauses from a second to a minute, each
 * randomized between half and full length. `chance` returns 0 to 1, `clock` milliseconds of a monotonic clock.
 */
export class RefreshPace {
  readonly #chance: () => number
  readonly #clock: () => number
  #failures = 0
  #notBefore = 0
  #followed: number[] = []

  constructor(chance: () => number, clock: () => number) {
    this.#chance = chance
    this.#clock = clock
  }

  /** Returns the remaining pause before the next request, in milliseconds. */
  pauseMs(): number {
    return Math.max(0, this.#notBefore - this.#clock())
  }

  succeeded(): void {
    this.#failures = 0
    this.#notBefore = 0
  }

  /** Records a failure. `retryAfterSeconds` is the pause that the server asked for. */
  failed(retryAfterSeconds: number | undefined): void {
    const pause = Math.min(1000 * 2 ** this.#failures, maxPauseMs)
    this.#failures += 1
    const jittered = pause * (0.5 + this.#chance() / 2)
    this.#notBefore = this.#clock() + Math.max(jittered, (retryAfterSeconds ?? 0) * 1000)
  }

  /** Returns whether a refused token may be renewed: false after too many recent renewals that did not help. */
  mayFollowRefusal(): boolean {
    return refusalLimits.every(({ max, windowMs }) => this.#followedWithin(windowMs).length < max)
  }

  /** Counts a refused token that was renewed. Unanswered requests do not count: the pauses are enough for those. */
  followedRefusal(): void {
    this.#followed = [...this.#followedWithin(60_000), this.#clock()]
  }

  #followedWithin(windowMs: number): number[] {
    const since = this.#clock() - windowMs
    return this.#followed.filter((at) => at > since)
  }
}
