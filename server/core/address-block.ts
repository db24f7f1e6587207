import ipaddr from 'ipaddr.js'

/** An address block that limits count as one source; it may do `factor` times as much as a single address. */
export interface AddressBlock {
  name: string
  factor: number
}

// A home line has a /56 or a /48, a tunnel often a /48 (RFC 6177 section 2 asks for more than a /64 for every site). A mobile
// network or a hosting company gives many users addresses from one block, so wider blocks may do more.
const countedPrefixes = [
  { bits: 64, factor: 1 },
  { bits: 56, factor: 4 },
  { bits: 48, factor: 16 },
]

const networkBits = { ipv4: 24, ipv6: 48 }

/** Returns the blocks that `address` counts for, narrowest first. Text that is not an IP address stands for itself. */
export function addressBlocks(address: string): readonly AddressBlock[] {
  const parsed = address.includes(':') ? parse(address) : undefined
  if (parsed instanceof ipaddr.IPv6) {
    return countedPrefixes.map(({ bits, factor }) => ({ name: prefixOf(parsed, bits), factor }))
  }
  return [{ name: String(parsed ?? address), factor: 1 }]
}

/** True when two addresses belong to one household or machine: the same IPv4 address, or the same /64. */
export function isSameSource(first: string, second: string): boolean {
  return addressBlocks(first)[0]?.name === addressBlocks(second)[0]?.name
}

/** Returns the /24 or /48, for records that outlive a limit: it names no single customer. Empty if not an IP address. */
export function addressNetwork(address: string): string {
  const parsed = parse(address)
  return parsed === undefined ? '' : prefixOf(parsed, networkBits[parsed.kind()])
}

function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isAddress ? ipaddr.process(address) : undefined
}

function prefixOf(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const bytes = address.toByteArray().map((byte, index) => (index < bits / 8 ? byte : 0))
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`
}
