import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import {
  NetworkError,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type NetworkConfig,
  type NetworkFault,
} from './http-client.ts'
import { errorCode, networkError, unknownAuthorityCodes } from './network-fault.ts'
import { endingOf, mayRepeat } from './retry.ts'
import { createDispatcher, isLoopbackHost, proxyFor } from './route.ts'
import { createTrustedAuthorities } from './trusted-authorities.ts'

interface Route {
  proxy: URL | undefined
  dispatcher: Dispatcher
}

/**
 * Creates the HTTP client of the bridge, on undici; direct or through the configured proxy. Sends a request a second time by
 * itself when a kept connection turns out to be closed and {@link mayRepeat} allows it, and after a TLS failure for want of
 * an authority that the operating system knows. No message names the user or password of a proxy.
 */
export function createHttpClient(config: NetworkConfig): HttpClient {
  const trusted = createTrustedAuthorities(config.ca)
  const open = new Set<DispatchedRequest>()
  const dispatchers = new Map<string, Dispatcher>()
  const routes = new Map<string, Route>()

  function routeTo(url: URL): Route {
    const known = routes.get(url.origin)
    if (known !== undefined) return known
    // Anyone on the network can read a bearer token in plain text (RFC 6750 section 5.3).
    if (url.protocol === 'http:' && !config.allowHttp && !isLoopbackHost(url.hostname))
      throw refusal(url.origin, `${url.origin} is plain http, which is allowed for this computer only`)
    const proxy = proxyFor(url, config.proxy)
    const key = proxy?.href ?? ''
    const dispatcher = dispatchers.get(key) ?? createDispatcher(config, trusted, proxy)
    dispatchers.set(key, dispatcher)
    routes.set(url.origin, { proxy, dispatcher })
    return { proxy, dispatcher }
  }

  function attempt(request: HttpRequest, url: URL): Promise<HttpResponse> {
    const { proxy, dispatcher } = routeTo(url)
    const plan = {
      url,
      headers: requestHeaders(request, config.userAgent, url.origin),
      dispatcher,
      connectTimeoutMs: config.connectTimeoutMs,
      headersTimeoutMs: config.headersTimeoutMs,
      bodyTimeoutMs: request.bodyTimeoutMs ?? config.bodyTimeoutMs,
      explain: (cause: unknown, connected: boolean) => networkError(cause, { url, connected, proxy }),
    }
    return new DispatchedRequest(request, plan, open).response
  }

  /** Lets open requests finish and closes idle connections, which may be as dead as the one that failed. */
  function retireConnections(): void {
    for (const dispatcher of dispatchers.values()) void dispatcher.close()
    dispatchers.clear()
    routes.clear()
  }

  return {
    async send(request) {
      const url = readRequestUrl(request.url)
      try {
        return await attempt(request, url)
      } catch (error) {
        if (!mayResend(error, request) && !(isUnknownAuthority(error) && trusted.addSystem())) throw error
        retireConnections()
        return attempt(request, url)
      }
    },
    close() {
      for (const request of open) request.cancel()
      for (const dispatcher of dispatchers.values()) void dispatcher.destroy(null)
      dispatchers.clear()
      routes.clear()
    },
  }
}

/** Parses an absolute http or https URL without user and password. Throws {@link NetworkError}, which quotes the origin at most. */
function readRequestUrl(text: string): URL {
  if (!URL.canParse(text)) throw refusal('', 'the address is no absolute URL')
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

const allowedName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// Tabs, and all of Latin-1 except control characters (RFC 9110 section 5.5).
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Returns names and values in turn; of two with one name the later wins. Without `Accept-Encoding`, so that bodies come as they
 * are. Throws {@link NetworkError} `protocol` for a name or value that HTTP does not allow: a line end in it would start a
 * header, or a request, of somebody else's choice.
 */
function requestHeaders(
  { method, headers: given, body }: HttpRequest,
  userAgent: string,
  origin: string,
): string[] {
  const headers = new Map<string, [name: string, value: string]>()
  for (const [name, value] of [['User-Agent', userAgent] as const, ...Object.entries(given)]) {
    if (!allowedName.test(name) || forbiddenInValue.test(value))
      throw refusal(origin, `a header for ${origin} has a character that HTTP does not allow`)
    headers.set(name.toLowerCase(), [name, value])
  }
  // A POST without a body says so (RFC 9110 section 8.6).
  const hasLength = body !== undefined || method === 'POST'
  return [
    ...[...headers.values()].flat(),
    ...(hasLength ? ['Content-Length', String(Buffer.byteLength(body ?? ''))] : []),
  ]
}

/** The way and the limits of a request, in milliseconds; 0 for no limit. */
interface DispatchPlan {
  url: URL
  headers: string[]
  dispatcher: Dispatcher
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  explain(cause: unknown, connected: boolean): NetworkError
}

/**
 * One request dispatched through undici, and its response. Time limits are kept here rather than by undici, whose timers have
 * a resolution of half a second and cannot tell a silent server from a slow reader.
 */
class DispatchedRequest implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse>
  readonly #plan: DispatchPlan
  readonly #release: () => void
  #resolve!: (response: HttpResponse) => void
  #reject!: (error: NetworkError) => void
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #body: Readable | undefined
  #isComplete = false
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

  /** Connected, and about to write the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure !== undefined) return controller.abort(this.#failure)
    this.#controller = controller
    this.#limit(this.#plan.headersTimeoutMs, 'headers_timeout', `${this.#plan.url.origin} sent no response`)
  }

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

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#timer?.refresh()
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#isComplete = true
    clearTimeout(this.#timer)
    // undici marks the connection free in an immediate that it has not queued yet. Ending the body after that lets the next
    // request use this connection instead of opening another one.
    queueMicrotask(() => setImmediate(() => this.#body?.push(null)))
  }

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
