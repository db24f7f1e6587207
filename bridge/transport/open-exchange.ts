import type { Readable } from 'node:stream'
import { NetworkError } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-client.ts'

/** The exchanges of a leg that are under way, so that closing it ends them. */
export interface OpenExchanges {
  /**
   * Runs one, under the signal of its caller or that of the leg. Once that is aborted, or the leg closed, all it rejects
   * with is a `NetworkError` with the fault `aborted`.
   */
  run(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void>
  /** Ends the body of that response when the leg is closed. */
  watch(response: HttpResponse): HttpResponse
  /** Ends all, and each that is started later. A request that has no response yet ends with the HTTP client. */
  abortAll(): void
}

export function createOpenExchanges(serverUrl: string): OpenExchanges {
  const closing = new AbortController()
  const running = new Set<() => void>()
  const bodies = new Set<Readable>()
  const { origin } = new URL(serverUrl)

  function abortedError(sent: boolean): NetworkError {
    return new NetworkError('aborted', origin, `the request to ${origin} was cancelled`, { sent })
  }

  return {
    run(outer, work) {
      const signal = outer ?? closing.signal
      if (signal.aborted || closing.signal.aborted) return Promise.reject(abortedError(false))
      return new Promise((resolve, reject) => {
        const abort = (): void => reject(abortedError(true))
        running.add(abort)
        work(signal).then(
          () => {
            running.delete(abort)
            return resolve()
          },
          (error: unknown) => {
            running.delete(abort)
            reject(signal.aborted && !isAborted(error) ? abortedError(true) : error)
          },
        )
      })
    },
    watch(response) {
      if (closing.signal.aborted) {
        response.body.destroy()
        throw abortedError(true)
      }
      const { body } = response
      bodies.add(body)
      body.once('close', () => bodies.delete(body))
      return response
    },
    abortAll() {
      closing.abort()
      for (const abort of running) abort()
      for (const body of bodies) body.destroy()
    },
  }
}

function isAborted(error: unknown): boolean {
  return error instanceof NetworkError && error.fault === 'aborted'
}
