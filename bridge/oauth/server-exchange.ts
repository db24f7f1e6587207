import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type HttpClient, type HttpRequest, type HttpResponse, NetworkError } from '../http/http-client.ts'
import { BodyError, readJson } from '../http/read-body.ts'

/** What everything that talks to authorization servers needs. */
export interface OAuthPorts {
  http: HttpClient
  runtime: Runtime
}

/** An answer that was read to its end. */
export interface ServerAnswer {
  status: number
  headers: HttpResponse['headers']
  /** Undefined when the body is no JSON, or larger than any answer of this kind. */
  json: unknown
}

/** Documents and token answers are a few kB; the largest signing keys and scope lists stay far below. */
const maxBytes = 256 * 1024
const limitMs = 15_000

/**
 * Sends one request and reads the answer as JSON, all of it within 15 seconds. Redirects are not followed. Rejects with
 * `NetworkError`: `aborted` when `signal` was, `headers_timeout` when time was up.
 */
export async function exchangeJson(
  request: HttpRequest,
  http: HttpClient,
  signal: AbortSignal | undefined,
): Promise<ServerAnswer> {
  // Not AbortSignal.any: some releases of Node 20 and 22 let go of such a signal at a garbage collection.
  const limit = new AbortController()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    limit.abort()
  }, limitMs)
  const abort = (): void => limit.abort()
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const response = await http.send({ ...request, signal: limit.signal })
    const { status, headers } = response
    return { status, headers, json: await readBodyAsJson(response) }
  } catch (error) {
    if (!isLate || signal?.aborted === true) throw error
    const { origin } = new URL(request.url)
    throw new NetworkError('headers_timeout', origin, `${origin} did not answer within ${limitMs / 1000} s`, {
      sent: true,
      cause: error,
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

async function readBodyAsJson(response: HttpResponse): Promise<unknown> {
  try {
    return await readJson(response, maxBytes)
  } catch (error) {
    if (error instanceof BodyError) return undefined
    throw error
  }
}
