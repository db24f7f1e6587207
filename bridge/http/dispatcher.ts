import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { isLoopbackName, loopbackLookup } from './loopback-lookup.ts'
import type { NetworkConfig } from './network-config.ts'
import { createTunnelFactory } from './proxy-tunnel.ts'
import type { TrustedAuthorities } from './trusted-authorities.ts'

/** Load balancers close idle connections after 60 s or more (AWS 60, nginx 75): closing earlier avoids the race. */
const idleMs = 50_000

const poolOptions = { maxHeaderSize: 131_072, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs } as const

/** The first TCP probe after 30 s. Node gives a far address 250 ms before it tries the next one, which is too short. */
const socketOptions = { keepAliveInitialDelay: 30_000, autoSelectFamilyAttemptTimeout: 500 } as const

/**
 * Opens connections directly, or through `proxy`: by CONNECT for https, in absolute form for http. The number of connections is
 * not limited: requests behind open streams would wait for ever.
 */
export function createDispatcher(
  config: NetworkConfig,
  trusted: TrustedAuthorities,
  proxy: URL | undefined,
): Dispatcher {
  const secureContext = trusted.context()
  const timeout = config.connectTimeoutMs
  const family = config.ipv4 ? { family: 4 } : {}
  const tls = { ...socketOptions, timeout, ...(secureContext !== undefined && { secureContext }) }
  if (proxy === undefined) {
    return new Agent({ ...poolOptions, connect: { ...tls, ...family, lookup: lookupHost } })
  }
  const token = proxyAuthorization(proxy)
  return new ProxyAgent({
    ...poolOptions,
    uri: `${proxy.protocol}//${proxy.host}`,
    ...(token !== undefined && { token }),
    proxyTunnel: false,
    // undici types these as TLS options only, but hands them to its connector whole.
    proxyTls: { ...tls, ...family } as never,
    requestTls: tls as never,
    clientFactory: createTunnelFactory(timeout, poolOptions),
    factory: (origin, options) => new Pool(origin, Object.assign({}, options, poolOptions)),
  })
}

const lookupHost: LookupFunction = (hostname, options, callback) =>
  isLoopbackName(hostname) ? loopbackLookup(hostname, options, callback) : lookup(hostname, options, callback)

function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
