import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { followRedirects } from '../http/follow-redirects.ts'
import {
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  NetworkError,
  readJson,
} from '../http/http-client.ts'
import { browserWall, isBrowserChallenge } from '../http/browser-wall.ts'
import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { withLimit } from './wait.ts'

/** Dependencies of all requests to authorization servers. */
export interface OAuthPorts {
  http: HttpClient
  runtime: Runtime
}

/** Passed to every step of a sign-in, renewal or sign-out. `signal` ends it. */
export interface OAuthContext extends OAuthPorts {
  config: OAuthConfig
  signal: AbortSignal
}

/** A response with its complete body. */
export interface ServerResponse {
  status: number
  headers: HttpResponse['headers']
  /** Undefined when the body is not JSON, or is larger than any legitimate response. */
  json: unknown
}

/** Documents and token responses are a few kB; even large key sets and scope lists stay far below. */
const maxBytes = 256 * 1024
const limitMs = 15_000

/**
 * Sends one request and reads the whole response as JSON within 15 seconds. A POST follows
 * redirects that keep it, within its origin; a GET follows none. Rejects with
 * `NetworkError`: `aborted` when `signal` was aborted, `headers_timeout` after the time limit.
 */
export async function requestJson(
  request: HttpRequest,
  { http, signal }: Pick<OAuthContext, 'http' | 'signal'>,
): Promise<ServerResponse> {
  return await withLimit(limitMs, signal, async (limit) => {
    try {
      const limited = { ...request, signal: limit }
      const first = await http.send(limited)
      // A reader of metadata decides about its redirects itself.
      const response = request.method === 'POST' ? await followRedirects(http, limited, first) : first
      const { status, headers } = response
      return { status, headers, json: await readJson(response, maxBytes) }
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error
      const { origin } = new URL(request.url)
      const message = `${origin} did not answer within ${limitMs / 1000} s`
      throw new NetworkError('headers_timeout', origin, message, { sent: true, cause: error })
    }
  })
}

/** Returns a member of a response if it is a text, and not empty. */
export function memberText(json: unknown, name: string): string | undefined {
  const value = isJsonObject(json) ? json[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Returns an {@link OAuthFailure} for a response to `what` that decides nothing: `unavailable` for one with status 429 or 5xx,
 * `blocked` for one of a bot protection; undefined for any other.
 */
export function busyFailure(
  response: ServerResponse,
  what: string,
  now: number,
  issuer?: string,
): OAuthFailure | undefined {
  const { status, headers } = response
  if (isBrowserChallenge(response)) {
    return new OAuthFailure('blocked', `${what}: ${String(browserWall(response))}.`, { issuer })
  }
  if (status !== 429 && status < 500) return undefined
  const options = { issuer, retryAfterSeconds: retryAfterSeconds(headers, now) }
  return new OAuthFailure('unavailable', `${what} answered with status ${status}.`, options)
}
