import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, MintedTokens } from '../session/grant.ts'
import { hashSecret } from '../seal.ts'
import type { Client } from '../clients/client.ts'

/** What every access token of ours starts with: routes it to the store, and lets secret scanners find a leaked one. */
export const accessTokenPrefix = 'mcpa_'

/** What every refresh token of ours starts with. */
export const refreshTokenPrefix = 'mcpr_'

// Epoch seconds in base 36: enough for two thousand years.
const timeLength = 7
const issuedToken = /^mcp[ar]_([0-9a-z]{7})(?:[A-Za-z0-9_-]{22})?[A-Za-z0-9_-]{43}$/
const familyToken = /^mcpr_[0-9a-z]{7}([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/

/** A token pair in the clear, as it goes to the client once. `expiresAt` is the access token's end, epoch seconds. */
export interface TokenPair {
  accessToken: string
  refreshToken: string | undefined
  scope: string
  expiresAt: number
}

/** Successful answer of the token endpoint (RFC 6749 section 5.1). */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
  refresh_token?: string
}

/**
 * Under what a token is stored: its SHA-256, behind the time of issue that it carries. So keys of tokens that were issued
 * together lie together, and a store of a million connections is as fast as a small one. Nothing is taken from that
 * time: another one in front of the same secret is another token.
 */
export function tokenKey(token: string): string {
  const time = issuedToken.exec(token)?.[1]
  return time === undefined ? hashSecret(token) : `${time}.${hashSecret(token)}`
}

/**
 * The issue time encoded in `token`; undefined for tokens of other issuers. Trust it only for a token that was found
 * in the store.
 */
export function issueTimeOf(token: string): number | undefined {
  const time = issuedToken.exec(token)?.[1]
  return time === undefined ? undefined : Number.parseInt(time, 36)
}

/** A new family of refresh tokens: 128 random bits that all refresh tokens of one grant share. */
export function createFamily({ randomBytes }: Pick<Runtime, 'randomBytes'>): string {
  return encodeBase64url(randomBytes(16))
}

/**
 * The family that a refresh token names. Undefined for tokens older than families. Only holders of a token of the
 * grant know it, so a token that names a family and is not stored was used and collected, or forged from a real one.
 */
export function familyOf(refreshToken: string): string | undefined {
  return familyToken.exec(refreshToken)?.[1]
}

/** Which refresh token {@link mintTokens} makes: none, one of `family`, or one without a family. */
export type RefreshTokenKind = 'none' | { family: string | undefined }

/**
 * Mints opaque tokens of 256 random bits for `grant`, together with their stored form. None of them outlives the
 * grant.
 */
export function mintTokens(
  grant: Grant,
  scope: string,
  refresh: RefreshTokenKind,
  accessTokenTtlSeconds: number,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): { pair: TokenPair; minted: MintedTokens } {
  const time = runtime.now().toString(36).padStart(timeLength, '0')
  const mint = (prefix: string, family = ''): string =>
    prefix + time + family + encodeBase64url(runtime.randomBytes(32))
  const accessToken = mint(accessTokenPrefix)
  const refreshToken = refresh === 'none' ? undefined : mint(refreshTokenPrefix, refresh.family)
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

// Clients count from the arrival of the answer, the server in whole seconds from before it. Without a margin clients would present
// tokens that have just expired, and those in Python answer the 401 with a new sign-in instead of a refresh.
const maxMarginSeconds = 10

/**
 * The wire form of `pair` at `now`. `expires_in` counts from this answer, also when the pair is a replayed one, and is a tenth less than
 * the life that the token has left, at most ten seconds less.
 */
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

/** How long access tokens live, by client; seconds. */
export interface TokenLife {
  accessTokenTtlSeconds: number
  /** Of clients that never refresh; undefined: the same as of others. */
  longTokenTtlSeconds?: number | undefined
  /** Ids of clients that are known not to refresh although they registered `refresh_token`. */
  longTokenClients?: readonly string[] | undefined
}

/**
 * Seconds that an access token of `client` lives: the longer life, where there is one, for a client that cannot refresh or
 * is known not to. The token never outlives its grant in any case, and ends with it at once (RFC 9700 section 2.2.2 asks for
 * short lives of tokens that cannot be revoked; these can).
 */
export function accessTokenTtl(client: Pick<Client, 'id' | 'grantTypes'>, life: TokenLife): number {
  const { accessTokenTtlSeconds, longTokenTtlSeconds, longTokenClients = [] } = life
  const neverRefreshes = !client.grantTypes.includes('refresh_token') || longTokenClients.includes(client.id)
  // A long life that is set below the usual one would punish the clients that it is there for.
  return neverRefreshes ? Math.max(accessTokenTtlSeconds, longTokenTtlSeconds ?? 0) : accessTokenTtlSeconds
}

/** What redeeming a code or a refresh token gives: the answer for the client, and the grant that it is of. */
export interface IssuedTokens {
  grant: Grant
  response: TokenResponse
}
