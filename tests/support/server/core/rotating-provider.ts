import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
  type SessionLife,
  type SessionProbe,
} from '../../../../server/core/session/session-provider.ts'
import type { FakeRuntime } from '../fake-runtime.ts'

/** The issuer of every {@link RotatingProvider}. */
export const providerIssuer = 'https://provider.example/auth/v1'

/** What happens to one call instead of a plain answer. */
export interface ProviderFault {
  /** Before the provider has seen the call. */
  before?: () => Promise<void> | void
  /** After it has done what was asked, before its answer arrives. */
  after?: () => Promise<void> | void
}

/** How a {@link RotatingProvider} deals with refresh tokens. */
export interface RotationRule {
  /**
   * One-time tokens without exception, as some OpenID providers have. Otherwise the parent of the active token is
   * forgiven, as by Supabase Auth. Whatever else is presented ends the session.
   */
  strict: boolean
  /** Put into every session. */
  idToken?: string
}

/** One session at a provider that rotates refresh tokens. */
export interface RotatingProvider {
  refresh(session: ProviderSession): Promise<ProviderSession>
  /** `live` until the session is gone. */
  probe(accessToken: string): Promise<SessionProbe>
  /** Ends the session. Refuses an access token that has expired with `invalid_token`. */
  signOut(session: ProviderSession): Promise<void>
  /** The session as signed in: its refresh token is the active one. */
  signedIn(): ProviderSession
  /** Every refresh token presented, in order. */
  presented: string[]
  /** Every session given to `refresh`, in order. */
  given: ProviderSession[]
  /** Every access token probed, in order. */
  probed: string[]
  /** How often a token was really rotated. */
  rotations(): number
  /** The token that is active now; undefined when the session is gone. */
  active(): string | undefined
  /** The user signs out, or is banned. */
  end(): void
  /** Plays the faults one by one, each on one refresh. */
  play(...faults: ProviderFault[]): void
  /** Answers the next probes with these instead. */
  playProbe(...answers: (() => SessionLife | Promise<SessionLife>)[]): void
  /** Plays the faults one by one, each on one sign-out. */
  playSignOut(...faults: ProviderFault[]): void
  /** Life of the tokens issued from now on, seconds. */
  setTtl(seconds: number): void
}

/** A provider session whose refresh tokens are `refresh 1`, `refresh 2` and so on; access tokens last an hour. */
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
    async probe(accessToken) {
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

/** A fault that fails with `failure`, before the provider did anything. */
export function failing(failure: ProviderFailure, retryAfterSeconds?: number): ProviderFault {
  return {
    before() {
      throw new ProviderError(failure, failure, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
    },
  }
}

/** A fault by which the provider refuses this one session with a code that nobody knows. */
export const refusing: ProviderFault = {
  before() {
    throw new ProviderError('transient', 'Refused with 400 something_new.', { refused: true })
  },
}

/** The provider does what was asked, and its answer never arrives. */
export const lostReply: ProviderFault = {
  after() {
    throw new ProviderError('transient', 'The connection broke.', { outcomeKnown: false })
  },
}
