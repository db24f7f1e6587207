/** The error codes of the auth API that the embedded provider can answer with. */
export type AuthErrorCode =
  | 'anonymous_provider_disabled'
  | 'bad_code_verifier'
  | 'bad_json'
  | 'bad_jwt'
  | 'bad_oauth_callback'
  | 'bad_oauth_state'
  | 'captcha_failed'
  | 'email_exists'
  | 'email_not_confirmed'
  | 'feature_disabled'
  | 'flow_state_expired'
  | 'flow_state_not_found'
  | 'insufficient_aal'
  | 'invalid_credentials'
  | 'mfa_challenge_expired'
  | 'mfa_factor_name_conflict'
  | 'mfa_factor_not_found'
  | 'mfa_ip_address_mismatch'
  | 'mfa_verification_failed'
  | 'no_authorization'
  | 'not_admin'
  | 'over_request_rate_limit'
  | 'refresh_token_already_used'
  | 'refresh_token_not_found'
  | 'same_password'
  | 'session_expired'
  | 'session_not_found'
  | 'too_many_enrolled_mfa_factors'
  | 'unexpected_failure'
  | 'user_already_exists'
  | 'user_banned'
  | 'user_not_found'
  | 'validation_failed'
  | 'weak_password'

/** An answer of the auth API that is not a success. Its message is public. */
export class AuthError extends Error {
  readonly status: number
  readonly code: AuthErrorCode
  readonly extra: Readonly<Record<string, unknown>>

  constructor(status: number, code: AuthErrorCode, message: string, extra: Record<string, unknown> = {}) {
    super(message)
    this.name = 'AuthError'
    this.status = status
    this.code = code
    this.extra = extra
  }
}

const VERSION_HEADER = 'x-supabase-api-version'
const NAMED_CODES_SINCE = '2024-01-01'

/**
 * The error body in the dialect that the request asked for: since API version 2024-01-01 `{code, message}` with a
 * string code (and the version echoed, without which the client does not read it), before that `{code: <status>,
 * error_code, msg}`.
 */
export function renderAuthError(error: AuthError, request: Request): Response {
  const version = request.headers.get(VERSION_HEADER) ?? ''
  const named = /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= NAMED_CODES_SINCE
  const body = named
    ? { code: error.code, message: error.message, ...error.extra }
    : { code: error.status, error_code: error.code, msg: error.message, ...error.extra }
  const headers: Record<string, string> = { 'x-sb-error-code': error.code }
  if (named) headers[VERSION_HEADER] = NAMED_CODES_SINCE
  return Response.json(body, { status: error.status, headers })
}
