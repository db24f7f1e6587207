import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RemoteSocket } from '../endpoint.ts'

// A chain of proxies is short. Entries further left were not written by them.
const maxHeaderLength = 2048
const maxHops = 32
// Parsing an address is the most expensive step, and most addresses recur.
const maxRemembered = 10_000
const maxRememberedLength = 64
// IPv6 with eight groups, the last two as IPv4, and a zone.
const maxAddressLength = 64

/** Returns the source of a request: an IP address in its shortest form, undefined if unknown. */
export type ClientAddress = (request: Request, peer: RemoteSocket | undefined) => string | undefined

/** The input of a {@link ClientAddress}, for callers without a `Request`. */
export type AddressChain = (
  forwardedFor: string | null | undefined,
  peerAddress: string | undefined,
) => string | undefined

/** How the server is reached. */
export interface Reach {
  /**
   * Only proxies connect: the base URL is https while requests arrive over http, because TLS ends before this server. An untrusted
   * proxy's address then says nothing about the client, and is treated as unknown.
   */
  onlyByProxy?: boolean
}

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/**
 * Creates the {@link ClientAddress} behind `trustedProxies`, validated addresses and CIDR ranges (throws for others). It is the
 * peer's own address, unless the peer is a trusted proxy: then `X-Forwarded-For` is read from the right, where the nearest proxy
 * writes, to the first address that is not a trusted proxy. An invalid entry stops at the last valid one. So what a client writes
 * into the header never counts, as long as each trusted proxy appends to it or replaces it.
 *
 * Does not read `Forwarded` (RFC 7239): hardly any proxy writes it, so it would mostly be what the client sent. Host and scheme are
 * never taken from a header.
 */
export function createClientAddress(trustedProxies: readonly string[], reach: Reach = {}): ClientAddress {
  const chain = createAddressChain(trustedProxies, reach)
  // A host server that mounts this one may terminate TLS itself; clients then connect to it directly.
  const direct = createAddressChain(trustedProxies)
  return (request, peer) => {
    const read = request.url.startsWith('https:') ? direct : chain
    return read(request.headers.get('x-forwarded-for'), peer?.address)
  }
}

/** Like {@link createClientAddress}, for the header and the peer's address. */
export function createAddressChain(trustedProxies: readonly string[], reach: Reach = {}): AddressChain {
  const ranges = trustedProxies.map(parseRange)
  const isTrusted = (address: Address): boolean => ranges.some((range) => contains(range, address))
  const read = (header: string, peerAddress: string): string | undefined => {
    const peer = parseAddress(peerAddress)
    if (peer === undefined) return undefined
    if (!isTrusted(peer)) return reach.onlyByProxy ? undefined : peer.toString()
    return farthestTrusted(peer, hopsOf(header), isTrusted).toString()
  }
  const known = new BoundedMap<string | null>(maxRemembered)
  return (forwardedFor, peerAddress) => {
    if (peerAddress === undefined) return undefined
    const header = ranges.length === 0 ? '' : (forwardedFor ?? '')
    if (header.length > maxRememberedLength) return read(header, peerAddress)
    const key = `${peerAddress} ${header}`
    const found = known.get(key)
    if (found !== undefined) return found ?? undefined
    const address = read(header, peerAddress)
    known.set(key, address ?? null)
    return address
  }
}

/** Follows `hops` while a trusted proxy vouches for the next. */
function farthestTrusted(
  peer: Address,
  hops: readonly string[],
  isTrusted: (address: Address) => boolean,
): Address {
  let last = peer
  for (const hop of hops) {
    const next = isTrusted(last) ? parseHop(hop) : undefined
    if (next === undefined) break
    last = next
  }
  return last
}

function hopsOf(header: string): string[] {
  const hops: string[] = []
  let rest: string | undefined = header.slice(-maxHeaderLength)
  const isCut = rest.length < header.length
  while (rest !== undefined && hops.length < maxHops) {
    const comma: number = rest.lastIndexOf(',')
    // The first entry of a truncated header is truncated itself.
    if (comma === -1 && isCut) break
    hops.push(rest.slice(comma + 1))
    rest = comma === -1 ? undefined : rest.slice(0, comma)
  }
  return hops
}

/** Parses an entry, possibly with the port that some proxies add. */
function parseHop(entry: string): Address | undefined {
  const text = entry.trim()
  const bracketed = /^\[([0-9a-f:.%]{2,64})\](?::\d{1,5})?$/i.exec(text)?.[1]
  const withPort = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(text)?.[1]
  return parseAddress(bracketed ?? withPort ?? text)
}

/** Parses IPv4 in four decimal parts only; IPv6 without its zone; IPv4-mapped IPv6 as IPv4. */
function parseAddress(text: string): Address | undefined {
  if (text.length > maxAddressLength) return undefined
  // Checked first, because ipaddr.js also accepts forms that other programs read differently, and is slow to refuse.
  switch (isIP(text)) {
    case 4:
      return ipaddr.IPv4.parse(text)
    case 6:
      return unwrapped(ipaddr.IPv6.parse(text.replace(/%.*$/, '')))
    default:
      return undefined
  }
}

function unwrapped(address: ipaddr.IPv6): Address {
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function parseRange(text: string): Range {
  if (!text.includes('/')) {
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  }
  const [address, bits] = ipaddr.parseCIDR(text)
  // A range of mapped addresses becomes the range of the IPv4 addresses.
  const mapped = address.kind() === 'ipv6' && bits >= 96 && (address as ipaddr.IPv6).isIPv4MappedAddress()
  return mapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits]
}

function contains([range, bits]: Range, address: Address): boolean {
  return range.kind() === address.kind() && address.match(range, bits)
}
