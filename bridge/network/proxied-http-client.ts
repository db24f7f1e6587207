import type { Dispatcher } from 'undici'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'
import type { UrlClient } from './direct-http-client.ts'
import { NetworkError } from './http-client.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { errorCode } from './network-fault.ts'
import { ProxiedExchange } from './proxied-exchange.ts'
import { explainProxied } from './proxied-fault.ts'
import { createTunnelFactory } from './proxy-tunnel.ts'
import { requestHeaders } from './request-headers.ts'
import { unknownAuthorityCodes } from './tls-fault.ts'
import { createTrustedAuthorities } from './trusted-authorities.ts'
import type { TrustedAuthorities } from './trusted-authorities.ts'

const connectionOptions = { keepAliveInitialDelay: 30_000, autoSelectFamilyAttemptTimeout: 500 } as const

const poolOptions = {
  maxHeaderSize: 131_072,
  keepAliveTimeout: 50_000,
  keepAliveMaxTimeout: 50_000,
} as const

/**
 * The client for what goes through a proxy: a tunnel by CONNECT for https, requests in absolute form for http. Behaves as
 * the direct client does, but for the race with a server that closes an idle connection: undici does not tell whether a
 * connection was new, so what changes nothing a second time goes out again after any reset before the response, and a
 * POST never. Throws {@link NetworkError} `proxy` for a proxy that cannot be used; no message names its user or password.
 */
export function createProxiedClient(config: NetworkConfig, proxyUrl: string): UrlClient {
  const trusted = createTrustedAuthorities(config.ca)
  const open = new Set<ProxiedExchange>()
  let agent: Dispatcher | undefined

  function attempt(request: HttpRequest, url: URL): Promise<HttpResponse> {
    const proxy = readProxyUrl(proxyUrl, url.origin)
    agent ??= createAgent(proxy, config, trusted)
    const plan = {
      url,
      headers: [
        ...requestHeaders(request.headers, { 'User-Agent': config.userAgent }, url.origin).flat(),
        ...lengthHeader(request.body),
      ],
      dispatcher: agent,
      connectTimeoutMs: config.connectTimeoutMs,
      headersTimeoutMs: request.headersTimeoutMs ?? config.headersTimeoutMs,
      bodyTimeoutMs: request.bodyTimeoutMs ?? config.bodyTimeoutMs,
      explain: (cause: unknown, connected: boolean) => explainProxied(cause, { url, proxy, connected }),
    }
    return new ProxiedExchange(request, plan, open).response
  }

  function end(): void {
    void agent?.destroy(null)
    agent = undefined
  }

  function isWorthAnother(error: unknown, request: HttpRequest): boolean {
    if (!(error instanceof NetworkError)) return false
    if (error.fault === 'reset') return request.method !== 'POST'
    if (!unknownAuthorityCodes.has(errorCode(error.cause)) || !trusted.addSystem()) return false
    end()
    return true
  }

  return {
    async send(request, url) {
      try {
        return await attempt(request, url)
      } catch (error) {
        if (!isWorthAnother(error, request)) throw error
        return attempt(request, url)
      }
    },
    close() {
      for (const exchange of open) exchange.cancel()
      end()
    },
  }
}

function createAgent(proxy: URL, config: NetworkConfig, trusted: TrustedAuthorities): Dispatcher {
  const secureContext = trusted.context()
  const tls = { ...connectionOptions, ...(secureContext === undefined ? {} : { secureContext }) }
  const credentials = proxyAuthorization(proxy)
  return new ProxyAgent({
    ...poolOptions,
    uri: `${proxy.protocol}//${proxy.host}`,
    ...(credentials === undefined ? {} : { token: credentials }),
    proxyTunnel: false,
    proxyTls: { ...tls, timeout: config.connectTimeoutMs, ...(config.ipv4 ? { family: 4 } : {}) } as never,
    requestTls: { ...tls, timeout: config.connectTimeoutMs } as never,
    clientFactory: createTunnelFactory(config.connectTimeoutMs, poolOptions),
    factory: (origin, options) => new Pool(origin, Object.assign({}, options, poolOptions)),
  })
}

function lengthHeader(body: HttpRequest['body']): string[] {
  return body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]
}

/** Without a scheme it is http, as curl has it. */
function readProxyUrl(text: string, origin: string): URL {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(absolute) ? new URL(absolute) : undefined
  const fault = (message: string): NetworkError => new NetworkError('proxy', origin, message, { sent: false })
  if (url === undefined) throw fault('the address of the proxy is no URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fault(`a proxy of the kind ${url.protocol}// is not supported, only http:// and https://`)
  }
  return url
}

function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
