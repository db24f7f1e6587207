import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestSecure } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { unlessAborted } from '@drawbridge/shared/async.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { FetchOutcome, FetchQuery, GuardedFetch } from '../core/clients/client-fetch.ts'
import { isLoopbackAddress, isPublicAddress } from './guarded-fetch-address.ts'
import { createHostResolver, type ResolveHost } from './guarded-fetch-resolver.ts'
import { FetchError, readResponse } from './guarded-fetch-response.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export interface GuardedFetchConfig {
  userAgent: string
  /** For development, when this server is on loopback: allows loopback addresses, plain http and any port. */
  allowLoopback: boolean
  /** Base URL of this server, without a trailing slash: it never fetches from itself. */
  ownUrl?: string
  /** Name resolution, connection and body together. */
  timeLimitMs?: number
  resolve?: ResolveHost
  /** The only trusted certificate authority (PEM), instead of the public ones. */
  certificateAuthority?: string | undefined
}

/**
 * Creates a {@link GuardedFetch} over its own sockets. The URL comes from a client and may point anywhere: a home router, the
 * metadata service of a cloud, this host.
 *
 * The name is resolved once, every address of the answer must be public, and the connection goes to exactly one of those addresses,
 * so that a second answer of the name server changes nothing (DNS rebinding). Only the https port is allowed: other services may
 * trust this server more than a stranger. Follows no redirects, decompresses nothing, sends no cookie or credential, and cuts the
 * body off at its limit.
 */
export function createGuardedFetch(config: GuardedFetchConfig): GuardedFetch {
  const { timeLimitMs = 5000, resolve = createHostResolver(), allowLoopback } = config

  async function findAddresses(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
    const addresses = await addressesOf(hostname, signal)
    if (addresses.length === 0) throw new FetchError('unknown_host')
    const isAllowed = (address: string): boolean =>
      isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address))
    if (!addresses.every(isAllowed)) throw new FetchError('forbidden_address')
    return addresses
  }

  async function addressesOf(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(hostname) !== 0) return [hostname]
    // RFC 6761 section 6.3: no name server decides what localhost means.
    if (/^(?:.*\.)?localhost\.?$/i.test(hostname)) return ['127.0.0.1', '::1']
    try {
      return await unlessAborted(resolve(hostname, signal), signal, () => new FetchError('too_slow'))
    } catch (cause) {
      throw signal.aborted ? cause : new FetchError('unknown_host')
    }
  }

  async function fetchOnce(query: FetchQuery, signal: AbortSignal): Promise<FetchOutcome> {
    const url = readUrl(query.url, config)
    const hostname = url.hostname.replaceAll(/^\[|\]$/g, '')
    const addresses = await findAddresses(hostname, signal)
    const response = await send(url, addresses, query, signal, config)
    try {
      return await readResponse(response, query)
    } finally {
      response.destroy()
    }
  }

  return async (query) => {
    const signal = AbortSignal.timeout(timeLimitMs)
    try {
      return await fetchOnce(query, signal)
    } catch (error) {
      if (error instanceof FetchError) return { kind: 'failed', reason: error.reason }
      return { kind: 'failed', reason: signal.aborted ? 'too_slow' : 'unreachable' }
    }
  }
}

function readUrl(text: string, { allowLoopback, ownUrl }: GuardedFetchConfig): URL {
  if (!isUrl(text)) throw new FetchError('forbidden_url')
  const url = new URL(text)
  const plainAllowed = allowLoopback && url.protocol === 'http:' && isLoopbackHostname(url.hostname)
  const isAllowed =
    (url.protocol === 'https:' || plainAllowed) &&
    (url.port === '' || allowLoopback) &&
    url.username === '' &&
    url.password === '' &&
    !(ownUrl !== undefined && isBelow(url, ownUrl))
  if (!isAllowed) throw new FetchError('forbidden_url')
  return url
}

function isBelow({ href }: URL, base: string): boolean {
  return href.startsWith(base) && /^(?:$|[/?#])/.test(href.slice(base.length))
}

function send(
  url: URL,
  addresses: readonly string[],
  { etag }: FetchQuery,
  signal: AbortSignal,
  { userAgent, certificateAuthority }: GuardedFetchConfig,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:'
  return new Promise((resolve, reject) => {
    const request = (secure ? requestSecure : requestPlain)(url, {
      // No agent: connections of other fetches are not reused, and no proxy is involved.
      agent: false,
      signal,
      lookup: pinnedLookup(addresses),
      // Ignores NODE_TLS_REJECT_UNAUTHORIZED, which may be set for a provider: TLS is the only proof of the host here.
      rejectUnauthorized: true,
      ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': userAgent,
        connection: 'close',
        ...(etag !== undefined && { 'if-none-match': etag }),
      },
    })
    request.once('response', (response) => {
      // Readers see the failure; after that, an error must not end the process.
      response.on('error', () => {})
      resolve(response)
    })
    request.on('error', reject)
    // Refuse servers that switch protocols.
    request.once('upgrade', (response) => {
      response.destroy()
      reject(new FetchError('refused'))
    })
    request.end()
  })
}

/** Resolves every name to the addresses that were checked. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const [first] = all
    // Deferred: the socket is not ready for the result during the call.
    process.nextTick(() => {
      if (options.all) callback(null, all)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}
