/**
 * HTTP status of each code: the one in its specification, or 400. RFC 6749 sections 4.1.2.1 and 5.2, RFC 6750 section
 * 3.1, RFC 7009 section 2.2.1, RFC 7591 section 3.2.2, RFC 8628 section 3.5, RFC 8707 section 2, OpenID Connect Core
 * 1.0 section 3.1.2.6.
 */
export const oauthErrorStatus = {
  // RFC 6749
  access_denied: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_request: 400,
  invalid_scope: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  // RFC 6750
  insufficient_scope: 403,
  invalid_token: 401,
  // OpenID Connect Core 1.0 section 3.1.2.6
  login_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  // RFC 7009
  unsupported_token_type: 400,
  // RFC 7591
  invalid_client_metadata: 400,
  invalid_redirect_uri: 400,
  invalid_software_statement: 400,
  unapproved_software_statement: 400,
  // RFC 8628
  authorization_pending: 400,
  expired_token: 400,
  slow_down: 400,
  // RFC 8707
  invalid_target: 400,
} as const

/** Registered error codes that Drawbridge sends. */
export type OAuthErrorCode = keyof typeof oauthErrorStatus

/**
 * A protocol failure sent to the peer. `description` (also `message`) becomes `error_description`, so it must not
 * contain anything private; put details in `cause`, which is only logged.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode
  /** Addresses the client's developer; limited to the characters allowed in `error_description`. */
  readonly description: string
  /** HTTP status: the code's own unless overridden (429 for `temporarily_unavailable`). */
  readonly status: number
  /** Value of `Retry-After`; undefined if unknown. */
  readonly retryAfterSeconds: number | undefined
  /** Additional fields for the log. */
  readonly logFields: Readonly<Record<string, string>>

  constructor(
    code: OAuthErrorCode,
    description: string,
    options: {
      cause?: unknown
      status?: number
      retryAfterSeconds?: number
      logFields?: Readonly<Record<string, string>>
    } = {},
  ) {
    const text = wireDescription(description)
    super(text, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.description = text
    this.status = options.status ?? oauthErrorStatus[code]
    this.retryAfterSeconds = options.retryAfterSeconds
    this.logFields = options.logFields ?? {}
  }
}

/** Returns the JSON body of an error response (RFC 6749 section 5.2, RFC 7591 section 3.2.2). */
export function oauthErrorBody(error: OAuthError): { error: OAuthErrorCode; error_description: string } {
  return { error: error.code, error_description: error.description }
}

/**
 * Replaces characters that RFC 6749 section 5.2 does not allow: only printable ASCII without `"` and `\`. Keeps line
 * ends out of headers, too.
 */
function wireDescription(text: string): string {
  return text.replaceAll('"', "'").replaceAll(/[^\x20\x21\x23-\x5B\x5D-\x7E]/g, '?')
}
