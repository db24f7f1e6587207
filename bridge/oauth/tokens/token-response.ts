import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { IssuedTokens, IssuerQuirks } from '../../credentials/credential.ts'
import { browserWall } from '../../http/browser-wall.ts'
import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import { OAuthFailure, type OAuthFault } from '../login-port.ts'
import { type ServerResponse, memberText } from '../server-request.ts'
import { quoteServerError, quoteServerText } from '../server-text.ts'

/** Outcome of one request to a token endpoint. */
export type TokenAnswer =
  /** `quirks`: known so far about the issuer. */
  | { kind: 'issued'; tokens: IssuedTokens; quirks?: IssuerQuirks }
  /** A definite refusal (RFC 6749 section 5.2). `error` and `description` are untrusted text. */
  | { kind: 'refused'; error: string; description: string | undefined }
  /** Unknown whether it took effect: network error, timeout, 5xx, 429. Nothing may be discarded. */
  | { kind: 'unavailable'; retryAfterSeconds: number | undefined; cause: unknown; sent: boolean }

const faults: Readonly<Record<string, OAuthFault>> = {
  access_denied: 'access_denied',
  expired_token: 'expired',
  invalid_client: 'client_refused',
  invalid_scope: 'scope_refused',
  server_error: 'unavailable',
  temporarily_unavailable: 'unavailable',
  unauthorized_client: 'client_refused',
}

/** Creates the error shown for a refusal by the authorization server. */
export function refusal(error: string, description: string | undefined, issuer: string): OAuthFailure {
  const said = quoteServerError(error, description)
  const fault = Object.hasOwn(faults, error) ? (faults[error] ?? 'refused') : 'refused'
  return new OAuthFailure(fault, `${quoteServerText(issuer)} answered ${said}`, { issuer })
}

/** Returns whether a server said that it does not know the client, or does not allow it to do this. */
export function isClientRefused(error: unknown): boolean {
  return error instanceof OAuthFailure && error.fault === 'client_refused'
}

/** Creates the error shown for a response without tokens. */
export function failureOf(answer: Exclude<TokenAnswer, { kind: 'issued' }>, issuer: string): OAuthFailure {
  if (answer.kind === 'refused') return refusal(answer.error, answer.description, issuer)
  const { cause, retryAfterSeconds } = answer
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new OAuthFailure('unavailable', `${quoteServerText(issuer)} cannot issue tokens now${reason}.`, {
    issuer,
    cause,
    retryAfterSeconds,
  })
}

/** RFC 6749 section 5.2. The value is stored and displayed. */
const errorCode = /^[\x20\x21\x23-\x5B\x5D-\x7E]{1,200}$/

/** More than 300 years: a longer value is a mistake, or means no expiry. */
const maxSeconds = 10_000_000_000

/** The request of a response: when it was sent, in epoch seconds, and what for. */
type Asked = { at: number; scope: string | undefined; useIdToken: boolean }

/**
 * Interprets a response of a token endpoint (RFC 6749 sections 5.1 and 5.2), as real servers write it. A refusal has an OAuth
 * error, or is JSON with status 400, 401 or 422, because some servers use their own error format. A response that is not
 * JSON came from something else, such as a proxy or a captive portal.
 */
export function readTokenAnswer(response: ServerResponse, asked: Asked): TokenAnswer {
  const { status, headers, json } = response
  const unavailable = (what: string): TokenAnswer => ({
    kind: 'unavailable',
    retryAfterSeconds: retryAfterSeconds(headers, asked.at),
    cause: new Error(browserWall(response) ?? `the token endpoint answered ${what}`),
    sent: true,
  })
  if (status === 429 || status >= 500) return unavailable(`with status ${status}`)
  if (!isJsonObject(json)) return unavailable(`with status ${status} and no JSON object`)
  const error = memberText(json, 'error')
  if (error === 'temporarily_unavailable' || error === 'server_error') return unavailable(error)
  if (error !== undefined) {
    const description = memberText(json, 'error_description')
    return { kind: 'refused', error: errorCode.test(error) ? error : `http_${status}`, description }
  }
  if ([400, 401, 422].includes(status)) return foreignRefusal(json, status)
  if (status < 200 || status > 299) return unavailable(`with status ${status}`)
  return readTokens(json, asked) ?? unavailable('without an access token')
}

function foreignRefusal(json: JsonObject, status: number): TokenAnswer {
  const description = ['error_description', 'msg', 'message', 'detail']
    .map((name) => memberText(json, name))
    .find((value) => value !== undefined)
  const isAboutClient = /\bclient(?:_id)?\b/i.test(description ?? '')
  return { kind: 'refused', error: isAboutClient ? 'invalid_client' : `http_${status}`, description }
}

function readTokens(json: JsonObject, asked: Asked): TokenAnswer | undefined {
  const accessToken = sendable(json, 'access_token')
  if (accessToken === undefined) return undefined
  const tokenType = memberText(json, 'token_type')
  if (tokenType !== undefined && /^(?:dpop|mac|pop)$/i.test(tokenType)) {
    const description = `The token is of the type ${tokenType}, which this client did not ask for.`
    return { kind: 'refused', error: 'unsupported_token_type', description }
  }
  const idToken = sendable(json, 'id_token')
  const seconds = lifetime(json, asked.useIdToken ? idToken : undefined)
  const tokens: IssuedTokens = {
    accessToken,
    refreshToken: memberText(json, 'refresh_token'),
    issuedAt: asked.at,
    expiresAt: seconds === undefined ? undefined : asked.at + seconds,
    scope: scopeOf(json) ?? asked.scope,
    idToken,
  }
  return { kind: 'issued', tokens }
}

/** Returns seconds. For an ID token that is sent, uses its own two timestamps, so that our clock does not matter. */
function lifetime(json: JsonObject, idToken: string | undefined): number | undefined {
  const jwt = idToken === undefined ? undefined : readJwt(idToken)
  const issuedAt = jwt?.claims['iat']
  if (jwt?.expiresAt !== undefined && typeof issuedAt === 'number') {
    return wholeSeconds(jwt.expiresAt - issuedAt)
  }
  const value = json['expires_in']
  return wholeSeconds(typeof value === 'string' && /^\d{1,10}(?:\.\d*)?$/.test(value) ? Number(value) : value)
}

/** Not zero, which some servers use for tokens that do not expire. */
function wholeSeconds(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 1 && value < maxSeconds ? Math.floor(value) : undefined
}

function scopeOf(json: JsonObject): string | undefined {
  const { scope } = json
  if (Array.isArray(scope)) return scope.filter((name) => typeof name === 'string').join(' ') || undefined
  return memberText(json, 'scope')
}

/** Returns a member if it is valid in a header. */
function sendable(json: JsonObject, name: string): string | undefined {
  const value = memberText(json, name)
  return value !== undefined && /^[\x21-\x7E]+$/.test(value) ? value : undefined
}
