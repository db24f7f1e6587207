import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
  type SessionLife,
  type SessionProbe,
} from '../../../../server/core/session/session-provider.ts'
import type { FakeRuntime } from '../fake-runtime.ts'

/** Issuer of every {@link RotatingProvider}. */
export const providerIssuer = 'https://provider.example/auth/v1'

export interface ProviderFault {
  /** Runs before the provider sees the call. */
  before?: () => Promise<void> | void
  /** Runs after the call has taken effect, before its answer arrives. */
  after?: () => Promise<void> | void
}

/** A {@link RotatingProvider}'s rule for refresh tokens. */
export interface RotationRule {
  /**
   * Strictly one-time tokens, as some OpenID providers have. Otherwise the parent of the active token is forgiven, as
   * by Supabase Auth. Any other token ends the session.
   */
  strict: boolean
  idToken?: string
}

/** One session at a provider that rotates refresh tokens. */
export interface RotatingProvider {
  refresh(session: ProviderSession): Promise<ProviderSession>
  /** Returns `live` until the session is gone. */
  probe(session: Pick<ProviderSession, 'accessToken'>): Promise<SessionProbe>
  signOut(session: ProviderSession): Promise<void>
  /** Returns the session as signed in: its refresh token is the active one. */
  signedIn(): ProviderSession
  presented: string[]
  given: ProviderSession[]
  probed: string[]
  rotations(): number
  /** Returns the active token; undefined when the session is gone. */
  active(): string | undefined
  end(): void
  /** Applies the faults one by one, each to one refresh. */
  play(...faults: ProviderFault[]): void
  /** Replaces the answers to the next probes. */
  playProbe(...answers: (() => SessionLife | Promise<SessionLife>)[]): void
  /** Applies the faults one by one, each to one sign-out. */
  playSignOut(...faults: ProviderFault[]): void
  /** Sets the lifetime in seconds of tokens issued from now on. */
  setTtl(seconds: number): void
}

/**
 * Creates a provider session whose refresh tokens are `refresh 1`, `refresh 2` and so on; access tokens last an hour.
 */
export function createRotatingProvider(
  runtime: FakeRuntime,
  rule: RotationRule = { strict: false },
): RotatingProvider {
  let generation = 1
  let gone = false
  let ttl = 3600
  const faults: ProviderFault[] = []
  const probeAnswers: (() => SessionLife | Promise<SessionLife>)[] = []
  const signOutFaults: ProviderFault[] = []
  const given: ProviderSession[] = []
  const presented: string[] = []
  const probed: string[] = []

  const session = (): ProviderSession => ({
    accessToken: `access ${generation}`,
    refreshToken: `refresh ${generation}`,
    expiresAt: runtime.now() + ttl,
    ...(rule.idToken !== undefined && { idToken: rule.idToken }),
  })

  function rotate(refreshToken: string): ProviderSession {
    const behind = generation - Number(/^refresh (\d+)$/.exec(refreshToken)?.[1])
    if (gone || !(behind === 0 || (behind === 1 && !rule.strict))) {
      gone = true
      throw new ProviderError('terminal', 'Already used')
    }
    if (behind === 0) generation += 1
    return session()
  }

  return {
    given,
    presented,
    probed,
    async refresh(whole) {
      const fault = faults.shift()
      given.push(whole)
      presented.push(whole.refreshToken)
      await fault?.before?.()
      const answer = rotate(whole.refreshToken)
      await fault?.after?.()
      return answer
    },
    async probe({ accessToken }) {
      probed.push(accessToken)
      const answer = probeAnswers.shift()
      return { life: answer ? await answer() : gone ? 'ended' : 'live' }
    },
    async signOut({ expiresAt }) {
      const fault = signOutFaults.shift()
      await fault?.before?.()
      if (expiresAt <= runtime.now()) throw new ProviderError('invalid_token', 'Expired')
      gone = true
      await fault?.after?.()
    },
    signedIn: session,
    rotations: () => generation - 1,
    active: () => (gone ? undefined : `refresh ${generation}`),
    end() {
      gone = true
    },
    play: (...next) => void faults.push(...next),
    playProbe: (...next) => void probeAnswers.push(...next),
    playSignOut: (...next) => void signOutFaults.push(...next),
    setTtl(seconds) {
      ttl = seconds
    },
  }
}

/** Creates a fault that fails with `failure` before the provider did anything. */
export function failing(failure: ProviderFailure, retryAfterSeconds?: number): ProviderFault {
  return {
    before() {
      throw new ProviderError(failure, failure, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
    },
  }
}

/** A fault with which the provider refuses this one session, using an unknown code. */
export const refusing: ProviderFault = {
  before() {
    throw new ProviderError('transient', 'Refused with 400 something_new.', { refused: 'by_code' })
  },
}

/** The request takes effect, but its answer is lost. */
export const lostReply: ProviderFault = {
  after() {
    throw new ProviderError('transient', 'The connection broke.', { outcomeKnown: false })
  },
}
