import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, MintedTokens } from './grant.ts'
import { hashSecret } from './seal.ts'

/** What every access token of ours starts with: routes it to the store, and lets secret scanners find a leaked one. */
export const accessTokenPrefix = 'mcpa_'

const refreshTokenPrefix = 'mcpr_'

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

/** Mints opaque tokens of 256 random bits for `grant`, none of which outlives it, with their stored form beside them. */
export function mintTokens(
  grant: Grant,
  scope: string,
  withRefreshToken: boolean,
  accessTokenTtlSeconds: number,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): { pair: TokenPair; minted: MintedTokens } {
  const accessToken = accessTokenPrefix + encodeBase64url(runtime.randomBytes(32))
  const refreshToken = withRefreshToken
    ? refreshTokenPrefix + encodeBase64url(runtime.randomBytes(32))
    : undefined
  const expiresAt = Math.min(runtime.now() + accessTokenTtlSeconds, grant.expiresAt)
  return {
    pair: { accessToken, refreshToken, scope, expiresAt },
    minted: {
      scope,
      accessHash: hashSecret(accessToken),
      accessExpiresAt: expiresAt,
      refreshHash: refreshToken && hashSecret(refreshToken),
    },
  }
}

/** The wire form of `pair` at `now`; `expires_in` counts from this answer, also when the pair is a replayed one. */
export function tokenResponse(pair: TokenPair, now: number): TokenResponse {
  return {
    access_token: pair.accessToken,
    token_type: 'Bearer',
    expires_in: Math.max(0, pair.expiresAt - now),
    scope: pair.scope,
    ...(pair.refreshToken !== undefined && { refresh_token: pair.refreshToken }),
  }
}
