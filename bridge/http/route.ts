import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { SecureContext } from 'node:tls'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { NetworkError, type NetworkConfig } from './http-client.ts'
import { TunnelError } from './network-fault.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Returns whether a host name, as `URL.hostname` gives it, means this computer. Nothing is looked up. */
export function isLoopbackHost(hostname: string): boolean {
  return isLoopbackHostname(hostname) || isLocalName(hostname)
}

function isLocalName(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost')
}

/**
 * Returns the proxy for a URL as it was configured; this computer itself is always connected to directly. `noProxy` is what
 * curl and Go read: `*`, host names, which cover their subdomains, addresses and networks, each but the last with `:port`.
 */
export function chooseProxy(url: URL, proxy: NetworkConfig['proxy']): string | undefined {
  if (proxy === undefined || isLoopbackHost(url.hostname)) return undefined
  const configured = url.protocol === 'https:' ? proxy.https : proxy.http
  if (configured === undefined || configured === '') return undefined
  const entries = (proxy.noProxy ?? '').toLowerCase().split(/[\s,]+/)
  return entries.some((entry) => covers(entry, url)) ? undefined : configured
}

/** Returns that proxy as a URL; without a scheme it is http, as for curl. The {@link NetworkError} does not quote it. */
export function proxyFor(target: URL, config: NetworkConfig['proxy']): URL | undefined {
  const text = chooseProxy(target, config)
  if (text === undefined) return undefined
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const fault = (message: string): NetworkError =>
    new NetworkError('proxy', target.origin, message, { sent: false })
  if (!isUrl(absolute)) throw fault('the address of the proxy is not a URL')
  const url = new URL(absolute)
  if (url.protocol === 'http:' || url.protocol === 'https:') return url
  throw fault(`proxies of the kind ${url.protocol}// are not supported, only http:// and https://`)
}

function covers(entry: string, url: URL): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  if (entry.includes('/')) return coversNetwork(entry, url.hostname)
  const { host, port } = splitPort(entry)
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false
  const name = host.replace(/^\*?\./, '')
  const asked = withoutBrackets(url.hostname).replace(/\.$/, '')
  return name !== '' && (asked === name || (isIP(asked) === 0 && asked.endsWith(`.${name}`)))
}

function coversNetwork(entry: string, hostname: string): boolean {
  const address = withoutBrackets(hostname)
  const [network = '', bits = ''] = entry.split('/')
  const family = isIP(network)
  if (family === 0 || family !== isIP(address) || !/^\d{1,3}$/.test(bits)) return false
  if (Number(bits) > (family === 4 ? 32 : 128)) return false
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(network, Number(bits), kind)
  return list.check(address, kind)
}

function splitPort(entry: string): { host: string; port: string | undefined } {
  // An IPv6 address without brackets is full of colons and has no port.
  if (isIP(entry) === 6) return { host: entry, port: undefined }
  const [, host = entry, port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
  return { host: withoutBrackets(host), port }
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/** Load balancers close idle connections after 60 s or more (AWS 60, nginx 75): closing earlier avoids the race. */
const idleMs = 50_000

const poolOptions = { maxHeaderSize: 131_072, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs } as const

/** The first TCP probe after 30 s. Node gives a far address 250 ms before it tries the next one, which is too short. */
const socketOptions = { keepAliveInitialDelay: 30_000, autoSelectFamilyAttemptTimeout: 500 } as const

/**
 * Opens connections directly, or through `proxy`: by CONNECT for https, in absolute form for http. The number of connections is
 * not limited: requests would wait forever behind open streams.
 */
export function createDispatcher(
  { connectTimeoutMs: timeout }: NetworkConfig,
  secureContext: SecureContext | undefined,
  proxy: URL | undefined,
): Dispatcher {
  const tls = { ...socketOptions, timeout, ...(secureContext !== undefined && { secureContext }) }
  if (proxy === undefined) return new Agent({ ...poolOptions, connect: { ...tls, lookup: lookupHost } })
  const { username, password } = proxy
  const pair = Buffer.concat([bytesOf(username), Buffer.from(':'), bytesOf(password)])
  return new ProxyAgent({
    ...poolOptions,
    uri: `${proxy.protocol}//${proxy.host}`,
    ...(pair.length > 1 && { token: `Basic ${pair.toString('base64')}` }),
    proxyTunnel: false,
    // undici types these as TLS options only, but passes all of them to its connector.
    proxyTls: tls as never,
    requestTls: tls as never,
    clientFactory: (origin, options) => new TunnelPool(origin, timeout, options),
    factory: (origin, options) => new Pool(origin, Object.assign({}, options, poolOptions)),
  })
}

/** Decodes a part of a URL as curl does: to bytes of any encoding, and a percent sign without two digits stands for itself. */
function bytesOf(text: string): Buffer {
  const latin = text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 16)),
  )
  return Buffer.from(latin, 'latin1')
}

/**
 * Resolves names of this computer without a resolver (RFC 6761 section 6.3), because some return one family only: 127.0.0.1 first,
 * where most servers listen, then ::1.
 */
const lookupHost: LookupFunction = (hostname, options, callback) => {
  if (!isLocalName(hostname)) return lookup(hostname, options, callback)
  const first = { address: '127.0.0.1', family: 4 }
  const all = options.family === 4 ? [first] : [first, { address: '::1', family: 6 }]
  process.nextTick(() =>
    options.all === true ? callback(null, all) : callback(null, first.address, first.family),
  )
}

type Connect = (
  target: { servername?: string | undefined },
  callback: (error: Error | null, socket: unknown) => void,
) => void

/**
 * Opens tunnels for undici's `ProxyAgent`. Fails with {@link TunnelError}, to tell failures of the proxy from those behind it. Gives
 * up a proxy that accepts a connection and never answers after `timeoutMs`; 0 for never.
 */
class TunnelPool extends Pool {
  constructor(origin: URL, timeoutMs: number, options: object) {
    const { connect: open } = options as { connect: Connect }
    // TLS forbids an IP address as the server name, but undici passes it on for a proxy without a host name.
    const connectByName: Connect = (target, callback) =>
      open(isIP(target.servername ?? '') === 0 ? target : { ...target, servername: undefined }, callback)
    super(origin, { ...poolOptions, headersTimeout: timeoutMs, connect: connectByName as never })
  }

  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>
  override connect(
    options: Dispatcher.ConnectOptions,
    callback: (error: Error | null, data: Dispatcher.ConnectData) => void,
  ): void
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    return super.connect(options).then(
      (data) => {
        if (data.statusCode !== 407) return data
        data.socket.destroy()
        const cause = new Error('Proxy Authentication Required (407)')
        throw new TunnelError(cause, String(data.headers['proxy-authenticate'] ?? ''))
      },
      (cause: unknown) => {
        throw new TunnelError(cause)
      },
    )
  }
}
