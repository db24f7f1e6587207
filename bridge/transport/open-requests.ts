import type { Readable } from 'node:stream'
import { NetworkError } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-client.ts'

/** The requests of a transport that are under way, so that closing it ends them. */
export class OpenRequests {
  readonly #closing = new AbortController()
  readonly #running = new Set<() => void>()
  readonly #bodies = new Set<Readable>()
  readonly #origin: string

  constructor(serverUrl: string) {
    this.#origin = new URL(serverUrl).origin
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /**
   * Runs one under the signal of its caller, or that of the transport. Once either is aborted, it rejects with nothing but a
   * `NetworkError` with the fault `aborted`.
   */
  run(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const signal = outer ?? this.#closing.signal
    if (signal.aborted || this.isClosed) return Promise.reject(this.#abortedError(false))
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(this.#abortedError(true))
      this.#running.add(abort)
      work(signal)
        .finally(() => this.#running.delete(abort))
        .then(resolve, (error: unknown) =>
          reject(signal.aborted && !isAborted(error) ? this.#abortedError(true) : error),
        )
    })
  }

  /** Ends the body of that response when the transport is closed. */
  watch(response: HttpResponse): HttpResponse {
    const { body } = response
    if (this.isClosed) {
      body.destroy()
      throw this.#abortedError(true)
    }
    this.#bodies.add(body)
    body.once('close', () => this.#bodies.delete(body))
    return response
  }

  /** Ends all, and each that is started later. A request that has no response yet ends with the HTTP client. */
  close(): void {
    this.#closing.abort()
    for (const abort of this.#running) abort()
    for (const body of this.#bodies) body.destroy()
  }

  #abortedError(sent: boolean): NetworkError {
    return new NetworkError('aborted', this.#origin, `the request to ${this.#origin} was cancelled`, { sent })
  }
}

function isAborted(error: unknown): boolean {
  return error instanceof NetworkError && error.fault === 'aborted'
}
