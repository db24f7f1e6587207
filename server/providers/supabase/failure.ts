import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'
import { failureOfStatus } from '../provider-response.ts'
import type { GotrueRefusal } from './call.ts'

/** Translates a refusal for one call. */
export type ReadRefusal = (refusal: GotrueRefusal) => ProviderError

/** Codes that mean a session or its user is gone. No other code ever ends a session. */
const endCodes: ReadonlySet<string> = new Set([
  'session_not_found',
  'session_expired',
  'user_not_found',
  'user_banned',
])

const terminalRefreshCodes: ReadonlySet<string> = new Set([
  ...endCodes,
  'refresh_token_not_found',
  'refresh_token_already_used',
  // The token is malformed, or newer than the database, for example after restoring an older copy.
  'validation_failed',
])

type Meanings = Readonly<Record<string, ProviderFailure>>

const general: Meanings = {
  over_request_rate_limit: 'rate_limited',
  hook_timeout: 'transient',
  hook_timeout_after_retry: 'transient',
  request_timeout: 'transient',
}

/** A refused password. An unknown account, a banned one and a wrong password have the same result. */
export const passwordFailure: ReadRefusal = byTable({
  invalid_credentials: 'invalid_credentials',
  // Distinguished on a sign-in form, this would reveal which accounts exist.
  user_banned: 'invalid_credentials',
  email_not_confirmed: 'email_unconfirmed',
  captcha_failed: 'captcha',
  email_provider_disabled: 'disabled',
})

/** A refused request for a mail. */
export const emailFailure: ReadRefusal = byTable({
  // The address has no account, and must not get one.
  otp_disabled: 'invalid_credentials',
  signup_disabled: 'invalid_credentials',
  user_banned: 'invalid_credentials',
  over_email_send_rate_limit: 'mail_limited',
  validation_failed: 'bad_email',
  captcha_failed: 'captcha',
  email_provider_disabled: 'disabled',
})

/** A refused code of a mail: wrong, used, replaced or expired, which the API does not tell apart. */
export const emailCodeFailure: ReadRefusal = byTable({
  otp_expired: 'wrong_code',
  validation_failed: 'wrong_code',
  user_not_found: 'wrong_code',
  // The API looks for a ban before it looks at the code: said here, it would tell which accounts exist.
  user_banned: 'wrong_code',
})

/** A refused exchange of the code of a social sign-in. */
export const socialFailure: ReadRefusal = byTable({
  flow_state_not_found: 'expired',
  flow_state_expired: 'expired',
  bad_code_verifier: 'expired',
  user_not_found: 'expired',
  user_banned: 'terminal',
  provider_disabled: 'disabled',
})

/**
 * A refused approval in the name of a user who has just agreed in the web app, with the token of their session there; or one whose
 * client or redirect URI is not set up.
 */
export const approvalFailure: ReadRefusal = byTable({
  bad_jwt: 'invalid_token',
  no_authorization: 'invalid_token',
  session_not_found: 'invalid_token',
  session_expired: 'invalid_token',
  user_not_found: 'invalid_token',
  user_banned: 'terminal',
})

/** A refused code of the OAuth server: unknown, expired, used, or of another verifier. */
export const codeFailure: ReadRefusal = byTable({
  invalid_grant: 'expired',
  // Banned since the approval.
  access_denied: 'terminal',
})

/** A refused start of single sign-on. */
export const ssoFailure: ReadRefusal = byTable({
  sso_provider_not_found: 'unknown_domain',
  sso_provider_disabled: 'disabled',
  saml_provider_disabled: 'disabled',
  captcha_failed: 'captcha',
})

/**
 * A refused challenge or code of a second factor. An incomplete session that is gone takes its sign-in with it: there is nothing
 * else to end.
 */
export const secondFactorFailure: ReadRefusal = byTable({
  mfa_verification_failed: 'wrong_code',
  mfa_challenge_expired: 'wrong_code',
  mfa_verification_rejected: 'wrong_code',
  mfa_factor_not_found: 'expired',
  bad_jwt: 'expired',
  session_not_found: 'expired',
  session_expired: 'expired',
  user_not_found: 'expired',
  user_banned: 'expired',
  mfa_totp_verify_not_enabled: 'disabled',
  // Two calls of one attempt came from different addresses of this server.
  mfa_ip_address_mismatch: 'transient',
})

/** A refused `GET /settings`. */
export const settingsFailure: ReadRefusal = (refusal) => failure(refusal, failureOfStatus(refusal.status))

/**
 * A refused refresh: `terminal` only for the provider's explicit code with the matching status; anything else, such as the 401 of a
 * gateway that does not know the API key, is `transient`.
 */
export const refreshFailure: ReadRefusal = (refusal) => {
  const isTerminal = isBetween(refusal.status, 400, 403) && terminalRefreshCodes.has(refusal.code ?? '')
  return failure(refusal, isTerminal ? 'terminal' : 'transient')
}

/** The same for a session of our client. Where the client is refused, or the OAuth server is off, all its sessions are. */
export const clientRefreshFailure: ReadRefusal = (refusal) => {
  const { status, code = '' } = refusal
  if (status === 400 && code === 'invalid_grant') return failure(refusal, 'terminal')
  return clientCodes.has(code) ? failure(refusal, 'transient', false) : refreshFailure(refusal)
}

const clientCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'feature_disabled'])

/** An unclear refusal in the background: the same call may succeed later. */
export const unclearFailure: ReadRefusal = (refusal) => failure(refusal, 'transient')

/**
 * An unclear refusal of a probe: `transient` when the provider has no response for any session, otherwise `protocol`, as it may
 * have one for the next session.
 */
export const probeFailure: ReadRefusal = (refusal) => {
  const kind = failureOfStatus(refusal.status)
  return failure(refusal, kind === 'rate_limited' ? 'transient' : kind)
}

/** True when a refused call with an access token means that the session or its user is gone. */
export function saysEnded({ status, code }: GotrueRefusal): boolean {
  return [401, 403, 404].includes(status) && endCodes.has(code ?? '')
}

/** True when it means that this access token is invalid, for example expired. A wrong API key has no such code. */
export function saysTokenRefused({ status, code }: GotrueRefusal): boolean {
  return [401, 403].includes(status) && (code === 'bad_jwt' || code === 'no_authorization')
}

/** For a code that is neither in `meanings` nor in {@link general}, the HTTP status decides. */
function byTable(meanings: Meanings): ReadRefusal {
  const all = new Map(Object.entries({ ...general, ...meanings }))
  return (refusal) => failure(refusal, all.get(refusal.code ?? '') ?? failureOfStatus(refusal.status))
}

function failure(
  refusal: GotrueRefusal,
  kind: ProviderFailure,
  isThisCallAlone: boolean = refusal.code !== undefined,
): ProviderError {
  const { call, status, code, retryAfterSeconds } = refusal
  return new ProviderError(kind, `The auth API refused ${call}: ${status}${code ? ` ${code}` : ''}`, {
    // After a 5xx the outcome is unknown.
    outcomeKnown: isBetween(status, 400, 499),
    refused:
      isBetween(status, 400, 499) && failureOfStatus(status) === 'protocol' && isThisCallAlone
        ? 'by_code'
        : undefined,
    retryAfterSeconds,
  })
}

function isBetween(status: number, min: number, max: number): boolean {
  return status >= min && status <= max
}

// Key: `error_code`, the API's own; `error` comes from the social provider.
const failureByCode: ReadonlyMap<string, ProviderFailure> = new Map([
  ['flow_state_expired', 'expired'],
  ['flow_state_not_found', 'expired'],
  ['otp_expired', 'expired'],
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
 * Returns why a return from the social provider has no code. Anyone can make such a URL, so its text decides nothing and is not
 * logged.
 */
export function returnFailure(params: URLSearchParams): ProviderError {
  const error = params.get('error')
  if (params.get('code') === '') {
    // The API could not store the code: the same link may work later.
    return new ProviderError('transient', 'The link of a mail returned with an empty code.')
  }
  if (error === null) return new ProviderError('expired', 'The social sign-in returned with nothing.')
  const failure = failureByCode.get(params.get('error_code') ?? '') ?? failureByError.get(error) ?? 'protocol'
  return new ProviderError(failure, `The social sign-in returned without a code: ${failure}.`)
}
