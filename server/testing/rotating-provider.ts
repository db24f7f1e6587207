import { ProviderError, type ProviderSession } from '../core/session-provider.ts'
import type { FakeRuntime } from './fake-runtime.ts'

/** What happens to one refresh instead of a plain answer. */
export interface RefreshFault {
  /** Before the provider has seen the token. */
  before?: () => Promise<void> | void
  /** After it has rotated, before its answer arrives. */
  after?: () => Promise<void> | void
}

/** One session at a provider that rotates as Supabase Auth does: the parent of the active token is forgiven, no other. */
export interface RotatingProvider {
  refresh(refreshToken: string): Promise<ProviderSession>
  /** The session as signed in: its refresh token is the active one. */
  signedIn(): ProviderSession
  /** Every token presented, in order. */
  presented: string[]
  /** How often a token was really rotated. */
  rotations(): number
  /** The token that is active now; undefined when the session is gone. */
  active(): string | undefined
  /** Plays the faults one by one, each on one refresh. */
  play(...faults: RefreshFault[]): void
  /** Life of the tokens issued from now on, seconds. */
  setTtl(seconds: number): void
}

/** A provider session whose refresh tokens are `refresh 1`, `refresh 2` and so on; access tokens last an hour. */
export function createRotatingProvider(runtime: FakeRuntime): RotatingProvider {
  let generation = 1
  let gone = false
  let ttl = 3600
  const faults: RefreshFault[] = []
  const presented: string[] = []
  const session = (): ProviderSession => ({
    accessToken: `access ${generation}`,
    refreshToken: `refresh ${generation}`,
    expiresAt: runtime.now() + ttl,
  })
  return {
    presented,
    async refresh(refreshToken) {
      const fault = faults.shift()
      presented.push(refreshToken)
      await fault?.before?.()
      const behind = generation - Number(/^refresh (\d+)$/.exec(refreshToken)?.[1])
      if (gone || !(behind === 0 || behind === 1)) {
        gone = true
        throw new ProviderError('terminal', 'Already used')
      }
      if (behind === 0) generation += 1
      const answer = session()
      await fault?.after?.()
      return answer
    },
    signedIn: session,
    rotations: () => generation - 1,
    active: () => (gone ? undefined : `refresh ${generation}`),
    play: (...next) => void faults.push(...next),
    setTtl(seconds) {
      ttl = seconds
    },
  }
}

/** A fault that fails with `failure`, before anything was rotated. */
export function failing(
  failure: ConstructorParameters<typeof ProviderError>[0],
  retryAfterSeconds?: number,
): RefreshFault {
  return {
    before() {
      throw new ProviderError(failure, failure, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
    },
  }
}

/** The provider rotates, and its answer never arrives. */
export const lostReply: RefreshFault = {
  after() {
    throw new ProviderError('transient', 'The connection broke.')
  },
}
