import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { contentCodings, decodeBody } from '@drawbridge/shared/content-coding.ts'
import { skipInterim, undiciConnected } from '@drawbridge/shared/interim-response.ts'
import { maxRedirects, redirectTarget } from '@drawbridge/shared/redirect.ts'
import { Agent, type Dispatcher, errors } from 'undici'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { maxKeptLength } from '../incoming.ts'
import { subscriptionLimits } from '../subscriptions.ts'

export type UpstreamFailure = 'unreachable' | 'timeout' | 'broken' | 'left'

/** The upstream did not answer, or not completely. `left`: the client has disconnected. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, options?: ErrorOptions) {
    super(`The upstream gave no answer: ${failure}.`, options)
    this.name = 'UpstreamError'
    this.failure = failure
  }
}

export interface UpstreamRequest {
  method: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
  signal: AbortSignal
  /** True for a stream of notifications, which may stay silent. */
  mayBeSilent: boolean
}

/** The maximum of notification streams, and as many again for everything else. Further requests wait. */
const maxConnections = 2 * subscriptionLimits.total

/** Called for each request, and may change it. `answered` is called when the response begins, or without one on failure. */
export type ObserveRequest = (request: UpstreamRequest) => {
  request: UpstreamRequest
  answered: (answer: Dispatcher.ResponseData | undefined) => void
}

/** The connections to an upstream. Follows 307 and 308 redirects (for a GET also 301) within the origin of its URL. */
export class UpstreamConnection {
  readonly #agent: Agent
  readonly #url: URL
  readonly #timeoutMs: number
  readonly #observe: ObserveRequest

  constructor(
    { url, timeoutSeconds, connectTimeoutSeconds }: HttpUpstream,
    observe: ObserveRequest = (request) => ({ request, answered() {} }),
  ) {
    this.#observe = observe
    this.#url = new URL(url)
    this.#timeoutMs = timeoutSeconds * 1000
    subscribe(undiciConnected, skipInterim)
    this.#agent = new Agent({
      connect: { timeout: connectTimeoutSeconds * 1000 },
      connections: maxConnections,
    })
  }

  /** Rejects with {@link UpstreamError}. */
  async send(given: UpstreamRequest): Promise<Dispatcher.ResponseData> {
    const { request, answered } = this.#observe(given)
    const { method, headers, body, signal, mayBeSilent } = request
    let answer: Dispatcher.ResponseData | undefined
    try {
      let url = this.#url
      for (let followed = 0; ; followed += 1) {
        answer = await this.#agent.request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method,
          ...(body !== undefined && body.length > maxKeptLength
            ? givenOnce(headers, body)
            : { headers, body: body ?? null }),
          signal,
          headersTimeout: this.#timeoutMs,
          bodyTimeout: mayBeSilent ? 0 : this.#timeoutMs,
        })
        const { statusCode: status } = answer
        const target = redirectTarget({ method, url }, { status, location: answer.headers['location'] })
        if (target === undefined || followed === maxRedirects) return answer
        await discard(answer)
        url = target
      }
    } catch (error) {
      throw toUpstreamError(error, signal)
    } finally {
      answered(answer)
    }
  }

  async close(): Promise<void> {
    unsubscribe(undiciConnected, skipInterim)
    await this.#agent.destroy()
  }
}

/** Reads a short rest of a response within a second, so that its connection can be reused; closes it if there is more. */
export async function discard({ body }: Dispatcher.ResponseData): Promise<undefined> {
  if (!body.destroyed) await body.dump({ limit: 65_536, signal: AbortSignal.timeout(1000) }).catch(() => {})
}

type Bytes = AsyncIterable<Uint8Array>

/** Returns the decoded body of a response: some upstreams compress unasked. */
export function decodedBody({ body, headers }: Dispatcher.ResponseData): Readable {
  const codings = contentCodings(String(headers['content-encoding'] ?? ''))
  if (codings.length === 0) return body
  const through = (from: Bytes, to: PassThrough): Bytes => pipeline(from, to, () => {})
  const decoded = (bytes: Bytes): Bytes => decodeBody(bytes, codings, { ...zlib, through })
  // Closing the end of a pipeline leaves its source open.
  return pipeline(body, decoded, new PassThrough(), () => {}).once('close', () => body.destroy())
}

/** Releases a long request body once it is sent: undici would keep it until the response ends, which a stream may never do. */
function givenOnce(headers: Readonly<Record<string, string>>, text: string) {
  let bytes: Buffer | undefined = Buffer.from(text)
  const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
    const value = bytes
    bytes = undefined
    return value ? { done: false, value } : { done: true, value: undefined }
  }
  return {
    headers: { ...headers, 'content-length': String(bytes.length) },
    body: { [Symbol.asyncIterator]: () => ({ next }) } as AsyncIterable<Buffer> as never,
  }
}

/** Converts an error of undici. */
export function toUpstreamError(error: unknown, signal: AbortSignal): UpstreamError {
  if (signal.aborted) return new UpstreamError('left', { cause: error })
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError)
    return new UpstreamError('timeout', { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isUnreachable =
    error instanceof errors.ConnectTimeoutError ||
    /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS)/.test(
      code,
    )
  return new UpstreamError(isUnreachable ? 'unreachable' : 'broken', { cause: error })
}
