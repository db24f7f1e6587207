import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { NetworkError, type NetworkConfig, type NetworkFault } from './http-client.ts'

type Limits = Pick<NetworkConfig, 'connectTimeoutMs' | 'headersTimeoutMs' | 'bodyTimeoutMs'>

interface FaultPlace {
  url: URL
  /** The connection was usable, TLS included: from then on the server may have seen the request. */
  connected: boolean
  proxy?: URL | undefined
  limits?: Limits
}

/** The proxy gave no tunnel; `cause` is why. `offered` is its `Proxy-Authenticate`, if it wants to know who the user is. */
export class TunnelError extends Error {
  override readonly name = 'TunnelError'
  /** undici tries again at once, and forever, after errors with its own code for a closed socket. */
  readonly code = 'ERR_TUNNEL'
  readonly offered: string | undefined

  constructor(cause: unknown, offered?: string) {
    super('no tunnel', { cause })
    this.offered = offered
  }
}

/** Describes an error of undici, a socket, TLS or a parser. The words are ours, the code is the system's. */
export function networkError(cause: unknown, place: FaultPlace): NetworkError {
  if (cause instanceof NetworkError) return cause
  const { proxy, url, connected } = place
  const byProxy = proxy && proxiedError(cause, { ...place, proxy })
  if (byProxy !== undefined) return byProxy
  const code = errorCode(cause)
  const [fault, message] =
    describeEnd(code, place) ?? (connected ? describeBroken(code, url) : describeUnreached(code, url))
  return new NetworkError(fault, url.origin, message, {
    // A write that failed left the request incomplete: the server cannot have acted on it.
    sent: connected && !(cause instanceof Error && 'syscall' in cause && cause.syscall === 'write'),
    cause: withoutBytes(cause),
    nextStep: fault === 'tls' ? tlsNextStep(code, cause) : undefined,
  })
}

/** The `code` of an error, or an empty text. If several addresses were tried, the most telling one. */
export function errorCode(error: unknown): string {
  if (error instanceof AggregateError) {
    const codes = error.errors.map(errorCode)
    // A refused connection proves that the host is up.
    return codes.find((code) => code === 'ECONNREFUSED') ?? codes[0] ?? ''
  }
  if (!(error instanceof Error)) return ''
  if (error.name === 'HTTPParserError') return String(parserCode(error))
  if (!('code' in error) || typeof error.code !== 'string') return ''
  // OpenSSL's reason is only in the message: `write EPROTO ...:error:0A00010B:SSL routines:f:wrong version number:...`.
  const [, reason] = (error.code === 'EPROTO' && /:SSL routines:[^:]*:([^:]+):/.exec(error.message)) || []
  return reason === undefined ? error.code : `ERR_SSL_${reason.toUpperCase().replaceAll(/\W+/g, '_')}`
}

/** Parsers attach the bytes that they could not read to their errors, and these may contain a token. */
function withoutBytes(cause: unknown): unknown {
  if (!(cause instanceof Error) || !('rawPacket' in cause || 'data' in cause)) return cause
  return Object.assign(new Error(cause.message), { code: parserCode(cause) })
}

/** undici sets no code for responses that are not HTTP. */
function parserCode(error: Error): unknown {
  return 'code' in error && error.code !== undefined ? error.code : 'HPE_INVALID_CONSTANT'
}

type Description = [fault: NetworkFault, message: string]

/** Describes requests that the bridge ended: by a time limit, or by closing the client. */
function describeEnd(code: string, { url, limits }: FaultPlace): Description | undefined {
  const after = (ms = 0): string => `(after ${ms / 1000} s)`
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return ['connect_timeout', `could not connect to ${url.host} ${after(limits?.connectTimeoutMs)}`]
    case 'UND_ERR_HEADERS_TIMEOUT':
      return ['headers_timeout', `${url.origin} sent no response ${after(limits?.headersTimeoutMs)}`]
    case 'UND_ERR_BODY_TIMEOUT': {
      const what = `${url.origin} stopped sending in the middle of its response`
      return ['body_timeout', `${what} ${after(limits?.bodyTimeoutMs)}`]
    }
    // Nothing was sent: with a line end in a header, an attacker could add another header or a request.
    case 'UND_ERR_INVALID_ARG':
      return ['protocol', `a header for ${url.origin} has a character that HTTP does not allow`]
    case 'UND_ERR_DESTROYED':
      return ['aborted', `the request to ${url.origin} was cancelled`]
    default:
      return undefined
  }
}

const unreached: Readonly<Record<string, [NetworkFault, (name: string, endpoint: string) => string]>> = {
  ENOTFOUND: ['dns', (name) => `${name} has no address`],
  ENODATA: ['dns', (name) => `${name} has no address`],
  EAI_AGAIN: ['dns', (name) => `the address of ${name} could not be looked up now: no name server answered`],
  ECONNREFUSED: ['refused', (_, endpoint) => `${endpoint} refused the connection`],
  ETIMEDOUT: ['connect_timeout', (_, endpoint) => `${endpoint} did not answer the connection attempt`],
  ECONNRESET: ['reset', (_, endpoint) => `${endpoint} closed the connection before it was ready`],
  EPIPE: ['reset', (_, endpoint) => `${endpoint} closed the connection before it was ready`],
  ECONNABORTED: ['reset', (_, endpoint) => `${endpoint} closed the connection before it was ready`],
}

function describeUnreached(code: string, url: URL): Description {
  const { hostname, host } = url
  const tls = describeTlsFault(code, host)
  if (tls !== undefined) return ['tls', tls]
  if (isSyntaxFault(code)) return describeBroken(code, url)
  const endpoint = url.port === '' ? `${hostname}:${url.protocol === 'https:' ? 443 : 80}` : host
  const known = unreached[code]
  if (known !== undefined) return [known[0], `${known[1](hostname, endpoint)} (${code})`]
  return code.startsWith('EAI_')
    ? ['dns', `the address of ${hostname} could not be looked up (${code})`]
    : ['unreachable', `${endpoint} cannot be reached${inBrackets(code)}`]
}

function describeBroken(code: string, { host, origin }: URL): Description {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW')
    return ['protocol', `the headers of the response from ${origin} are too large (${code})`]
  if (isSyntaxFault(code)) return ['protocol', `${origin} answered with something other than HTTP (${code})`]
  const tls = describeTlsFault(code, host)
  if (tls !== undefined) return ['tls', tls]
  if (code === 'ETIMEDOUT')
    return ['reset', `${origin} is gone from the network: the connection is dead (${code})`]
  return ['reset', `${origin} closed the connection before its answer was whole${inBrackets(code)}`]
}

function isSyntaxFault(code: string): boolean {
  return code.startsWith('HPE_') || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}

function inBrackets(code: string): string {
  return code === '' ? '' : ` (${code})`
}

/** Describes a failure to reach the proxy, or of the proxy; undefined for one behind it. */
function proxiedError(cause: unknown, place: FaultPlace & { proxy: URL }): NetworkError | undefined {
  const { url, proxy, connected } = place
  const error = (kind: NetworkFault, message: string, sent: boolean, nextStep?: string): NetworkError =>
    new NetworkError(kind, url.origin, message, { sent, cause, nextStep })
  const isTunnel = cause instanceof TunnelError
  const reason: unknown = isTunnel ? cause.cause : cause
  const status = refusalOf(reason)
  if (status === 407)
    return error('proxy', ...authenticationWords(isTunnel ? cause.offered : undefined, proxy))
  if (status !== undefined) return error('proxy', refusalWords(status, url, proxy), false)
  const code = errorCode(reason)
  // Plain http is sent to the proxy itself, so any failure to connect is the proxy's.
  if (isTunnel || (!connected && url.protocol === 'http:')) {
    if (code === 'UND_ERR_HEADERS_TIMEOUT')
      return error('connect_timeout', `the proxy ${proxy.host} gave no connection to ${url.host}`, false)
    const { message } = networkError(reason, { ...place, url: new URL(proxy.origin), proxy: undefined })
    return error('proxy', `the proxy for ${url.origin} cannot be used: ${message}`, false)
  }
  if (code !== 'UND_ERR_CONNECT_TIMEOUT') return undefined
  const message = `${url.host} could not be connected to through the proxy ${proxy.host}`
  return error('connect_timeout', message, connected)
}

/** The status of the proxy's own response, which undici only gives in its messages. */
function refusalOf(cause: unknown): number | undefined {
  if (!(cause instanceof Error)) return undefined
  const [, status] = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(cause.message) ?? []
  return status === undefined ? undefined : Number(status)
}

function refusalWords(status: number, url: URL, proxy: URL): string {
  const name = `the proxy ${proxy.host}`
  if (status >= 500) return `${name} could not reach ${url.host} (${status})`
  return `${name} does not allow a connection to ${url.host} (${status})`
}

/** The authentication that a proxy requires, and the next step. With plain http the schemes are unknown. */
function authenticationWords(
  offered: string | undefined,
  proxy: URL,
): [message: string, sent: false, nextStep: string] {
  const schemes = parseWwwAuthenticate(offered ?? '').map(({ scheme }) => scheme)
  const local = 'a local proxy that does, such as px or cntlm, and name that with --proxy'
  if (schemes.length === 0 || schemes.includes('basic')) {
    const wants = `the proxy ${proxy.host} wants a user name and password, or others than it got (407)`
    const hint =
      schemes.length === 0
        ? ` If it wants NTLM or Negotiate, which the bridge does not speak: run ${local}.`
        : ''
    return [
      wants,
      false,
      `Write them into its address, http://USER:PASSWORD@${proxy.host}, with --proxy or HTTPS_PROXY.${hint}`,
    ]
  }
  const names = schemes.map((scheme) => schemeNames[scheme] ?? scheme).join(' or ')
  const wants = `the proxy ${proxy.host} wants ${names} (407), which the bridge does not speak; no password helps`
  return [wants, false, `Run ${local}; or go straight with --no-proxy.`]
}

const schemeNames: Readonly<Record<string, string>> = {
  digest: 'Digest',
  kerberos: 'Kerberos',
  negotiate: 'Negotiate',
  ntlm: 'NTLM',
}

/** Errors that can mean "unknown authority": the operating system may trust it. */
export const unknownAuthorityCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Describes a TLS error code at `host`, as the end of a sentence; `undefined` for any other code.
 * The text of the error itself is never used: OpenSSL puts file names and lines of its source into it.
 */
function describeTlsFault(code: string, host: string): string | undefined {
  const known = certificateFaults[code]
  if (known !== undefined) return `the certificate of ${host} ${known} (${code})`
  if (code.startsWith('ERR_SSL_')) return describeHandshakeFault(code, host)
  if (code === 'EPROTO') return `the TLS handshake with ${host} failed (EPROTO)`
  // Further codes of certificate verification (X509_V_ERR_*) have no prefix of their own.
  return /^(?:CERT|CRL|ERR_TLS_|INVALID_CA|PATH_LENGTH|HOSTNAME|EXCLUDED|EE_KEY|CA_KEY)/.test(code)
    ? `the certificate of ${host} was not accepted (${code})`
    : undefined
}

const untrusted = 'comes from an authority that is not trusted here'

const certificateFaults: Readonly<Record<string, string | undefined>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${untrusted}, or its chain is not complete`,
  CERT_UNTRUSTED: untrusted,
  CERT_HAS_EXPIRED: 'has expired, or the clock of this computer is wrong',
  CERT_NOT_YET_VALID: 'is not valid yet, or the clock of this computer is wrong',
  CERT_REVOKED: 'has been revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
  HOSTNAME_MISMATCH: 'is for another name',
}

function describeHandshakeFault(code: string, host: string): string {
  if (isPlainText(code)) return `${host} does not speak TLS on this port (${code})`
  if (/CERTIFICATE_REQUIRED|CERTIFICATE_UNKNOWN|BAD_CERTIFICATE/.test(code))
    return `${host} wants a client certificate, or refused ours (${code})`
  if (/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS/.test(code))
    return `${host} speaks no version of TLS that this computer accepts (${code})`
  return `the TLS handshake with ${host} failed (${code})`
}

/** Names the next step after a TLS error; undefined where it may be an authority that this computer does not know. */
function tlsNextStep(code: string, cause: unknown): string | undefined {
  if (isPlainText(code))
    return 'Write http:// for a server on this computer, or use the port that speaks https.'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') {
    const names = namesOf(cause)
    const these = names.length > 0 ? ` (${names.join(', ')})` : ''
    return `Use a name that the certificate has${these}, or correct the URL.`
  }
  return code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID'
    ? 'Check the clock of this computer; if it is right, tell the operator of the server.'
    : undefined
}

function isPlainText(code: string): boolean {
  return /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST/.test(code)
}

const maxNames = 5

/** The DNS names of the certificate in Node's error. Untrusted: keeps only valid names. */
function namesOf(cause: unknown): string[] {
  const { cert } = (cause ?? {}) as { cert?: { subjectaltname?: unknown } }
  const names = typeof cert?.subjectaltname === 'string' ? cert.subjectaltname.split(', ') : []
  return names.flatMap((name) => /^DNS:([a-z0-9*.-]{1,253})$/i.exec(name)?.[1] ?? []).slice(0, maxNames)
}
