import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { NetworkError } from './http-client.ts'
import type { HttpRequest, HttpResponse, NetworkFault } from './http-client.ts'

/** Where a request goes and how long it may take, in milliseconds; 0 for no limit. */
export interface DispatchPlan {
  url: URL
  /** Names and values in turn. */
  headers: string[]
  dispatcher: Dispatcher
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  /** Turns an error of undici into ours; `connected` as in `FaultPlace`. */
  explain(cause: unknown, connected: boolean): NetworkError
}

/**
 * One request dispatched through undici, and its response. Time limits are kept here rather than by undici, whose timers have
 * a resolution of half a second and cannot tell a silent server from a slow reader.
 */
export class DispatchedRequest implements Dispatcher.DispatchHandler {
  /** Rejects with {@link NetworkError}. */
  readonly response: Promise<HttpResponse>
  readonly #plan: DispatchPlan
  readonly #release: () => void
  #resolve!: (response: HttpResponse) => void
  #reject!: (error: NetworkError) => void
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #body: Readable | undefined
  #isComplete = false
  /** The first failure; later ones are its consequences. */
  #failure: NetworkError | undefined

  /** `open` holds the request until its body has been read. */
  constructor(request: HttpRequest, plan: DispatchPlan, open: Set<DispatchedRequest>) {
    this.#plan = plan
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const onAbort = (): void => this.cancel()
    this.#release = () => {
      clearTimeout(this.#timer)
      request.signal?.removeEventListener('abort', onAbort)
      open.delete(this)
    }
    open.add(this)
    request.signal?.addEventListener('abort', onAbort)
    if (request.signal?.aborted === true) this.cancel()
    else this.#start(request)
  }

  /** Ends the request or its body with the fault `aborted`. */
  cancel(): void {
    this.#end('aborted', `the request to ${this.#plan.url.origin} was cancelled`)
  }

  #start(request: HttpRequest): void {
    const { url, headers, connectTimeoutMs, dispatcher } = this.#plan
    this.#limit(connectTimeoutMs, 'connect_timeout', `could not connect to ${url.host}`)
    const options: Dispatcher.DispatchOptions = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers,
      body: request.body ?? null,
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    try {
      dispatcher.dispatch(options, this)
    } catch (error) {
      this.#fail(this.#plan.explain(error, false))
    }
  }

  /** @internal Connected, and about to write the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure !== undefined) return controller.abort(this.#failure)
    this.#controller = controller
    this.#limit(this.#plan.headersTimeoutMs, 'headers_timeout', `${this.#plan.url.origin} sent no response`)
  }

  /** @internal */
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // An interim response: the one that counts is still to come.
    if (status < 200) return
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (cause: Error | null, callback: (error?: Error | null) => void) => {
        if (!this.#isComplete) controller.abort(cause ?? new Error('not read to the end'))
        this.#release()
        callback(cause)
      },
    })
    // A body may fail before anyone reads it.
    body.on('error', () => {})
    this.#body = body
    this.#limitSilence()
    this.#resolve({ status, headers: joinedHeaders(headers), body })
  }

  /** @internal */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#timer?.refresh()
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  /** @internal */
  onResponseEnd(): void {
    this.#isComplete = true
    clearTimeout(this.#timer)
    // undici marks the connection free in an immediate that it has not queued yet. Ending the body after that lets the next
    // request use this connection instead of opening another one.
    queueMicrotask(() => setImmediate(() => this.#body?.push(null)))
  }

  /** @internal */
  onResponseError(_controller: unknown, cause: Error): void {
    if (this.#failure !== undefined || this.#body?.destroyed === true) return
    this.#fail(this.#plan.explain(cause, this.#controller !== undefined))
  }

  #limit(ms: number, fault: NetworkFault, what: string): void {
    clearTimeout(this.#timer)
    if (ms > 0) this.#timer = setTimeout(() => this.#end(fault, `${what} (after ${ms / 1000} s)`), ms)
  }

  #limitSilence(): void {
    const { bodyTimeoutMs, url } = this.#plan
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (bodyTimeoutMs === 0) return
    this.#timer = setTimeout(() => {
      // Bytes that wait for a slow reader are not silence of the server.
      if ((this.#body?.readableLength ?? 0) > 0) return this.#limitSilence()
      const what = `${url.origin} stopped sending in the middle of its response`
      this.#end('body_timeout', `${what} (after ${bodyTimeoutMs / 1000} s)`)
    }, bodyTimeoutMs)
  }

  #end(fault: NetworkFault, message: string): void {
    if (this.#failure !== undefined || this.#body?.readableEnded === true) return
    const sent = this.#controller !== undefined
    const error = new NetworkError(fault, this.#plan.url.origin, message, { sent })
    this.#fail(error)
    if (!this.#isComplete) this.#controller?.abort(error)
  }

  #fail(error: NetworkError): void {
    this.#failure = error
    this.#release()
    if (this.#body === undefined) this.#reject(error)
    else this.#body.destroy(error)
  }
}

/** `set-cookie` as a list; repeated values of other headers joined. */
function joinedHeaders(headers: Record<string, string | string[] | undefined>): HttpResponse['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (name === 'set-cookie') return [name, typeof value === 'string' ? [value] : value]
      return [name, Array.isArray(value) ? value.join(', ') : value]
    }),
  )
}
