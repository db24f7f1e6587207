import { OAuthFailure } from './login-port.ts'
import { quoteServerText } from './server-text.ts'
import { refusal } from './token-endpoint-failure.ts'

/** What was written down before the browser was sent away (RFC 9207 section 2.4). */
export interface ExpectedIssuer {
  issuer: string
  /** `authorization_response_iss_parameter_supported`. */
  sendsIss: boolean
}

/**
 * The code of an authorization response whose `state` was checked. Throws {@link OAuthFailure}: `issuer_mismatch` when `iss`
 * is another one, or is missing where it was announced - and then nothing of what the response says is shown, since
 * somebody else may have written it - `access_denied`, `scope_refused`, `client_refused`, `unavailable` or `refused` (RFC
 * 6749 section 4.1.2, RFC 9207 section 2.4, MCP 2026-07-28 authorization).
 */
export function readAuthorizationResponse(
  parameters: URLSearchParams,
  { issuer, sendsIss }: ExpectedIssuer,
): string {
  const given = parameters.getAll('iss')
  const isMissing = given.length === 0 && sendsIss
  if (isMissing || given.some((iss) => iss !== issuer) || given.length > 1) {
    const what = isMissing ? 'does not say which server it is from' : 'is from another server'
    throw new OAuthFailure(
      'issuer_mismatch',
      `The response to the sign-in at ${quoteServerText(issuer)} ${what}.`,
      {
        issuer,
      },
    )
  }
  const error = parameters.get('error')
  if (error !== null) {
    throw refusal(error, parameters.get('error_description') ?? undefined, { issuer })
  }
  const [code, ...more] = parameters.getAll('code')
  if (code === undefined || code === '' || more.length > 0) {
    throw new OAuthFailure('refused', `${quoteServerText(issuer)} sent the browser back without a code.`, {
      issuer,
    })
  }
  return code
}
