import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls'

const timeoutMs = 5000

/** What a TLS server sends, its own certificate first, and how this machine judges it. */
export interface CertificateChain {
  sent: readonly PeerCertificate[]
  /** The same, completed with the authorities that this machine knows. */
  found: readonly PeerCertificate[]
  /** OpenSSL's code, such as `CERT_HAS_EXPIRED`; undefined if this machine trusts the certificate for the host. */
  fault: string | undefined
}

/**
 * Reads the chain of the server at an https URL. Node completes what it shows with the authorities that it knows, so a second
 * connection knows none. Undefined if there is no TLS connection within five seconds.
 */
export async function readChain(url: string): Promise<CertificateChain | undefined> {
  try {
    const [judged, bare] = await Promise.all([look(url), look(url, [])])
    return { sent: bare.chain, found: judged.chain, fault: judged.fault }
  } catch {
    return undefined
  }
}

async function look(url: string, ca?: string[]): Promise<{ chain: PeerCertificate[]; fault?: string }> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const trust = { rejectUnauthorized: false, ...(ca && { ca }) }
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = connect({ host, port: Number(port || 443), ...name, ...trust })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) })
    // A code, although the types say an error.
    const fault: unknown = socket.authorizationError
    const chain = chainOf(socket.getPeerCertificate(true))
    return typeof fault === 'string' ? { chain, fault } : { chain }
  } finally {
    socket.destroy()
  }
}

function chainOf(first: DetailedPeerCertificate): PeerCertificate[] {
  const chain = new Set<DetailedPeerCertificate>()
  // The issuer of a root is the root itself.
  for (let next = first; next?.subject && !chain.has(next); next = next.issuerCertificate) chain.add(next)
  return [...chain]
}
