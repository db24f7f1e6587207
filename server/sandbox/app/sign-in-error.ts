import type { AuthFault } from './auth-client.ts'

const MESSAGES = new Map([
  ['invalid_credentials', 'That email and password do not match an account.'],
  ['email_not_confirmed', 'This address is not confirmed yet. Confirm it, then sign in.'],
  ['user_banned', 'That email and password do not match an account.'],
  ['user_already_exists', 'There is an account with this address already. Sign in instead.'],
  ['weak_password', 'Choose a longer password: at least 6 characters.'],
  ['validation_failed', 'Check the email address and the password.'],
  ['over_request_rate_limit', 'Too many attempts. Wait a moment, then try again.'],
  ['access_denied', 'Google sign-in was cancelled. Nothing was shared.'],
  ['flow_state_expired', 'That sign-in took too long. Start it again.'],
  ['flow_state_not_found', 'That sign-in has already been used. Start it again.'],
  ['bad_code_verifier', 'That sign-in was started in another browser. Start it again here.'],
  ['bad_oauth_state', 'That sign-in is not known any more. Start it again.'],
])

/** The sentence to show next to a form for a refusal of the provider. A ban reads like a wrong password. */
export function explainFault(fault: AuthFault): string {
  if (fault.kind === 'unavailable') return 'The sign-in service does not answer. Try again in a moment.'
  return explainCode(fault.code)
}

/** The sentence for an error that a social sign-in came back with; the text in the address is never shown. */
export function explainRedirect(parameters: URLSearchParams): string {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  return code === 'user_banned' ? 'This account cannot sign in.' : explainCode(code)
}

function explainCode(code: string): string {
  return MESSAGES.get(code) ?? 'The sign-in did not work. Try again.'
}
