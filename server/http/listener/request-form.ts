import { longestTarget, mostHeaders, type RequestFault, requestFaults } from './request-fault.ts'

/** The head of a request as Node parsed it, before anything is made of it. */
export interface RequestHead {
  method?: string | undefined
  url?: string | undefined
  httpVersionMinor: number
  rawHeaders: readonly string[]
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** What a path consists of (RFC 3986 section 3.3). */
const pathPattern = /^[\w\-.~!$&'()*+,;=:@%/]*$/
/** A target in absolute form, of a host that a URL parser takes as it is written: it drops line breaks, for instance. */
const absolutePattern = /^https?:\/\/[\w\-.:[\]]+(\/.*)?$/i
/** A dot segment, or a slash, backslash or NUL that is encoded: another program may take the path for another one. */
const ambiguousPattern = /\/(?:\.|%2e){1,2}(?:\/|$)|%(?:2f|5c|00)/i
// The fragment never leaves a client, and the rest is no part of a query either (RFC 3986 section 3.4); some clients
// leave out the encoding of brackets and bars, which does no harm.
const queryPattern = /^[!$-~]*$/

/**
 * What is wrong with the form of a request, beyond what Node refuses by itself; undefined when nothing is. A server that
 * reads a request otherwise than the proxy before it would answer what the proxy never let through (RFC 9112 section 11.2).
 */
export function formFaultOf(head: RequestHead): RequestFault | undefined {
  // RFC 9110 section 9.1: TRACE, and whatever else only Node knows, is not implemented here.
  if (!methods.has(head.method ?? '')) return requestFaults.method_unknown
  return targetFaultOf(head.url ?? '') ?? headerFaultOf(head)
}

function targetFaultOf(target: string): RequestFault | undefined {
  if (target.length > longestTarget) return requestFaults.target_too_long
  // RFC 9112 section 3.2.2: a server takes the absolute form too. Whether its host is ours is seen later.
  const local = target.startsWith('/') ? target : absolutePattern.exec(target)?.[1]
  const [path = '', ...queries] = (local ?? '').split('?')
  const sound =
    local !== undefined &&
    pathPattern.test(path) &&
    !ambiguousPattern.test(path) &&
    queryPattern.test(queries.join('?'))
  return sound ? undefined : requestFaults.target_invalid
}

function headerFaultOf({ rawHeaders, headers, httpVersionMinor }: RequestHead): RequestFault | undefined {
  if (rawHeaders.length > 2 * mostHeaders) return requestFaults.headers_too_many
  // RFC 9112 section 3.2: none or two of them are 400, in HTTP/1.0 too as far as we are concerned.
  if (countOf('host', rawHeaders) !== 1) return requestFaults.host_not_once
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (String(coding).toLowerCase() !== 'chunked' || httpVersionMinor === 0)) {
    // RFC 9112 section 6.1: where such a body ends is anybody's guess.
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
