import { isIP } from 'node:net'
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'

const timeoutMs = 5000

/** A certificate of a chain, by names. */
export interface ChainLink {
  fingerprint: string
  subject: string
  issuer: string
  isSelfSigned: boolean
  validFrom: Date
  validTo: Date
}

/** What a TLS server sends, and how this machine judges it. */
export interface CertificateChain {
  /** Its own certificate first. */
  sent: readonly ChainLink[]
  /** The same, completed with what this machine knows. */
  found: readonly ChainLink[]
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
    return { sent: bare.links, found: judged.links, fault: judged.fault }
  } catch {
    return undefined
  }
}

function look(url: string, ca?: string[]): Promise<{ links: ChainLink[]; fault: string | undefined }> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const servername = isIP(host) === 0 ? { servername: host } : {}
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      ...servername,
      ...(ca && { ca }),
      rejectUnauthorized: false,
    })
    const timer = setTimeout(() => socket.destroy(new Error('no answer')), timeoutMs)
    socket.once('error', reject)
    socket.once('close', () => {
      clearTimeout(timer)
      reject(new Error('closed'))
    })
    socket.once('secureConnect', () => {
      resolve({ links: linksOf(socket), fault: faultOf(socket) })
      socket.destroy()
    })
  })
}

/** Node has the code here, although the types say that it is an error. */
function faultOf({ authorizationError: fault }: TLSSocket): string | undefined {
  return (fault as unknown) ? String(fault) : undefined
}

function linksOf(socket: TLSSocket): ChainLink[] {
  const links: ChainLink[] = []
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (next?.fingerprint256 && !links.some(({ fingerprint }) => fingerprint === next?.fingerprint256)) {
    const [subject, issuer] = [nameOf(next.subject), nameOf(next.issuer)]
    links.push({
      fingerprint: next.fingerprint256,
      subject,
      issuer,
      isSelfSigned: JSON.stringify(next.subject) === JSON.stringify(next.issuer),
      validFrom: new Date(next.valid_from),
      validTo: new Date(next.valid_to),
    })
    next = next.issuerCertificate
  }
  return links
}

function nameOf(name: { CN?: string | string[]; O?: string | string[] }): string {
  return [name.CN ?? name.O ?? 'a certificate without a name'].flat().join(', ')
}
