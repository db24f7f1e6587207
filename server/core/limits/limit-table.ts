import type { Rate } from './rate-limit.ts'

export interface Budget {
  max: number
  windowSeconds: number
}

/** Limits on one kind of attempt: per address, and for all sources together. */
export interface AttemptRule {
  kind: string
  perAddress: Budget
  everyone: Budget
}

/** Limits device authorization requests (RFC 8628 section 3.1). Each stores a row for an hour. */
export const deviceStarts: AttemptRule = {
  kind: 'device start',
  perAddress: { max: 30, windowSeconds: 600 },
  everyone: { max: 3000, windowSeconds: 600 },
}

/**
 * Limits user codes entered, right or wrong, counted before the lookup: otherwise the right one would succeed after any number of
 * attempts. A code has 34 random bits and lives for 15 minutes. With a thousand pending devices, all addresses together guess one
 * of their codes in one of 40 thousand windows (RFC 8628 section 5.1).
 */
export const userCodes: AttemptRule = {
  kind: 'device code',
  perAddress: { max: 10, windowSeconds: 600 },
  everyone: { max: 600, windowSeconds: 600 },
}

/** One site may use half of `max`. Protects the provider's limit for this server, so successful sign-ins count too. */
export const signInsOfMinute = (max: number): AttemptRule => ({
  kind: 'sign-in',
  perAddress: { max: max / 2, windowSeconds: 60 },
  everyone: { max, windowSeconds: 60 },
})

/** Limits wrong guesses per hour from one address and one site, in minutes' worth of the total limit. */
export const signInGuesses = { addressMinutes: 3, siteMinutes: 12, windowSeconds: 3600 }

/** Limits guesses on one account, for all new browsers together and for each browser that knows it. */
export const accountGuesses: Budget = { max: 10, windowSeconds: 900 }
/** Half, so that one site alone cannot use up the guesses on an account. */
export const accountGuessesAtSite: Budget = { max: 5, windowSeconds: 900 }

/** Limits the sign-ins with one proof of the web app, each of which can cost several calls to the provider. A proof cannot be guessed. */
export const signInsWithProof: Budget = { max: 10, windowSeconds: 60 }

/** Limits the tokens of one service, each of which is a row of the store for an hour. */
export const tokensOfService: Budget = { max: 60, windowSeconds: 60 }

/** Limits mails with a code or a link. Each costs the project a part of its quota, and its reader attention. */
export const emailSends = {
  kind: 'sign-in mail',
  perAddress: { max: 10, windowSeconds: 3600 } satisfies Budget,
  maxPerSite: 300,
}

/**
 * Limits the calls of one kind that the provider counts for this server as a whole: GoTrue takes thirty in five minutes for mails, for
 * their codes and for single sign-on, each. Operators who raise that also raise the sign-ins of a minute.
 */
export const providerCalls = (signInsPerMinute: number): Budget => ({
  max: Math.max(28, Math.floor(1.4 * signInsPerMinute)),
  windowSeconds: 300,
})

/** Limits wrong codes of mails to one account: as many mails as it may get in a day are good for 600 guesses. */
export const emailCodesOfDay: Budget = { max: 100, windowSeconds: 86_400 }

export const emailSendsOfAccount: Budget = { max: 5, windowSeconds: 3600 }
/** The default pause of GoTrue. */
export const emailPause: Budget = { max: 1, windowSeconds: 60 }

/** In multiples of the limit per address: a hosted assistant's users share few; behind an untrusted proxy all are unknown. */
export const registrations = { windowSeconds: 3600, hostedFactor: 10, unknownFactor: 100 }

/** Bytes of a message at `/mcp` that cost as much as one call. */
export const bytesOfCall: number = 64 * 1024

/** In multiples of one user's calls: for unknown addresses, and for all such callers. Users keep the rest. */
export const callsWithoutCredential = { unknownFactor: 16, everyoneFactor: 32 }

/**
 * Bytes of steps of clients that connect, which are kept for a day: for one address about 90 steps at once, then one every ten
 * seconds. Steps after a sign-in are always kept.
 */
export const attemptBytes: { perAddress: Rate; everyone: Rate } = {
  perAddress: { burst: 32 * 1024, perSecond: 32 },
  everyone: { burst: 1024 * 1024, perSecond: 512 },
}

export interface FetchBudget {
  concurrent: number
  perMinute: number
  perHostPerMinute: number
}

/** Limits on one process's fetches of client documents and keys: in total, and caused by one address. */
export interface FetchLimits {
  everyone: FetchBudget
  perAddress: FetchBudget
}

/** Allows thousands of users to sign in, and stays far below what a host would treat as an attack. */
export const clientFetches: FetchLimits = {
  everyone: { concurrent: 16, perMinute: 240, perHostPerMinute: 30 },
  perAddress: { concurrent: 4, perMinute: 20, perHostPerMinute: 10 },
}

/**
 * Limits refreshes of one grant: a burst of 20, then one every ten seconds, or more often if access tokens live less than five
 * minutes. Counted per process: stored refreshes are purged, so with several instances a loop multiplies the rows by a small factor
 * only.
 */
export const refreshesOfGrant = (accessTokenTtlSeconds: number): Rate => ({
  burst: 20,
  perSecond: Math.max(1 / 10, 30 / accessTokenTtlSeconds),
})

/** Generous: a hosted assistant's or an office's users share an address. Refusing the total costs about a fifth of a processor. */
export const refusals: { perAddress: Rate; everyone: Rate } = {
  perAddress: { burst: 200, perSecond: 50 },
  everyone: { burst: 2000, perSecond: 1000 },
}
/** The refresh token is in the body: a valid request cannot be recognized before it is processed. */
export const tokenRefusals: { perAddress: Rate; everyone: Rate } = {
  perAddress: { burst: 500, perSecond: 250 },
  everyone: { burst: 2000, perSecond: 1000 },
}

/** Limits the questions of one process to the provider about tokens that the process cannot verify by itself. */
export const questionsAboutTokens: Rate = { burst: 30, perSecond: 3 }

/** Divisor: the share of a total limit reserved for known visitors. */
export const knownShare = 3
/** Divisor: the maximum share of one site. */
const siteShare = 2

/** Returns the share of `everyone` open to unknown visitors. */
export function strangersShare(everyone: number): number {
  return everyone - Math.floor(everyone / knownShare)
}

/** The share of `everyone` open to one site. */
export function siteMax(everyone: number): number {
  return everyone / siteShare
}

/** Returns the limit of an address block that counts as `factor` addresses: at least one attempt, at most `ceiling`. */
export function blockMax(perAddress: number, factor: number, ceiling: number): number {
  return Math.max(1, Math.floor(Math.min(perAddress * factor, ceiling)))
}
