import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  BodyError,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  NetworkError,
  readJson,
} from '../http/http-client.ts'
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
 * Sends one request and reads the whole response as JSON within 15 seconds. Does not follow redirects. Rejects with
 * `NetworkError`: `aborted` when `signal` was aborted, `headers_timeout` after the time limit.
 */
export async function requestJson(
  request: HttpRequest,
  { http, signal }: Pick<OAuthContext, 'http' | 'signal'>,
): Promise<ServerResponse> {
  return await withLimit(limitMs, signal, async (limit) => {
    try {
      const response = await http.send({ ...request, signal: limit })
      const { status, headers } = response
      return { status, headers, json: await readBodyAsJson(response) }
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error
      const { origin } = new URL(request.url)
      throw new NetworkError(
        'headers_timeout',
        origin,
        `${origin} did not answer within ${limitMs / 1000} s`,
        {
          sent: true,
          cause: error,
        },
      )
    }
  })
}

async function readBodyAsJson(response: HttpResponse): Promise<unknown> {
  try {
    return await readJson(response, maxBytes)
  } catch (error) {
    if (error instanceof BodyError) return undefined
    throw error
  }
}
