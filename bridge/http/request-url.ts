import { NetworkError } from './http-client.ts'
import { isLoopbackName } from './loopback-lookup.ts'

/**
 * The URL of a request, if it may be sent: absolute, http or https, without user and password, and not in plain text over
 * a network unless that was allowed. Throws {@link NetworkError} `protocol`, which quotes nothing but the origin.
 */
export function readRequestUrl(text: string, allowHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw refusal('', 'the address is no absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refusal('', `an address must begin with https:// or http://, not with ${url.protocol}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refusal(url.origin, `the address of ${url.host} must not carry a user name or password`)
  }
  if (url.protocol === 'http:' && !allowHttp && !isLoopbackHost(url.hostname)) {
    // Anyone on the network can read a bearer token in plain text (RFC 6750 section 5.3).
    throw refusal(url.origin, `${url.origin} is plain http, which is allowed for this computer only`)
  }
  return url
}

/** Whether a host name, as `URL.hostname` gives it, means this computer. Nothing is looked up. */
export function isLoopbackHost(hostname: string): boolean {
  return isLoopbackName(hostname) || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}

function refusal(origin: string, message: string): NetworkError {
  return new NetworkError('protocol', origin, message, { sent: false })
}
