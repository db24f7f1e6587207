import type { AttemptRule } from './attempt-limit.ts'

/** Devices that are started (RFC 8628 section 3.1). Each is a row for an hour. */
export const deviceStarts: AttemptRule = {
  kind: 'device start',
  perAddress: { most: 30, windowSeconds: 600 },
  everyone: { most: 3000, windowSeconds: 600 },
}

/**
 * User codes that somebody enters, counted before anybody looks for them, right or wrong: otherwise the right one would come
 * through however many were tried before. A code has 34 random bits and lives for 15 minutes. With a thousand devices waiting,
 * all addresses together guess one of them within one of 40 thousand windows (RFC 8628 section 5.1).
 */
export const userCodes: AttemptRule = {
  kind: 'device code',
  perAddress: { most: 10, windowSeconds: 600 },
  everyone: { most: 600, windowSeconds: 600 },
}

/**
 * Sign-ins in a minute, with `most` for everybody: half of them from one site, which is more than one person needs. What is
 * protected is the rate limit that the provider has for this server as a whole, so every call counts, also a good one.
 */
export const signInsOfMinute = (most: number): AttemptRule => ({
  kind: 'sign-in',
  perAddress: { most: most / 2, windowSeconds: 60 },
  everyone: { most, windowSeconds: 60 },
})
