import { BlockList, isIP } from 'node:net'
import { NetworkError } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { isLoopbackHost } from './request-url.ts'

/**
 * The proxy that a URL goes through, as it was configured, or `undefined` for straight. This computer is never asked for
 * through a proxy.
 *
 * `noProxy` is what curl and Go read: entries between commas or spaces; `*` for everything; a host name, which covers
 * its subdomains too, with or without `.` or `*.` in front; an address or a network (`10.0.0.0/8`); each but the last
 * with `:port`.
 */
export function chooseProxy(url: URL, proxy: NetworkConfig['proxy']): string | undefined {
  if (proxy === undefined || isLoopbackHost(url.hostname)) return undefined
  const configured = url.protocol === 'https:' ? proxy.https : proxy.http
  if (configured === undefined || configured === '') return undefined
  const entries = (proxy.noProxy ?? '').toLowerCase().split(/[\s,]+/)
  return entries.some((entry) => covers(entry, url)) ? undefined : configured
}

/** Without a scheme it is http, as for curl. Throws {@link NetworkError} `proxy` for what cannot be used, without quoting it. */
export function readProxyUrl(text: string, origin: string): URL {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(absolute) ? new URL(absolute) : undefined
  const fault = (message: string): NetworkError => new NetworkError('proxy', origin, message, { sent: false })
  if (url === undefined) throw fault('the address of the proxy is not a URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fault(`proxies of the kind ${url.protocol}// are not supported, only http:// and https://`)
  }
  return url
}

function covers(entry: string, url: URL): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  if (entry.includes('/')) return coversNetwork(entry, url.hostname)
  const { host, port } = splitPort(entry)
  if (port !== undefined && port !== effectivePort(url)) return false
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

function effectivePort(url: URL): string {
  if (url.port !== '') return url.port
  return url.protocol === 'https:' ? '443' : '80'
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
