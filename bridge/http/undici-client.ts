import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Readable } from 'node:stream'
import { skipInterim, undiciConnected } from '@drawbridge/shared/interim-response.ts'
import type { Dispatcher } from 'undici'
import {
  NetworkError,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type NetworkConfig,
} from './http-client.ts'
import { withoutCodings } from './decoded-body.ts'
import { errorCode, networkError, unknownAuthorityCodes } from './network-fault.ts'
import { endingOf, mayRepeat } from './retry.ts'
import { createDispatcher, isLoopbackHost, proxyFor } from './route.ts'
import { TrustedAuthorities } from './trusted-authorities.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * The HTTP client of the bridge, on undici. Sends a request a second time when a kept connection turns out to be closed and
 * {@link mayRepeat} allows it, and when TLS failed because only the operating system knows the authority.
 */
export function createHttpClient(config: NetworkConfig): HttpClient {
  const trusted = new TrustedAuthorities(config.ca)
  const routes = new Map<string, Route>()
  /** Includes replaced ones until their last response has been read. */
  const dispatchers = new Set<Dispatcher>()
  subscribe(undiciConnected, skipInterim)

  function routeTo(url: URL): Route {
    const known = routes.get(url.origin)
    if (known !== undefined) return known
    // Anyone on the network can read a bearer token in plain text (RFC 6750 section 5.3).
    if (url.protocol === 'http:' && !config.allowHttp && !isLoopbackHost(url.hostname))
      throw refusal(url.origin, `${url.origin} is plain http, which is allowed for this computer only`)
    const proxy = proxyFor(url, config.proxy)
    const dispatcher = createDispatcher(config, trusted.context(), proxy)
    const route = { proxy, dispatcher }
    routes.set(url.origin, route)
    dispatchers.add(dispatcher)
    return route
  }

  /** Lets open requests finish and closes idle connections, which may be as dead as the one that failed. */
  function retireConnections(): void {
    for (const { dispatcher } of routes.values())
      void dispatcher.close().then(() => dispatchers.delete(dispatcher))
    routes.clear()
  }

  return {
    async send(request) {
      const url = readRequestUrl(request.url)
      const headers = requestHeaders(request, config.userAgent)
      const attempt = (): Promise<HttpResponse> =>
        new DispatchedRequest(request, url, headers, routeTo(url), config).response
      try {
        return await attempt()
      } catch (error) {
        if (!mayResend(error, request) && !(isUnknownAuthority(error) && trusted.addSystem())) throw error
        retireConnections()
        return attempt()
      }
    },
    close() {
      unsubscribe(undiciConnected, skipInterim)
      for (const dispatcher of dispatchers) void dispatcher.destroy(null)
      dispatchers.clear()
      routes.clear()
    },
  }
}

interface Route {
  proxy: URL | undefined
  dispatcher: Dispatcher
}

/** Parses an absolute http or https URL without user and password. Throws {@link NetworkError}, which quotes the origin at most. */
function readRequestUrl(text: string): URL {
  if (!isUrl(text)) throw refusal('', 'the address is not an absolute URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refusal('', `an address must begin with https:// or http://, not with ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    throw refusal(url.origin, `the address of ${url.host} must not carry a user name or password`)
  return url
}

function refusal(origin: string, message: string): NetworkError {
  return new NetworkError('protocol', origin, message, { sent: false })
}

function mayResend(error: unknown, { method }: HttpRequest): boolean {
  const ending = error instanceof NetworkError && error.fault === 'reset' ? endingOf(error) : undefined
  return ending !== undefined && mayRepeat(ending, { kind: 'http', method })
}

function isUnknownAuthority(error: unknown): boolean {
  return error instanceof NetworkError && unknownAuthorityCodes.has(errorCode(error.cause))
}

/** Without `Accept-Encoding` any coding is acceptable (RFC 9110 section 12.5.3). */
const unencoded = ['Accept-Encoding', 'identity'] as const

/** Returns names and values in turn; the later of two headers with the same name wins. undici refuses what HTTP does not allow, such as a line end. */
function requestHeaders({ headers: given }: HttpRequest, userAgent: string): string[] {
  const headers = new Map<string, readonly [name: string, value: string]>()
  for (const header of [['User-Agent', userAgent] as const, unencoded, ...Object.entries(given)])
    headers.set(header[0].toLowerCase(), header)
  return [...headers.values()].flat()
}

/**
 * One request dispatched through undici, and its response. Has no function as the value of a field: V8 allocates one that is assigned where it
 * is written among the objects that live long, and it would keep the response in memory until a full collection.
 */
class DispatchedRequest implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse>
  readonly #url: URL
  readonly #route: Route
  readonly #signal: AbortSignal | undefined
  readonly #onAbort: () => void
  readonly #limits: NetworkConfig
  #resolve!: (response: HttpResponse) => void
  #reject!: (error: NetworkError) => void
  #controller: Dispatcher.DispatchController | undefined
  #body: Readable | undefined
  #isComplete = false
  #failure: NetworkError | undefined

  constructor(request: HttpRequest, url: URL, headers: string[], route: Route, config: NetworkConfig) {
    const { signal, method, body = null, bodyTimeoutMs = config.bodyTimeoutMs } = request
    this.#url = url
    this.#route = route
    this.#signal = signal
    this.#limits = { ...config, bodyTimeoutMs }
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const onAbort = (): void => this.#cancel()
    this.#onAbort = onAbort
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted === true) this.#cancel()
    if (this.#failure !== undefined) return
    const path = `${url.pathname}${url.search}`
    const limits = { headersTimeout: config.headersTimeoutMs, bodyTimeout: bodyTimeoutMs }
    try {
      route.dispatcher.dispatch({ origin: url.origin, path, method, headers, body, ...limits }, this)
    } catch (error) {
      this.#fail(this.#explain(error))
    }
  }

  /** Called right before the request is written: from now on the server may have seen it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure !== undefined) return controller.abort(this.#failure)
    this.#controller = controller
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // An interim response; the final one follows.
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
    const { href: url, origin } = this.#url
    const response = { url, status, headers: joinedHeaders(headers), body }
    this.#resolve('content-encoding' in headers ? withoutCodings(response, origin) : response)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#isComplete = true
    // undici marks the connection free in an immediate that it has not queued yet. Ending the body after that lets the next
    // request use this connection instead of opening another one.
    queueMicrotask(() => setImmediate(() => this.#body?.push(null)))
  }

  onResponseError(_controller: unknown, cause: Error): void {
    if (this.#failure === undefined && this.#body?.destroyed !== true) this.#fail(this.#explain(cause))
  }

  /** Ends the request or its body with the fault `aborted`. */
  #cancel(): void {
    if (this.#failure !== undefined || this.#body?.readableEnded === true) return
    const { origin } = this.#url
    const sent = this.#controller !== undefined
    const error = new NetworkError('aborted', origin, `the request to ${origin} was cancelled`, { sent })
    this.#fail(error)
    if (!this.#isComplete) this.#controller?.abort(error)
  }

  #explain(cause: unknown): NetworkError {
    const connected = this.#controller !== undefined
    return networkError(cause, {
      url: this.#url,
      connected,
      proxy: this.#route.proxy,
      limits: this.#limits,
    })
  }

  #release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort)
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
