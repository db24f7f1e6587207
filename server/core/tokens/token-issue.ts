import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, MintedTokens } from '../session/grant.ts'
import { hashSecret } from '../seal.ts'

/** Prefix of all our access tokens: routes them to the store, and lets secret scanners find a leaked one. */
export const accessTokenPrefix = 'mcpa_'

export const refreshTokenPrefix = 'mcpr_'

// Epoch seconds in base 36: enough for two thousand years.
const timeLength = 7
const issuedToken = /^mcp[ar]_([0-9a-z]{7})(?:[A-Za-z0-9_-]{22})?[A-Za-z0-9_-]{43}$/
const familyToken = /^mcpr_[0-9a-z]{7}([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/

/** A plain token pair, as sent to the client once. `expiresAt` is the access token's expiry, epoch seconds. */
export interface TokenPair {
  accessToken: string
  refreshToken: string | undefined
  scope: string
  expiresAt: number
}

/** Successful response of the token endpoint (RFC 6749 section 5.1). */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
  refresh_token?: string
}

/**
 * Returns the key a token is stored under: the issue time it contains, then its SHA-256. So keys of tokens issued together are
 * adjacent, and a store of a million connections is as fast as a small one. The time is not trusted: another one with the same
 * secret is another token.
 */
export function tokenKey(token: string): string {
  const time = issuedToken.exec(token)?.[1]
  return time === undefined ? hashSecret(token) : `${time}.${hashSecret(token)}`
}

/** Returns the issue time encoded in `token`; undefined for tokens of other issuers. Trust it only for a token found in the store. */
export function issueTimeOf(token: string): number | undefined {
  const time = issuedToken.exec(token)?.[1]
  return time === undefined ? undefined : Number.parseInt(time, 36)
}

/** Draws the 128 random bits that all refresh tokens of one grant share. */
export function createFamily({ randomBytes }: Pick<Runtime, 'randomBytes'>): string {
  return encodeBase64url(randomBytes(16))
}

/** Only holders of a token of the grant know it: one that is not stored was used and purged, or forged from a real one. */
export function familyOf(refreshToken: string): string | undefined {
  return familyToken.exec(refreshToken)?.[1]
}

/** 256 random bits each. None outlives the grant. Without a `family` there is no refresh token. */
export function mintTokens(
  grant: Grant,
  scope: string,
  family: string | undefined,
  accessTokenTtlSeconds: number,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): { pair: TokenPair; minted: MintedTokens } {
  const time = runtime.now().toString(36).padStart(timeLength, '0')
  const mint = (prefix: string): string => prefix + encodeBase64url(runtime.randomBytes(32))
  const accessToken = mint(accessTokenPrefix + time)
  const refreshToken = family && mint(refreshTokenPrefix + time + family)
  const expiresAt = Math.min(runtime.now() + accessTokenTtlSeconds, grant.expiresAt)
  return {
    pair: { accessToken, refreshToken, scope, expiresAt },
    minted: {
      scope,
      accessHash: tokenKey(accessToken),
      accessExpiresAt: expiresAt,
      refreshHash: refreshToken && tokenKey(refreshToken),
    },
  }
}

// Clients count from the arrival of the response, the server in whole seconds from before it. Without a margin clients would
// present tokens that have just expired, and Python clients react to the 401 with a new sign-in instead of a refresh.
const maxMarginSeconds = 10

/** `expires_in` counts from this response, even for a replayed pair, and is a tenth less than the remaining time, at most ten seconds less. */
export function tokenResponse(pair: TokenPair, now: number): TokenResponse {
  const left = Math.max(0, pair.expiresAt - now)
  return {
    access_token: pair.accessToken,
    token_type: 'Bearer',
    expires_in: left - Math.min(maxMarginSeconds, Math.floor(left / 10)),
    scope: pair.scope,
    ...(pair.refreshToken !== undefined && { refresh_token: pair.refreshToken }),
  }
}

/** Result of redeeming a code or a refresh token: the response for the client, and its grant. */
export interface IssuedTokens {
  grant: Grant
  response: TokenResponse
}
