import { type ProviderFailure, ProviderError } from '../../core/session/session-provider.ts'

// Key: `error_code`, the API's own word; `error` is the word of the social provider.
const failureByCode: ReadonlyMap<string, ProviderFailure> = new Map([
  ['flow_state_expired', 'expired'],
  ['flow_state_not_found', 'expired'],
  ['bad_oauth_state', 'expired'],
  ['oauth_client_state_expired', 'expired'],
  ['oauth_client_state_not_found', 'expired'],
  ['oauth_invalid_state', 'expired'],
  ['provider_email_needs_verification', 'email_unconfirmed'],
  ['signup_disabled', 'terminal'],
  ['user_banned', 'terminal'],
  ['over_request_rate_limit', 'rate_limited'],
  ['provider_disabled', 'disabled'],
  ['oauth_provider_not_supported', 'disabled'],
])

const failureByError: ReadonlyMap<string, ProviderFailure> = new Map([
  ['access_denied', 'denied'],
  ['temporarily_unavailable', 'transient'],
])

/**
 * Why a return from the social provider carries no code. Anyone can make such a URL, so its text decides nothing and
 * is not logged.
 */
export function returnFailure(params: URLSearchParams): ProviderError {
  const error = params.get('error')
  if (error === null) return new ProviderError('expired', 'The social sign-in returned with nothing.')
  const failure = failureByCode.get(params.get('error_code') ?? '') ?? failureByError.get(error) ?? 'protocol'
  return new ProviderError(failure, `The social sign-in returned without a code: ${failure}.`)
}
