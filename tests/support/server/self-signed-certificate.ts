import { generateKeyPairSync, sign } from 'node:crypto'

/** A key and a certificate that is its own authority, both PEM. */
export interface SelfSignedCertificate {
  key: string
  cert: string
}

const ecdsaWithSha256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'))

/** Creates an X.509 certificate for those DNS names, valid for a year around now (RFC 5280 section 4.1). */
export function createSelfSignedCertificate(names: readonly string[]): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(
    element(0x31, sequence(Buffer.from('0603550403', 'hex'), element(0x0c, names[0] ?? ''))),
  )
  const year = new Date().getUTCFullYear()
  const validity = sequence(time(year - 1), time(year + 1))
  const alternatives = sequence(...names.map((dnsName) => element(0x82, dnsName)))
  const extensions = sequence(
    sequence(Buffer.from('0603551d13', 'hex'), element(0x04, sequence(Buffer.from('0101ff', 'hex')))),
    sequence(Buffer.from('0603551d11', 'hex'), element(0x04, alternatives)),
  )
  const body = sequence(
    element(0xa0, Buffer.from('020102', 'hex')),
    element(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, extensions),
  )
  const signature = sign('sha256', body, privateKey)
  const certificate = sequence(body, ecdsaWithSha256, element(0x03, Buffer.from([0]), signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

function time(year: number): Buffer {
  return element(0x18, `${year}0101000000Z`)
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, ...parts)
}

/** Encodes one DER element: tag, length, content. */
function element(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const { length } = content
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}
