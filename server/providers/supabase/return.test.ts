import { describe, expect, it } from 'vitest'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import { returnFailure } from './return.ts'

describe('a return from the social provider without a code', () => {
  it.each<[what: string, query: string, failure: ProviderFailure]>([
    ['the user said no', 'error=access_denied&error_description=x', 'denied'],
    ['a ban', 'error=access_denied&error_code=user_banned', 'terminal'],
    ['no new accounts', 'error=access_denied&error_code=signup_disabled', 'terminal'],
    [
      'an address to confirm',
      'error=server_error&error_code=provider_email_needs_verification',
      'email_unconfirmed',
    ],
    ['the flow is over', 'error=invalid_request&error_code=flow_state_expired', 'expired'],
    ['the flow is unknown', 'error=server_error&error_code=flow_state_not_found', 'expired'],
    ['the state is unknown', 'error=invalid_request&error_code=bad_oauth_state', 'expired'],
    ['the state is unknown, in recent releases', 'error=x&error_code=oauth_client_state_expired', 'expired'],
    ['too much', 'error=server_error&error_code=over_request_rate_limit', 'rate_limited'],
    ['a method that is off', 'error=invalid_request&error_code=provider_disabled', 'disabled'],
    ['RFC 6749 4.1.2.1: overloaded', 'error=temporarily_unavailable', 'transient'],
    ['the provider failed', 'error=server_error&error_code=unexpected_failure', 'protocol'],
    ['an error nobody knows', 'error=constructor&error_code=__proto__', 'protocol'],
    ['neither code nor error', '', 'expired'],
    ['an empty code', 'code=', 'expired'],
  ])('%s', (_what, query, failure) => {
    expect(returnFailure(new URLSearchParams(query)).failure).toBe(failure)
  })

  it('says nothing of its text: anyone can write it', () => {
    const params = new URLSearchParams({ error: 'forged', error_code: 'text', error_description: 'lie' })
    expect(returnFailure(params).message).toBe('The social sign-in returned without a code: protocol.')
  })
})
