import { isIP, type LookupFunction } from 'node:net'
import { unlessAborted } from '@drawbridge/shared/async.ts'
import { decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'
import type { Dispatcher } from 'undici'
import type { FetchFailure, FetchOutcome, FetchQuery, GuardedFetch } from '../core/clients/client-fetch.ts'
import { createHostResolver, type ResolveHost } from './host-resolver.ts'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'

/** Ends a fetch with a named failure. */
class FetchError extends Error {
  readonly reason: FetchFailure

  constructor(reason: FetchFailure) {
    super(reason)
    this.name = 'FetchError'
    this.reason = reason
  }
}

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
 * trust this server more than others. Follows no redirects, decompresses nothing, sends no cookie or credential, and cuts the
 * body off at its limit.
 */
export function createGuardedFetch(config: GuardedFetchConfig): GuardedFetch {
  const { timeLimitMs = 5000, resolve = createHostResolver(), allowLoopback } = config
  const { userAgent, certificateAuthority } = config

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
    // On demand: a server whose clients register themselves never needs it.
    const { Agent, errors, request } = await import('undici')
    const agent = new Agent({
      connect: {
        lookup: pinnedLookup(addresses),
        // A connection attempt outlives the aborted request.
        timeout: timeLimitMs,
        // Ignores NODE_TLS_REJECT_UNAUTHORIZED, which may be set for a provider: TLS is the only proof of the host here.
        rejectUnauthorized: true,
        ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
      },
      maxResponseSize: query.maxBytes,
    })
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
    }
    try {
      return await readResponse(await request(url, { dispatcher: agent, signal, headers }))
    } catch (error) {
      throw error instanceof errors.ResponseExceededMaxSizeError ? new FetchError('too_large') : error
    } finally {
      void agent.destroy()
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

/** Returns the JSON text of a response. Throws {@link FetchError} for everything else, and errors of undici unchanged. */
async function readResponse({
  statusCode,
  headers: given,
  body,
}: Dispatcher.ResponseData): Promise<FetchOutcome> {
  const failure = failureOf(statusCode)
  if (failure) throw new FetchError(failure)
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(given)) {
    for (const value of [values].flat()) headers.append(name, value)
  }
  if (!isPlainJson(headers)) throw new FetchError('wrong_type')
  const text = decodeUtf8(await body.bytes())
  if (text === undefined) throw new FetchError('wrong_type')
  return { kind: 'fetched', text, headers }
}

function failureOf(status: number): FetchFailure | undefined {
  if (status === 200) return undefined
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 404 || status === 410) return 'not_found'
  return status >= 500 ? 'unreachable' : 'refused'
}

/**
 * Returns whether the body is uncompressed JSON. The request forbids compression, and a compressed body is refused unread: a few
 * bytes of it can become gigabytes.
 */
function isPlainJson(headers: Headers): boolean {
  const encoding = headers.get('content-encoding') ?? 'identity'
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return encoding.toLowerCase() === 'identity' && /^application\/(?:[a-z0-9.-]+\+)?json$/.test(type)
}
