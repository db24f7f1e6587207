import ipaddr from 'ipaddr.js'

const ipv6GroupsOfBlock = 4

/**
 * Who counts as one source in limits per address: an IPv4 address itself, of an IPv6 address the /64 that a household or
 * machine is given as a whole (RFC 6177 section 2). Whatever is no address stands for itself.
 */
export function addressBlock(address: string): string {
  // Nearly every address: nothing to parse.
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const groups = parsed.parts.slice(0, ipv6GroupsOfBlock).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
