/**
 * Faults that can mean "the authority is not known here": of a company's proxy, or of a network's own servers. The
 * authorities that the operating system trusts may know it.
 */
export const unknownAuthorityCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * What a TLS error code says about `host`, as the rest of a sentence's words; `undefined` for a code that is none of TLS.
 * The text of the error itself is never used: OpenSSL puts file names and lines of its source into it.
 */
export function describeTlsFault(code: string, host: string): string | undefined {
  const known = certificateFaults[code]
  if (known !== undefined) return `the certificate of ${host} ${known} (${code})`
  if (code.startsWith('ERR_SSL_')) return describeHandshakeFault(code, host)
  if (code === 'EPROTO') return `the TLS handshake with ${host} failed (EPROTO)`
  // Further codes of certificate verification (X509_V_ERR_*) have no prefix of their own.
  return /^(?:CERT|CRL|ERR_TLS_|INVALID_CA|PATH_LENGTH|HOSTNAME|EXCLUDED|EE_KEY|CA_KEY)/.test(code)
    ? `the certificate of ${host} was not accepted (${code})`
    : undefined
}

const certificateFaults: Readonly<Record<string, string | undefined>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: 'comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'comes from an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'comes from an authority that is not trusted here, or its chain is not complete',
  CERT_UNTRUSTED: 'comes from an authority that is not trusted here',
  CERT_HAS_EXPIRED: 'has expired, or the clock of this computer is wrong',
  CERT_NOT_YET_VALID: 'is not valid yet, or the clock of this computer is wrong',
  CERT_REVOKED: 'has been revoked',
  CERT_SIGNATURE_FAILURE: 'has a wrong signature',
  CERT_CHAIN_TOO_LONG: 'has a chain that is too long',
  CERT_REJECTED: 'was rejected',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
  HOSTNAME_MISMATCH: 'is for another name',
}

function describeHandshakeFault(code: string, host: string): string {
  if (isPlainText(code)) {
    return `${host} does not speak TLS on this port (${code})`
  }
  if (/CERTIFICATE_REQUIRED|CERTIFICATE_UNKNOWN|BAD_CERTIFICATE/.test(code)) {
    return `${host} wants a client certificate, or refused ours (${code})`
  }
  if (/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS/.test(code)) {
    return `${host} speaks no version of TLS that this computer accepts (${code})`
  }
  return `the TLS handshake with ${host} failed (${code})`
}

/** What to do about a TLS error; undefined where it may be an authority that this computer does not know. */
export function tlsNextStep(code: string, cause: unknown): string | undefined {
  if (isPlainText(code))
    return 'Write http:// for a server on this computer, or use the port that speaks https.'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') {
    const names = namesOf(cause)
    const these = names.length > 0 ? ` (${names.join(', ')})` : ''
    return `Use a name that the certificate has${these}, or correct the URL.`
  }
  return code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID'
    ? 'Check the clock of this computer; if it is right, tell whoever runs the server.'
    : undefined
}

function isPlainText(code: string): boolean {
  return /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST/.test(code)
}

const maxNames = 5

/** The DNS names of the certificate, as Node hangs it onto its error. Whoever answers chose them: only what a name can be. */
function namesOf(cause: unknown): string[] {
  const { cert } = (cause ?? {}) as { cert?: { subjectaltname?: unknown } }
  const names = typeof cert?.subjectaltname === 'string' ? cert.subjectaltname.split(', ') : []
  return names.flatMap((name) => /^DNS:([a-z0-9*.-]{1,253})$/i.exec(name)?.[1] ?? []).slice(0, maxNames)
}
