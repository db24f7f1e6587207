import { describe, expect, it } from 'vitest'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import type { GotrueRefusal } from './call.ts'
import {
  passwordFailure,
  type ReadRefusal,
  refreshFailure,
  returnFailure,
  secondFactorFailure,
  settingsFailure,
  socialFailure,
  ssoFailure,
  unclearFailure,
} from './failure.ts'

const refused = (status: number, code?: string): GotrueRefusal => ({
  kind: 'refusal',
  call: 'POST /token',
  status,
  code,
  retryAfterSeconds: undefined,
})

const readers: readonly (readonly [name: string, read: ReadRefusal])[] = [
  ['settings', settingsFailure],
  ['password', passwordFailure],
  ['social', socialFailure],
  ['single sign-on', ssoFailure],
  ['second factor', secondFactorFailure],
  ['refresh', refreshFailure],
  ['background', unclearFailure],
]

type Row = readonly [status: number, code: string | undefined, failure: ProviderFailure]

const byStatus: readonly Row[] = [
  [429, 'over_request_rate_limit', 'rate_limited'],
  [429, 'something_else', 'rate_limited'],
  [429, undefined, 'rate_limited'],
  [408, 'request_timeout', 'transient'],
  [409, 'conflict', 'transient'],
  [422, 'hook_timeout', 'transient'],
  [500, 'unexpected_failure', 'transient'],
  [502, undefined, 'transient'],
  [504, 'request_timeout', 'transient'],
  [401, 'no_authorization', 'protocol'],
  [401, undefined, 'protocol'],
  [400, 'validation_failed', 'protocol'],
  [404, 'not_found', 'protocol'],
  [400, 'constructor', 'protocol'],
  [302, undefined, 'protocol'],
]

const tables: readonly (readonly [call: string, read: ReadRefusal, rows: readonly Row[]])[] = [
  [
    'password',
    passwordFailure,
    [
      [400, 'invalid_credentials', 'invalid_credentials'],
      // Distinguished, this would reveal which accounts exist.
      [400, 'user_banned', 'invalid_credentials'],
      [400, 'email_not_confirmed', 'email_unconfirmed'],
      [400, 'captcha_failed', 'captcha'],
      [422, 'email_provider_disabled', 'disabled'],
    ],
  ],
  [
    'start of single sign-on',
    ssoFailure,
    [
      [404, 'sso_provider_not_found', 'unknown_domain'],
      [404, 'sso_provider_disabled', 'disabled'],
      [422, 'saml_provider_disabled', 'disabled'],
      [400, 'captcha_failed', 'captcha'],
    ],
  ],
  [
    'exchange of a social code',
    socialFailure,
    [
      [404, 'flow_state_not_found', 'expired'],
      [422, 'flow_state_expired', 'expired'],
      [400, 'bad_code_verifier', 'expired'],
      [403, 'user_banned', 'terminal'],
      [422, 'provider_disabled', 'disabled'],
    ],
  ],
  [
    'second factor',
    secondFactorFailure,
    [
      [422, 'mfa_verification_failed', 'wrong_code'],
      [422, 'mfa_challenge_expired', 'wrong_code'],
      [403, 'mfa_verification_rejected', 'wrong_code'],
      [404, 'mfa_factor_not_found', 'expired'],
      [403, 'bad_jwt', 'expired'],
      [403, 'session_not_found', 'expired'],
      [403, 'user_banned', 'expired'],
      [422, 'mfa_totp_verify_not_enabled', 'disabled'],
      [422, 'mfa_ip_address_mismatch', 'transient'],
    ],
  ],
]

describe.each(tables)('a refused %s', (_call, read, rows) => {
  it.each([...rows, ...byStatus])('%i %s: %s', (status, code, failure) => {
    expect(read(refused(status, code)).failure).toBe(failure)
  })
})

it.each<Row>(byStatus.filter(([, code]) => code !== 'hook_timeout'))(
  'refused settings: %i %s: %s',
  (status, code, failure) => {
    expect(settingsFailure(refused(status, code)).failure).toBe(failure)
  },
)

describe('a refused refresh: only a definitive refusal is terminal', () => {
  const terminal = [
    'refresh_token_not_found',
    'refresh_token_already_used',
    'session_not_found',
    'session_expired',
    'user_banned',
    'user_not_found',
    'validation_failed',
  ]
  it.each(terminal.flatMap((code) => [400, 401, 403].map((status) => [code, status] as const)))(
    '%s (%i): terminal',
    (code, status) => {
      expect(refreshFailure(refused(status, code))).toMatchObject({ failure: 'terminal', outcomeKnown: true })
    },
  )

  it.each<[code: string | undefined, status: number]>([
    ['conflict', 409],
    ['over_request_rate_limit', 429],
    ['unexpected_failure', 500],
    ['request_timeout', 504],
    ['no_authorization', 401],
    ['bad_jwt', 403],
    ['invalid_credentials', 400],
    ['email_not_confirmed', 400],
    ['captcha_failed', 400],
    // The right code with a status that contradicts it.
    ['refresh_token_not_found', 404],
    ['session_not_found', 429],
    ['session_not_found', 502],
    ['REFRESH_TOKEN_NOT_FOUND', 400],
    // A gateway: a page, or the wrong API key.
    [undefined, 400],
    [undefined, 401],
    [undefined, 403],
    [undefined, 404],
    [undefined, 530],
  ])('a refused refresh with %s and status %i is transient', (code, status) => {
    expect(refreshFailure(refused(status, code)).failure).toBe('transient')
  })

  it.each<[status: number, code: string | undefined, isRefused: boolean]>([
    [400, 'invalid_credentials', true],
    [422, 'something_new', true],
    [400, undefined, false],
    [401, undefined, false],
    [408, 'request_timeout', false],
    [409, 'conflict', false],
    [429, 'over_request_rate_limit', false],
    [500, 'unexpected_failure', false],
  ])('a refused refresh with status %i and %s is about this session alone: %s', (status, code, isRefused) => {
    expect(refreshFailure(refused(status, code)).refused).toBe(isRefused ? 'by_code' : undefined)
  })
})

it.each([400, 401, 403, 404, 429, 500, 503])('a refusal in the background: %i is transient', (status) => {
  expect(unclearFailure(refused(status, 'anything')).failure).toBe('transient')
})

describe.each(readers)('any refused %s', (_name, read) => {
  it.each([
    [302, false],
    [400, true],
    [401, true],
    [409, true],
    [422, true],
    [429, true],
    [499, true],
    [500, false],
    [503, false],
    [504, false],
  ])('the outcome of a call refused with status %i is known: %s', (status, known) => {
    expect(read(refused(status)).outcomeKnown).toBe(known)
  })

  it('a refusal says when to try again, if the provider said so', () => {
    expect(read({ ...refused(429), retryAfterSeconds: 7 }).retryAfterSeconds).toBe(7)
    expect(read(refused(429)).retryAfterSeconds).toBeUndefined()
  })

  it('a refusal names call, status and code in its message, nothing else', () => {
    expect(read(refused(400, 'bad_json')).message).toBe('The auth API refused POST /token: 400 bad_json')
    expect(read(refused(502)).message).toBe('The auth API refused POST /token: 502')
  })
})

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
    ['an empty code, as while the database of the API is down', 'code=', 'transient'],
  ])('%s: the social provider returned %j: %s', (_what, query, failure) => {
    expect(returnFailure(new URLSearchParams(query)).failure).toBe(failure)
  })

  it('a return without a code repeats none of its text, which anyone can write', () => {
    const params = new URLSearchParams({ error: 'forged', error_code: 'text', error_description: 'lie' })
    expect(returnFailure(params).message).toBe('The social sign-in returned without a code: protocol.')
  })
})
