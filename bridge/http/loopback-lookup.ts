import type { LookupFunction } from 'node:net'

/**
 * A lookup for names that mean this computer (RFC 6761 section 6.3): 127.0.0.1 first, because most servers listen there,
 * and ::1 for those that listen nowhere else. No resolver is asked: some know one of the two only, and it takes a thread.
 */
export const loopbackLookup: LookupFunction = (_hostname, options, callback) => {
  const all = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0)
  const addresses = family === 0 ? all : all.filter((address) => address.family === family)
  const [first] = addresses
  // As dns.lookup does, the answer comes later than the question.
  process.nextTick(() => {
    if (options.all === true) callback(null, addresses)
    else callback(null, first?.address ?? '127.0.0.1', first?.family ?? 4)
  })
}

/** Whether {@link loopbackLookup} is the one for a host name. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost')
}
