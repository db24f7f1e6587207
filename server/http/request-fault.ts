import { type RequestFault, requestFaults } from './error-table.ts'
import { maxHeaders, maxTargetLength } from './request-limits.ts'

export interface RequestHead {
  method?: string | undefined
  url?: string | undefined
  httpVersionMinor: number
  rawHeaders: readonly string[]
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const pathPattern = /^[\w\-.~!$&'()*+,;=:@%/]*$/
/** Matches an absolute-form target whose host a URL parser leaves unchanged: parsers drop line breaks, for instance. */
const absolutePattern = /^https?:\/\/[\w\-.:[\]]+(\/.*)?$/i
/** A dot segment, or an encoded slash, backslash or NUL: another program may read the path differently. */
const ambiguousPattern = /\/(?:\.|%2e){1,2}(?:\/|$)|%(?:2f|5c|00)/i
/** The same if an encoded slash may be part of a name: still nothing that a decoding program may read as a dot segment. */
const ambiguousNamePattern = /(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|$)|%(?:5c|00)/i
// Fragments are never sent, and other characters do not belong in a query (RFC 3986 section 3.4). Some clients do not encode
// brackets and bars, which is harmless.
const queryPattern = /^[!$-~]*$/

/** Exceptions of one listener. */
export interface FormRules {
  /** Allows encoded slashes in a path, for names that contain slashes. */
  encodedSlashes?: boolean
}

/**
 * Returns the fault of a request that Node accepts; undefined if it has none. A server that reads a request differently
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
  // RFC 9112 section 3.2: none or two of them are 400. HTTP/1.0 knew no such header.
  const hosts = countOf('host', rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return requestFaults.host_not_once
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
