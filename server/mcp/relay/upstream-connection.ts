import { Agent, type Dispatcher, errors } from 'undici'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'

/** Why there is no answer of the upstream. */
export type UpstreamFailure = 'unreachable' | 'timeout' | 'broken' | 'left'

/** There is no answer of the upstream, or its rest is missing. `left`: the client has gone. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, options?: ErrorOptions) {
    super(`The upstream gave no answer: ${failure}.`, options)
    this.name = 'UpstreamError'
    this.failure = failure
  }
}

/** A request to the upstream. */
export interface UpstreamRequest {
  method: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
  signal: AbortSignal
  /** Whether nothing may come for as long as it takes, as on a stream of notifications. */
  mayBeSilent: boolean
}

/** The connections to an upstream. Follows no redirects. */
export class UpstreamConnection {
  readonly #agent: Agent
  readonly #url: URL
  readonly #timeoutMs: number

  constructor({ url, timeoutSeconds, connectTimeoutSeconds }: HttpUpstream) {
    this.#url = new URL(url)
    this.#timeoutMs = timeoutSeconds * 1000
    this.#agent = new Agent({ connect: { timeout: connectTimeoutSeconds * 1000 } })
  }

  /** Rejects with {@link UpstreamError}. */
  async send({
    method,
    headers,
    body,
    signal,
    mayBeSilent,
  }: UpstreamRequest): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#agent.request({
        origin: this.#url.origin,
        path: `${this.#url.pathname}${this.#url.search}`,
        method,
        headers,
        body: body ?? null,
        signal,
        headersTimeout: this.#timeoutMs,
        bodyTimeout: mayBeSilent ? 0 : this.#timeoutMs,
      })
    } catch (error) {
      throw toUpstreamError(error, signal)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

/** The {@link UpstreamError} for what undici threw. */
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
