import { type OAuthFault, OAuthFailure } from './login-port.ts'
import { quoteServerError, quoteServerText } from './server-text.ts'
import type { TokenAnswer } from './token-answer.ts'

const faults: Readonly<Record<string, OAuthFault>> = {
  access_denied: 'access_denied',
  expired_token: 'expired',
  invalid_client: 'client_refused',
  invalid_scope: 'scope_refused',
  server_error: 'unavailable',
  temporarily_unavailable: 'unavailable',
  unauthorized_client: 'client_refused',
}

/** A refusal of the authorization server, as an error that a person may see. */
export function refusal(
  error: string,
  description: string | undefined,
  { issuer, cause }: { issuer: string; cause?: unknown },
): OAuthFailure {
  const said = quoteServerError(error, description)
  const fault = Object.hasOwn(faults, error) ? (faults[error] ?? 'refused') : 'refused'
  return new OAuthFailure(fault, `${quoteServerText(issuer)} answered ${said}`, { issuer, cause })
}

/** Whether a server said that it does not know the client, or does not let it do this. */
export function isClientRefused(error: unknown): boolean {
  // Without an issuer it is about the private key, and of our own making.
  return error instanceof OAuthFailure && error.fault === 'client_refused' && error.issuer !== undefined
}

/** Why an answer holds no tokens, as an error that a person may see. */
export function failureOf(answer: Exclude<TokenAnswer, { kind: 'issued' }>, issuer: string): OAuthFailure {
  if (answer.kind === 'refused') return refusal(answer.error, answer.description, { issuer })
  const { cause, retryAfterSeconds } = answer
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new OAuthFailure(
    'unavailable',
    `No tokens can be had from ${quoteServerText(issuer)} now${reason}.`,
    {
      issuer,
      cause,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  )
}
