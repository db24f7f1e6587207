import { AuthError } from '../provider/auth-error.ts'

const messages = new Map([
  ['invalid_credentials', 'That email and password do not match an account.'],
  ['email_not_confirmed', 'This address is not confirmed yet. Confirm it, then sign in.'],
  ['user_banned', 'That email and password do not match an account.'],
  ['user_already_exists', 'An account with this address already exists. Sign in instead.'],
  ['weak_password', 'Choose a longer password: at least 6 characters.'],
  ['validation_failed', 'Check the email address and the password.'],
  ['over_request_rate_limit', 'Too many attempts. Wait a moment, then try again.'],
  ['access_denied', 'Google sign-in was cancelled. Nothing was shared.'],
  ['flow_state_expired', 'That sign-in took too long. Start it again.'],
  ['flow_state_not_found', 'That sign-in has already been used. Start it again.'],
  ['bad_code_verifier', 'That sign-in was started in another browser. Start it again here.'],
  ['bad_oauth_state', 'That sign-in is no longer valid. Start it again.'],
])

/** Returns the sentence to show for a refusal of the provider; rethrows everything else. A ban reads like a wrong password. */
export function explainRefusal(error: unknown): string {
  if (error instanceof AuthError) return explainCode(error.code)
  throw error
}

/** Returns the sentence for an error of a social sign-in; the text in the URL is never shown. */
export function explainRedirect(parameters: URLSearchParams): string {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  if (code === 'user_banned') return 'This account cannot sign in.'
  // Single sign-on that was refused: of an address or a password it says nothing.
  return explainCode(code === 'validation_failed' ? '' : code)
}

export function explainCode(code: string): string {
  return messages.get(code) ?? 'The sign-in did not work. Try again.'
}
