import type { Credential } from '../credentials/credential.ts'

/** A stored login as commands show it. Holds no secret. Times in epoch seconds. */
export interface LoginView {
  server: string
  profile: string
  state: 'signed_in' | 'sign_in_needed'
  issuer: string
  client_id: string
  scope: string | null
  signed_in_at: number
  expires_at: number | null
  renews: boolean
  reason: string | null
}

/** What is known of a login without asking anybody. A token that has ended counts as good while it can be renewed. */
export function loginView(credential: Credential, now: number): LoginView {
  const { tokens, serverUrl, profile, issuer, client, signedInAt, signInNeeded } = credential
  const renews = tokens?.refreshToken !== undefined
  const reason = signInNeeded ?? reasonOf(tokens, now)
  return {
    server: serverUrl,
    profile,
    state: reason === undefined ? 'signed_in' : 'sign_in_needed',
    issuer,
    client_id: client.clientId,
    scope: tokens?.scope ?? null,
    signed_in_at: signedInAt,
    expires_at: tokens?.expiresAt ?? null,
    renews,
    reason: reason ?? null,
  }
}

function reasonOf(tokens: Credential['tokens'], now: number): string | undefined {
  if (tokens === undefined) return 'everything was refused'
  const hasEnded = tokens.expiresAt !== undefined && tokens.expiresAt <= now
  return hasEnded && tokens.refreshToken === undefined
    ? 'the access token has ended, and cannot be renewed'
    : undefined
}
