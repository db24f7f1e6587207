import { NetworkError } from './http-client.ts'
import type { NetworkFault } from './http-client.ts'
import { describeTlsFault, tlsNextStep } from './tls-fault.ts'

/** Where an exchange stood when it failed. */
export interface FaultPlace {
  url: URL
  /** Whether the connection was usable, TLS included: from then on the server may have seen the request. */
  connected: boolean
}

/** The {@link NetworkError} for an error of a socket, of TLS or of a parser. The words are ours, the code is the system's. */
export function networkError(cause: unknown, place: FaultPlace): NetworkError {
  if (cause instanceof NetworkError) return cause
  const code = errorCode(cause)
  const [fault, message] = place.connected
    ? describeBroken(code, place.url)
    : describeUnreached(code, place.url)
  return new NetworkError(fault, place.url.origin, message, {
    sent: place.connected,
    cause: withoutBytes(cause),
    nextStep: fault === 'tls' ? tlsNextStep(code, cause) : undefined,
  })
}

/** The `code` of an error, or an empty text. Of several tried addresses, the one that says most. */
export function errorCode(error: unknown): string {
  if (error instanceof AggregateError) {
    const codes = error.errors.map(errorCode)
    // Who refuses is there: it tells more than another address of the same host that no route leads to.
    return codes.find((code) => code === 'ECONNREFUSED') ?? codes[0] ?? ''
  }
  if (!(error instanceof Error)) return ''
  if (error.name === 'HTTPParserError') return String(parserCode(error))
  if (!('code' in error) || typeof error.code !== 'string') return ''
  // What OpenSSL found is in the message only: `write EPROTO ...:error:0A00010B:SSL routines:f:wrong version number:...`.
  const [, reason] = (error.code === 'EPROTO' && /:SSL routines:[^:]*:([^:]+):/.exec(error.message)) || []
  return reason === undefined ? error.code : `ERR_SSL_${reason.toUpperCase().replaceAll(/\W+/g, '_')}`
}

/** Parsers hang what they could not read onto their errors: bytes of a response, which may hold a token. */
function withoutBytes(cause: unknown): unknown {
  if (!(cause instanceof Error) || !('rawPacket' in cause || 'data' in cause)) return cause
  return Object.assign(new Error(cause.message), { code: parserCode(cause) })
}

/** undici leaves the code out for answers that are no HTTP at all. */
function parserCode(error: Error): unknown {
  return 'code' in error && error.code !== undefined ? error.code : 'HPE_INVALID_CONSTANT'
}

type Description = [fault: NetworkFault, message: string]

function describeUnreached(code: string, url: URL): Description {
  const { hostname, host } = url
  const tls = describeTlsFault(code, host)
  if (tls !== undefined) return ['tls', tls]
  if (isSyntaxFault(code)) return describeBroken(code, url)
  switch (code) {
    case 'ENOTFOUND':
    case 'ENODATA':
      return ['dns', `${hostname} has no address (${code})`]
    case 'EAI_AGAIN':
      return [
        'dns',
        `the address of ${hostname} could not be looked up now: no name server answered (${code})`,
      ]
    case 'ECONNREFUSED':
      return ['refused', `${endpoint(url)} refused the connection (${code})`]
    case 'ETIMEDOUT':
      return ['connect_timeout', `${endpoint(url)} did not answer the connection attempt (${code})`]
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
      return ['reset', `${endpoint(url)} closed the connection before it was ready (${code})`]
    default:
      if (code.startsWith('EAI_'))
        return ['dns', `the address of ${hostname} could not be looked up (${code})`]
      return ['unreachable', `${endpoint(url)} cannot be reached${inBrackets(code)}`]
  }
}

function describeBroken(code: string, url: URL): Description {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') {
    return ['protocol', `the headers of the response from ${url.origin} are too large (${code})`]
  }
  if (isSyntaxFault(code))
    return ['protocol', `${url.origin} answered with something that is no HTTP (${code})`]
  const tls = describeTlsFault(code, url.host)
  if (tls !== undefined) return ['tls', tls]
  if (code === 'ETIMEDOUT')
    return ['reset', `${url.origin} is gone from the network: the connection is dead (${code})`]
  return ['reset', `${url.origin} closed the connection before its answer was whole${inBrackets(code)}`]
}

function isSyntaxFault(code: string): boolean {
  return code.startsWith('HPE_') || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}

/** Host and port, also where the port is the scheme's own. */
function endpoint(url: URL): string {
  if (url.port !== '') return url.host
  return `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}`
}

function inBrackets(code: string): string {
  return code === '' ? '' : ` (${code})`
}
