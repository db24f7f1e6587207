import ipaddr from 'ipaddr.js'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Returns whether an IP address, as text without brackets, is on the public internet: unicast, and in no range for private, local,
 * shared, documentation, benchmarking, tunnelling or reserved use (IANA special-purpose registries, RFC 6890). IPv4 inside IPv6
 * (mapped, RFC 4291; NAT64, RFC 6052) is judged as the IPv4 address; 6to4 and Teredo are refused, since they embed any IPv4
 * address. False for anything but a plain address, and for the one public address that a cloud uses internally.
 */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text)
  if (!address) return false
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address)
  const bytes = address.toByteArray()
  const embedded = embeddedAddress(bytes)
  if (embedded) return isPublicIpv4(embedded)
  // Only 2000::/3 is allocated: other unicast ranges may be reserved later.
  return address.range() === 'unicast' && ((bytes[0] ?? 0) & 0xe0) === 0x20
}

/** Returns whether an IP address, as text without brackets, is this machine: 127.0.0.0/8 or `::1`, also mapped. */
export function isLoopbackAddress(text: string): boolean {
  const address = readAddress(text)
  if (!address) return false
  const mapped = startsWith(address.toByteArray(), mappedPrefix) && embeddedAddress(address.toByteArray())
  return (mapped || address).range() === 'loopback'
}

// On Azure, the host of a virtual machine, with its settings and extensions.
const azureHost = '168.63.129.16'

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && address.toString() !== azureHost
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
const nat64Prefix = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

/** Returns the IPv4 address embedded in an IPv6 one. Compares the prefixes here: the library's are wider. */
function embeddedAddress(bytes: readonly number[]): ipaddr.IPv4 | undefined {
  const embeds = startsWith(bytes, mappedPrefix) || startsWith(bytes, nat64Prefix)
  return bytes.length === 16 && embeds ? new ipaddr.IPv4(bytes.slice(12)) : undefined
}

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}

function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // Octal, hexadecimal and shortened IPv4 forms mean different addresses to different programs.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  // The URL parser writes it in groups only and rejects zones: the library takes ::1.2.3.4 for a mapped address.
  if (!text.includes(':') || !isUrl(`http://[${text}]`)) return undefined
  const groups = new URL(`http://[${text}]`).hostname.slice(1, -1)
  return ipaddr.IPv6.isValid(groups) ? ipaddr.IPv6.parse(groups) : undefined
}
