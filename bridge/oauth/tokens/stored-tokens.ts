import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import type { Credential, IssuedTokens } from '../../credentials/credential.ts'

/** Returns whether there are tokens to send. */
export function hasTokens(
  credential: Credential | undefined,
): credential is Credential & { tokens: IssuedTokens } {
  return credential?.tokens !== undefined && credential.signInNeeded === undefined
}

/** By our clock. False without a known expiry; the server will refuse it. */
export function hasEnded(tokens: IssuedTokens, now: number): boolean {
  return tokens.expiresAt !== undefined && tokens.expiresAt <= now
}

/**
 * Returns whether an access token is due for renewal: 10 % of its lifetime before its end, at least 10 and at most 60
 * seconds, but never more than half of its lifetime, so that short-lived tokens are not renewed for every request.
 * False without a known expiry.
 */
export function isRefreshDue(tokens: IssuedTokens, now: number): boolean {
  if (tokens.expiresAt === undefined) return false
  const lifetime = Math.max(0, tokens.expiresAt - tokens.issuedAt)
  const margin = Math.min(60, Math.max(10, lifetime / 10))
  return now >= tokens.expiresAt - Math.min(margin, lifetime / 2)
}

/** Returns the header for a login, or undefined without tokens. */
export function loginHeader(credential: Credential, useIdToken: boolean): string | undefined {
  const { tokens } = credential
  if (tokens === undefined) return undefined
  return `Bearer ${useIdToken ? (tokens.idToken ?? tokens.accessToken) : tokens.accessToken}`
}

export type LoginView = ReturnType<typeof loginView>

/**
 * Returns a login as commands show it and `--json` prints it: without its tokens, and with names that a server chose as plain text. Does
 * not ask the server; an expired access token counts as good while it can be renewed.
 */
export function loginView(credential: Credential, now: number) {
  const { tokens, serverUrl, profile, signedInAt, issuer, client } = credential
  const reason = whyNot(credential, now)
  const text = (value: string | undefined): string | null => (value === undefined ? null : plainText(value))
  return {
    server: plainText(serverUrl),
    profile,
    state: reason === undefined ? ('signed_in' as const) : ('sign_in_needed' as const),
    issuer: plainText(issuer),
    client_id: plainText(client.clientId),
    account: text(accountOf(tokens)),
    scope: text(tokens?.scope),
    signed_in_at: signedInAt,
    expires_at: tokens?.expiresAt ?? null,
    renews: reason === undefined && tokens?.refreshToken !== undefined,
    reason: text(reason),
  }
}

const accountClaims = ['email', 'preferred_username', 'username', 'upn', 'name'] as const

/** Reads who signed in from the ID token, or else from an access token that is a JWT. Most servers issue neither; nothing has verified it. */
function accountOf(tokens: IssuedTokens | undefined): string | undefined {
  for (const token of [tokens?.idToken, tokens?.accessToken]) {
    const claims = (token === undefined ? undefined : readJwt(token))?.claims ?? {}
    const found = accountClaims
      .map((name) => claims[name])
      .find((value) => typeof value === 'string' && value)
    if (typeof found === 'string') return found.slice(0, maxAccountLength)
  }
  return undefined
}

/** The longest valid email address (RFC 5321 section 4.5.3.1). */
const maxAccountLength = 320

/** Returns the server's error code, or a sentence of ours. */
function whyNot({ tokens, signInNeeded }: Credential, now: number): string | undefined {
  if (signInNeeded !== undefined) return signInNeeded
  if (tokens === undefined) return 'there are no tokens'
  const isOver = tokens.refreshToken === undefined && hasEnded(tokens, now)
  return isOver ? 'the token has expired, and there is no refresh token' : undefined
}
