import { once } from 'node:events'
import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { fail, ok, type Outcome } from '@drawbridge/shared/terminal/check.ts'
import { remedy } from './remedy.ts'
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

/** Judges a chain as programs do that know the usual authorities and no intermediate. */
export function chainOutcome(chain: CertificateChain, host: string, now: Date): Outcome {
  const { sent, found, fault } = chain
  if (fault !== undefined) return (outcomes[fault] ?? ofUnknownAuthority)(chain, host, now)
  const missing = found.filter((one) => !isRoot(one) && !sent.some((other) => isSame(one, other)))
  if (missing.length === 0) return ok(`The chain is complete: ${found.map(subjectOf).join(', ')}.`)
  return incomplete(`${missing.map(subjectOf).join(', ')}, which this machine knows and clients do not`)
}

type Judge = (chain: CertificateChain, host: string, now: Date) => Outcome

const outcomes: Readonly<Record<string, Judge>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ({ sent: [own] }) =>
    incomplete(`the certificate of its issuer, ${nameIn(own?.issuer)}`),
  CERT_HAS_EXPIRED({ sent }, _, now) {
    const old = sent.find(({ valid_to: end }) => new Date(end) < now) ?? sent[0]
    return fail(
      `The certificate of ${subjectOf(old)} has expired, on ${old?.valid_to}. ${clock(now)}`,
      remedy('renewal', 'Renew it, or set the clock.'),
    )
  },
  CERT_NOT_YET_VALID({ sent }, _, now) {
    const early = sent.find(({ valid_from: start }) => new Date(start) > now) ?? sent[0]
    return fail(
      `The certificate of ${subjectOf(early)} is not valid before ${early?.valid_from}. ${clock(now)}`,
      'Set the clock of this machine (timedatectl set-ntp true), or wait.',
    )
  },
  ERR_TLS_CERT_ALTNAME_INVALID: ({ sent: [own] }, host) =>
    fail(`The certificate, of ${subjectOf(own)}, is not for ${host}.`, remedy('host', 'Serve one for it.')),
  DEPTH_ZERO_SELF_SIGNED_CERT: () =>
    fail('The certificate is self-signed: clients refuse it.', remedy('authority', 'Get another.')),
}

function ofUnknownAuthority({ sent, fault }: CertificateChain): Outcome {
  const last = sent.at(-1)
  return fail(
    `The chain ends at ${subjectOf(last)}, whose issuer ${nameIn(last?.issuer)} this machine does not know (${fault}).`,
    remedy(
      'authority',
      'Send what is missing of it. Of an authority of your own: programs take it with NODE_EXTRA_CA_CERTS or the like, hosted clients never.',
    ),
  )
}

function incomplete(missing: string): Outcome {
  const fix = remedy('chain', 'Send the intermediate certificates too, behind its own.')
  return fail(`The server does not send ${missing}.`, fix)
}

const clock = (now: Date): string => `The clock of this machine says ${now.toISOString()}.`
const isRoot = ({ subject, issuer }: PeerCertificate): boolean => isDeepStrictEqual(subject, issuer)
const isSame = (one: PeerCertificate, other: PeerCertificate): boolean =>
  one.fingerprint256 === other.fingerprint256
const subjectOf = (certificate: PeerCertificate | undefined): string => nameIn(certificate?.subject)
const nameIn = (name: PeerCertificate['subject'] | undefined): string => String(name?.CN ?? name?.O)
