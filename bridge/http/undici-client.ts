import type { Dispatcher } from 'undici'
import { DispatchedRequest } from './dispatched-request.ts'
import { createDispatcher } from './dispatcher.ts'
import { NetworkError } from './http-client.ts'
import type { HttpClient, HttpRequest, HttpResponse } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { errorCode, networkError } from './network-fault.ts'
import { explainProxied } from './proxied-fault.ts'
import { chooseProxy, readProxyUrl } from './proxy-choice.ts'
import { readRequestUrl } from './request-url.ts'
import { unknownAuthorityCodes } from './tls-fault.ts'
import { createTrustedAuthorities } from './trusted-authorities.ts'

/**
 * The HTTP client of the bridge, on undici; direct or through the configured proxy. Sends a request a second time by itself in
 * three cases only: GET, HEAD and DELETE after a connection broke before the response; any request that was not
 * written whole; and after a TLS failure for want of an authority that the operating system knows. A POST that may
 * have reached the server is never repeated here. No message names the user or password of a proxy.
 */
export function createHttpClient(config: NetworkConfig): HttpClient {
  const trusted = createTrustedAuthorities(config.ca)
  const open = new Set<DispatchedRequest>()
  const dispatchers = new Map<string, Dispatcher>()

  function dispatcherFor(proxy: URL | undefined): Dispatcher {
    const key = proxy?.href ?? ''
    let dispatcher = dispatchers.get(key)
    if (dispatcher === undefined)
      dispatchers.set(key, (dispatcher = createDispatcher(config, trusted, proxy)))
    return dispatcher
  }

  function attempt(request: HttpRequest, url: URL, proxy: URL | undefined): Promise<HttpResponse> {
    const plan = {
      url,
      headers: [
        ...requestHeaders(request.headers, { 'User-Agent': config.userAgent }, url.origin).flat(),
        ...lengthHeader(request),
      ],
      dispatcher: dispatcherFor(proxy),
      connectTimeoutMs: config.connectTimeoutMs,
      headersTimeoutMs: request.headersTimeoutMs ?? config.headersTimeoutMs,
      bodyTimeoutMs: request.bodyTimeoutMs ?? config.bodyTimeoutMs,
      explain: (cause: unknown, connected: boolean) =>
        proxy === undefined
          ? networkError(cause, { url, connected })
          : explainProxied(cause, { url, proxy, connected }),
    }
    return new DispatchedRequest(request, plan, open).response
  }

  /** Open requests finish; idle connections, which may be as dead as the one that failed, are closed. */
  function retireConnections(): void {
    for (const dispatcher of dispatchers.values()) void dispatcher.close()
    dispatchers.clear()
  }

  return {
    async send(request) {
      const url = readRequestUrl(request.url, config.allowHttp)
      const proxyText = chooseProxy(url, config.proxy)
      const proxy = proxyText === undefined ? undefined : readProxyUrl(proxyText, url.origin)
      try {
        return await attempt(request, url, proxy)
      } catch (error) {
        if (!mayRetry(error, request) && !(isUnknownAuthority(error) && trusted.addSystem())) throw error
        retireConnections()
        return attempt(request, url, proxy)
      }
    },
    close() {
      for (const request of open) request.cancel()
      for (const dispatcher of dispatchers.values()) void dispatcher.destroy(null)
      dispatchers.clear()
    },
  }
}

function mayRetry(error: unknown, { method }: HttpRequest): boolean {
  if (!(error instanceof NetworkError) || error.fault !== 'reset') return false
  // A write that failed left the request incomplete, so the server cannot have acted on it.
  return method !== 'POST' || !error.sent || isWriteError(error.cause)
}

function isWriteError(cause: unknown): boolean {
  return cause instanceof Error && 'syscall' in cause && cause.syscall === 'write'
}

function isUnknownAuthority(error: unknown): boolean {
  return error instanceof NetworkError && unknownAuthorityCodes.has(errorCode(error.cause))
}

/** A POST without a body says so (RFC 9110 section 8.6). */
function lengthHeader({ body, method }: HttpRequest): string[] {
  if (body === undefined) return method === 'POST' ? ['Content-Length', '0'] : []
  return ['Content-Length', String(Buffer.byteLength(body))]
}

const allowedName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// Tabs, and all of Latin-1 except control characters (RFC 9110 section 5.5).
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * The headers of a request as they go onto the wire: `usual` ones unless others are given, then those given; of two with one
 * name the later. Not the length of the body. No `Accept-Encoding`, so that bodies come as they are. Throws
 * {@link NetworkError} `protocol` for a name or value that HTTP does not allow: a line end in it would start a header, or a
 * request, of somebody else's choice.
 */
function requestHeaders(
  given: HttpRequest['headers'],
  usual: Readonly<Record<string, string>>,
  origin: string,
): [name: string, value: string][] {
  const headers = new Map<string, [name: string, value: string]>()
  for (const [name, value] of [...Object.entries(usual), ...Object.entries(given)]) {
    if (!allowedName.test(name) || forbiddenInValue.test(value)) {
      const message = `a header for ${origin} has a character that HTTP does not allow`
      throw new NetworkError('protocol', origin, message, { sent: false })
    }
    headers.set(name.toLowerCase(), [name, value])
  }
  return [...headers.values()]
}
