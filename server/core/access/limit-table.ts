import type { Rate } from './rate-limit.ts'

/** A maximum number of attempts per window. */
export interface Budget {
  max: number
  windowSeconds: number
}

/** What may be attempted of one kind: by one address, and by everybody together. */
export interface AttemptRule {
  kind: string
  perAddress: Budget
  everyone: Budget
}

/** Devices that are started (RFC 8628 section 3.1). Each is a row for an hour. */
export const deviceStarts: AttemptRule = {
  kind: 'device start',
  perAddress: { max: 30, windowSeconds: 600 },
  everyone: { max: 3000, windowSeconds: 600 },
}

/**
 * User codes that are entered, right or wrong, counted before the code is looked up: otherwise the right one would get
 * through after any number of attempts. A code has 34 random bits and lives for 15 minutes. With a thousand devices waiting,
 * all addresses together guess one of them within one of 40 thousand windows (RFC 8628 section 5.1).
 */
export const userCodes: AttemptRule = {
  kind: 'device code',
  perAddress: { max: 10, windowSeconds: 600 },
  everyone: { max: 600, windowSeconds: 600 },
}

/**
 * Sign-ins in a minute, with `max` for everybody: half of them from one site, which is more than one person needs. This
 * protects the rate limit that the provider has for this server as a whole, so successful calls count too.
 */
export const signInsOfMinute = (max: number): AttemptRule => ({
  kind: 'sign-in',
  perAddress: { max: max / 2, windowSeconds: 60 },
  everyone: { max, windowSeconds: 60 },
})

/** Guesses in an hour from one address and one site, in minutes of the limit for everybody. */
export const signInGuesses = { addressMinutes: 3, siteMinutes: 12, windowSeconds: 3600 }

/** Guesses on one account from browsers that are new to it, and from each that knows it. */
export const accountGuesses: Budget = { max: 10, windowSeconds: 900 }
/** Half, so that one site alone cannot use up the guesses on an account. */
export const accountGuessesAtSite: Budget = { max: 5, windowSeconds: 900 }

/**
 * Registrations, in multiples of the configured limit for one address. All users of a hosted assistant register from few
 * addresses; behind an untrusted proxy the unknown address is everybody's.
 */
export const registrations = { windowSeconds: 3600, hostedFactor: 10, unknownFactor: 100 }

/** How many fetches there may be: at the same moment, in a minute, and in a minute to one host. */
export interface FetchBudget {
  concurrent: number
  perMinute: number
  perHostPerMinute: number
}

/** Fetches of client documents and keys by one process: for everybody together, and for one address. */
export interface FetchLimits {
  everyone: FetchBudget
  perAddress: FetchBudget
}

/** Enough for thousands of people signing in, and far below what a host would notice as an attack. */
export const clientFetches: FetchLimits = {
  everyone: { concurrent: 16, perMinute: 240, perHostPerMinute: 30 },
  perAddress: { concurrent: 4, perMinute: 20, perHostPerMinute: 10 },
}

/**
 * Refreshes of one grant: 20 at once and one every ten seconds, or more where access tokens last less than five minutes.
 * Counted in one process: what a refresh stores is collected again, so with several instances a loop fills the store a few
 * times over, not without end.
 */
export const refreshesOfGrant = (accessTokenTtlSeconds: number): Rate => ({
  burst: 20,
  perSecond: Math.max(1 / 10, 30 / accessTokenTtlSeconds),
})

/**
 * Requests that are refused, by one address and by everybody. Generous: the users of a hosted assistant or an office share
 * an address, and a misconfigured client probes for a while. Refusing what all may cause costs about a fifth of a processor.
 */
export const refusals: { perAddress: Rate; everyone: Rate } = {
  perAddress: { burst: 200, perSecond: 50 },
  everyone: { burst: 2000, perSecond: 1000 },
}
/** The same for token requests: a refresh token is in the body, so a good request is not known before it is judged. */
export const tokenRefusals: { perAddress: Rate; everyone: Rate } = {
  perAddress: { burst: 500, perSecond: 250 },
  everyone: { burst: 2000, perSecond: 1000 },
}

/** The fraction of a limit for everybody, as a divisor, that is reserved for known visitors. */
export const knownShare = 3
/** The most that one site may use, as a divisor. */
const siteShare = 2

/** What unknown visitors may use of `everyone`. */
export function strangersShare(everyone: number): number {
  return everyone - Math.floor(everyone / knownShare)
}

/** What one site may use of `everyone`. */
export function siteMax(everyone: number): number {
  return everyone / siteShare
}

/** What a block of addresses may do that counts as `factor` addresses: at least one attempt, at most `ceiling`. */
export function blockMax(perAddress: number, factor: number, ceiling: number): number {
  return Math.max(1, Math.floor(Math.min(perAddress * factor, ceiling)))
}
