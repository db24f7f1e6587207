import { NetworkError } from '../network/http-client.ts'

/** The exchanges of a leg that are under way, so that closing it ends them. */
export interface OpenExchanges {
  /** Runs one. What it rejects with after its signal was aborted is a `NetworkError` with the fault `aborted`. */
  run<Value>(
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value>
  /** Ends all, and each that is started later. */
  abortAll(): void
}

/** A controller for each exchange instead of `AbortSignal.any`: that leaks on some Node versions, and costs more. */
export function createOpenExchanges(serverUrl: string): OpenExchanges {
  const controllers = new Set<AbortController>()
  let isClosed = false

  return {
    async run(outer, work) {
      const controller = new AbortController()
      const abort = (): void => controller.abort()
      if (isClosed || outer?.aborted === true) throw abortedError(serverUrl, false)
      outer?.addEventListener('abort', abort, { once: true })
      controllers.add(controller)
      try {
        return await work(controller.signal)
      } catch (error) {
        throw controller.signal.aborted && !isAborted(error) ? abortedError(serverUrl, true) : error
      } finally {
        outer?.removeEventListener('abort', abort)
        controllers.delete(controller)
      }
    },
    abortAll() {
      isClosed = true
      for (const controller of controllers) controller.abort()
    },
  }
}

function isAborted(error: unknown): boolean {
  return error instanceof NetworkError && error.fault === 'aborted'
}

function abortedError(serverUrl: string, sent: boolean): NetworkError {
  const { origin } = new URL(serverUrl)
  return new NetworkError('aborted', origin, `the request to ${origin} was cancelled`, { sent })
}
