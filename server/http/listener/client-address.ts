import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { createBoundedMap } from '../../core/bounded-map.ts'
import type { Peer } from '../endpoint.ts'

// A chain of proxies is short. What lies further left than this was not written by them.
const longestHeader = 2048
const mostHops = 32
// Reading an address takes longer than all else that is done with it, and most come again and again.
const mostRemembered = 10_000
const longestRemembered = 64
// IPv6 with eight groups of which the last two are IPv4, and a zone.
const longestAddress = 64

/** Where a request comes from: an IP address in its shortest form, undefined when nobody knows. */
export type ClientAddress = (request: Request, peer: Peer | undefined) => string | undefined

/** What a {@link ClientAddress} goes by, for whoever has no `Request` yet. */
export type AddressChain = (
  forwardedFor: string | null | undefined,
  peerAddress: string | undefined,
) => string | undefined

/** How the server is reached. */
export interface Reach {
  /**
   * Only proxies connect, as with an https base URL while requests come by http: TLS ends before this server. The address of one that is not trusted
   * says nothing about the client then, and is better not known than taken for everybody's.
   */
  onlyByProxy?: boolean
}

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/**
 * The {@link ClientAddress} behind `trustedProxies`, addresses and CIDR ranges that were checked before (throws for
 * others). It is the peer's own, unless that is a trusted proxy: then `X-Forwarded-For` is read from the right, where
 * the nearest proxy writes, to the first address that is no trusted proxy itself. An entry that is no address ends the
 * reading at the last good one. So what a client writes into the header never counts, as long as each trusted proxy
 * appends or replaces it.
 *
 * `Forwarded` (RFC 7239) is not read: hardly any proxy writes it, so it would mostly be what the client sent. Host and
 * scheme are never taken from a header.
 */
export function createClientAddress(trustedProxies: readonly string[], reach: Reach = {}): ClientAddress {
  const chain = createAddressChain(trustedProxies, reach)
  // A server of somebody else's may end TLS itself, and then clients connect to it.
  const direct = createAddressChain(trustedProxies)
  return (request, peer) => {
    const read = request.url.startsWith('https:') ? direct : chain
    return read(request.headers.get('x-forwarded-for'), peer?.address)
  }
}

/** {@link createClientAddress} over the header and the peer's address themselves. */
export function createAddressChain(trustedProxies: readonly string[], reach: Reach = {}): AddressChain {
  const ranges = trustedProxies.map(parseRange)
  const isTrusted = (address: Address): boolean => ranges.some((range) => contains(range, address))
  const read = (header: string, peerAddress: string): string | undefined => {
    const peer = parseAddress(peerAddress)
    if (peer === undefined) return undefined
    if (!isTrusted(peer)) return reach.onlyByProxy ? undefined : peer.toString()
    return farthestTrusted(peer, hopsOf(header), isTrusted).toString()
  }
  const known = createBoundedMap<string | null>(mostRemembered)
  return (forwardedFor, peerAddress) => {
    if (peerAddress === undefined) return undefined
    const header = ranges.length === 0 ? '' : (forwardedFor ?? '')
    if (header.length > longestRemembered) return read(header, peerAddress)
    const key = `${peerAddress} ${header}`
    const found = known.get(key)
    if (found !== undefined) return found ?? undefined
    const address = read(header, peerAddress)
    known.set(key, address ?? null)
    return address
  }
}

/** Follows `hops` as long as a trusted proxy vouches for the next. */
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

/** The entries of the header from the right, at most so many. */
function hopsOf(header: string): string[] {
  const hops: string[] = []
  let rest: string | undefined = header.slice(-longestHeader)
  const isCut = rest.length < header.length
  while (rest !== undefined && hops.length < mostHops) {
    const comma: number = rest.lastIndexOf(',')
    // The first entry of a header that was cut is cut itself.
    if (comma === -1 && isCut) break
    hops.push(rest.slice(comma + 1))
    rest = comma === -1 ? undefined : rest.slice(0, comma)
  }
  return hops
}

/** An entry, with the port that some proxies add. */
function parseHop(entry: string): Address | undefined {
  const text = entry.trim()
  const bracketed = /^\[([0-9a-f:.%]{2,64})\](?::\d{1,5})?$/i.exec(text)?.[1]
  const withPort = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(text)?.[1]
  return parseAddress(bracketed ?? withPort ?? text)
}

/** IPv4 as four decimal parts only, IPv6 without its zone; IPv4 that is mapped into IPv6 as what it is. */
function parseAddress(text: string): Address | undefined {
  if (text.length > longestAddress) return undefined
  // Asked first, as ipaddr.js also takes forms that other programs read otherwise, and is slow to refuse.
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
  // A range of mapped addresses is a range of what they stand for.
  const mapped = address.kind() === 'ipv6' && bits >= 96 && (address as ipaddr.IPv6).isIPv4MappedAddress()
  return mapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits]
}

function contains([range, bits]: Range, address: Address): boolean {
  return range.kind() === address.kind() && address.match(range, bits)
}
