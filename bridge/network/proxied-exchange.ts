import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { NetworkError } from './http-client.ts'
import type { HttpRequest, HttpResponse, NetworkFault } from './http-client.ts'

/** Where and how a request goes out. */
export interface ProxiedPlan {
  url: URL
  /** Names and values in turn. */
  headers: string[]
  dispatcher: Dispatcher
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  /** The error for what undici says; `connected` as in `FaultPlace`. */
  explain(cause: unknown, connected: boolean): NetworkError
}

/** One request and its response through undici. `cancel` ends the body too. */
export class ProxiedExchange implements Dispatcher.DispatchHandler {
  /** Rejects with {@link NetworkError}. */
  readonly response: Promise<HttpResponse>
  readonly #plan: ProxiedPlan
  readonly #whenOver: () => void
  #resolve!: (response: HttpResponse) => void
  #reject!: (error: NetworkError) => void
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #body: Readable | undefined
  /** Why we ended it ourselves. */
  #verdict: NetworkError | undefined

  /** `open` holds it until it is over, body included. */
  constructor(request: HttpRequest, plan: ProxiedPlan, open: Set<ProxiedExchange>) {
    this.#plan = plan
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const onAbort = (): void => this.cancel()
    this.#whenOver = () => {
      clearTimeout(this.#timer)
      request.signal?.removeEventListener('abort', onAbort)
      open.delete(this)
    }
    open.add(this)
    request.signal?.addEventListener('abort', onAbort)
    if (request.signal?.aborted === true) this.cancel()
    else this.#start(request)
  }

  /** Ends the exchange with the fault `aborted`, at whatever point it is. */
  cancel(): void {
    this.#end('aborted', `the request to ${this.#plan.url.origin} was cancelled`)
  }

  #start(request: HttpRequest): void {
    const { url, headers, bodyTimeoutMs, connectTimeoutMs, dispatcher } = this.#plan
    this.#arm(connectTimeoutMs, 'connect_timeout', `${url.host} could not be connected to through the proxy`)
    const options: Dispatcher.DispatchOptions = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers,
      body: request.body ?? null,
      headersTimeout: 0,
      bodyTimeout: bodyTimeoutMs,
    }
    try {
      dispatcher.dispatch(options, this)
    } catch (error) {
      this.#fail(this.#plan.explain(error, false))
    }
  }

  /** @internal The connection is there; nothing has been written yet. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#verdict !== undefined) return controller.abort(this.#verdict)
    this.#controller = controller
    this.#arm(this.#plan.headersTimeoutMs, 'headers_timeout', `${this.#plan.url.origin} sent no response`)
  }

  /** @internal */
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    clearTimeout(this.#timer)
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (cause: Error | null, callback: (error?: Error | null) => void) => {
        controller.abort(cause ?? new Error('not read to the end'))
        this.#whenOver()
        callback(cause)
      },
    })
    this.#body = body
    this.#resolve({ status, headers: joinedHeaders(headers), body })
  }

  /** @internal */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  /** @internal */
  onResponseEnd(): void {
    this.#body?.push(null)
  }

  /** @internal */
  onResponseError(_controller: unknown, cause: Error): void {
    if (this.#verdict !== undefined || this.#body?.destroyed === true) return
    this.#fail(this.#plan.explain(cause, this.#controller !== undefined))
  }

  #arm(ms: number, fault: NetworkFault, what: string): void {
    clearTimeout(this.#timer)
    if (ms > 0) this.#timer = setTimeout(() => this.#end(fault, `${what} (after ${ms / 1000} s)`), ms)
  }

  #end(fault: NetworkFault, message: string): void {
    if (this.#verdict !== undefined || this.#body?.readableEnded === true) return
    const sent = this.#controller !== undefined
    const error = new NetworkError(fault, this.#plan.url.origin, message, { sent })
    this.#fail(error)
    this.#controller?.abort(error)
  }

  #fail(error: NetworkError): void {
    this.#verdict = error
    this.#whenOver()
    if (this.#body === undefined) this.#reject(error)
    else this.#body.destroy(error)
  }
}

/** As the other client gives them: `set-cookie` a list, of others that came twice the values in one. */
function joinedHeaders(headers: Record<string, string | string[] | undefined>): HttpResponse['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (name === 'set-cookie') return [name, typeof value === 'string' ? [value] : value]
      return [name, Array.isArray(value) ? value.join(', ') : value]
    }),
  )
}
