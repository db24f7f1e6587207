/** All headers of one request: a session cookie may be 128 KiB, and Node's default refuses it at six chunks. */
export const maxHeaderBytes: number = 144 * 1024

/** Header lines of one request. A browser behind two proxies sends forty. */
export const maxHeaders = 200

/** RFC 9110 section 4.1 asks for at least 8000; an authorization request carries its state in the URL. */
const maxTargetLength: number = 16 * 1024

/** Enough for any form or registration that a client sends. */
export const maxFormBytes: number = 64 * 1024

/** What can be wrong with any request. */
export type RequestFaultName =
  | 'malformed'
  | 'target_invalid'
  | 'host_not_once'
  | 'too_slow'
  | 'body_too_large'
  | 'target_too_long'
  | 'body_no_form'
  | 'body_no_json'
  | 'body_encoded'
  | 'expectation'
  | 'headers_too_many'
  | 'headers_too_large'
  | 'method_unknown'
  | 'transfer_coding'
  | 'proxy'
  | 'version'

/** What a refusal of a malformed request says; the code is always `invalid_request`. */
export interface RequestFault {
  status: number
  description: string
}

/** All request faults, ordered by status. */
export const requestFaults: Readonly<Record<RequestFaultName, RequestFault>> = {
  malformed: { status: 400, description: 'This is not a valid HTTP request.' },
  target_invalid: { status: 400, description: 'The host or the path is not valid.' },
  host_not_once: { status: 400, description: 'Send exactly one Host header.' },
  too_slow: { status: 408, description: 'The request did not arrive in time. Try again.' },
  body_too_large: {
    status: 413,
    description: `The body is larger than ${maxFormBytes} bytes. Send a smaller one.`,
  },
  target_too_long: {
    status: 414,
    description: `The URL is longer than ${maxTargetLength} bytes. Send a shorter one.`,
  },
  body_no_form: { status: 415, description: 'Send the body as application/x-www-form-urlencoded.' },
  body_no_json: { status: 415, description: 'Send the body as application/json.' },
  body_encoded: { status: 415, description: 'Send the body without a Content-Encoding.' },
  expectation: { status: 417, description: 'The only supported expectation is 100-continue.' },
  headers_too_many: { status: 431, description: `There are more than ${maxHeaders} headers. Send fewer.` },
  headers_too_large: {
    status: 431,
    description: `The headers are larger than ${maxHeaderBytes} bytes. Clear old cookies and try again.`,
  },
  method_unknown: { status: 501, description: 'This method is not supported.' },
  transfer_coding: { status: 501, description: 'The only supported transfer coding is chunked.' },
  proxy: { status: 501, description: 'This server is not a proxy.' },
  version: { status: 505, description: 'The supported versions are HTTP/1.1 and HTTP/1.0.' },
}

/** The head of a request as Node parsed it. */
export interface RequestHead {
  method?: string | undefined
  url?: string | undefined
  httpVersionMinor: number
  rawHeaders: readonly string[]
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Characters of a path (RFC 3986 section 3.3). */
const pathPattern = /^[\w\-.~!$&'()*+,;=:@%/]*$/
/** A target in absolute form whose host a URL parser takes unchanged: parsers drop line breaks, for instance. */
const absolutePattern = /^https?:\/\/[\w\-.:[\]]+(\/.*)?$/i
/** A dot segment, or an encoded slash, backslash or NUL: another program may read the path differently. */
const ambiguousPattern = /\/(?:\.|%2e){1,2}(?:\/|$)|%(?:2f|5c|00)/i
/** The same where an encoded slash may be part of a name: still nothing that a program which decodes it may read as a dot segment. */
const ambiguousNamePattern = /(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|$)|%(?:5c|00)/i
// Fragments are never sent, and other characters do not belong in a query (RFC 3986 section 3.4). Some clients do not encode
// brackets and bars, which is harmless.
const queryPattern = /^[!$-~]*$/

/** What a listener takes that others refuse. */
export interface FormRules {
  /** Encoded slashes in a path, for names that have slashes. */
  encodedSlashes?: boolean
}

/**
 * What is wrong with a request beyond what Node refuses; undefined when nothing is. A server that reads a request differently
 * from the proxy in front of it would serve what the proxy never let through (RFC 9112 section 11.2).
 */
export function formFaultOf(
  head: RequestHead,
  { encodedSlashes = false }: FormRules = {},
): RequestFault | undefined {
  // RFC 9110 section 9.1: TRACE and other methods that only Node knows are not implemented here.
  if (!methods.has(head.method ?? '')) return requestFaults.method_unknown
  const ambiguous = encodedSlashes ? ambiguousNamePattern : ambiguousPattern
  return targetFaultOf(head.url ?? '', ambiguous) ?? headerFaultOf(head)
}

function targetFaultOf(target: string, ambiguous: RegExp): RequestFault | undefined {
  if (target.length > maxTargetLength) return requestFaults.target_too_long
  // RFC 9112 section 3.2.2: a server accepts the absolute form too. Whether the host is ours is checked later.
  const local = target.startsWith('/') ? target : absolutePattern.exec(target)?.[1]
  const [path = '', ...queries] = (local ?? '').split('?')
  const sound =
    local !== undefined &&
    pathPattern.test(path) &&
    !ambiguous.test(path) &&
    queryPattern.test(queries.join('?'))
  return sound ? undefined : requestFaults.target_invalid
}

function headerFaultOf({ rawHeaders, headers, httpVersionMinor }: RequestHead): RequestFault | undefined {
  if (rawHeaders.length > 2 * maxHeaders) return requestFaults.headers_too_many
  // RFC 9112 section 3.2: none or two of them are 400; here in HTTP/1.0 too.
  if (countOf('host', rawHeaders) !== 1) return requestFaults.host_not_once
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (String(coding).toLowerCase() !== 'chunked' || httpVersionMinor === 0)) {
    // RFC 9112 section 6.1: the end of such a body is ambiguous.
    return requestFaults.transfer_coding
  }
  const content = headers['content-encoding'] ?? 'identity'
  return String(content).toLowerCase() === 'identity' ? undefined : requestFaults.body_encoded
}

function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]
    if (given?.length === name.length && given.toLowerCase() === name) count += 1
  }
  return count
}
