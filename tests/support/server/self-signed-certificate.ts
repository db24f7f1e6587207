import { execFileSync } from 'node:child_process'

/** A key and a certificate that is its own authority, both PEM. */
export interface SelfSignedCertificate {
  key: string
  cert: string
}

/** Creates a certificate for those DNS names, valid for two days. */
export function createSelfSignedCertificate(names: readonly string[]): SelfSignedCertificate {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const alternatives = names.map((name) => `DNS:${name}`).join()
  const subject = ['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${alternatives}`]
  const made = ['req', '-x509', ...curve, ...subject, '-keyout', '-', '-out', '-']
  const pem = execFileSync('openssl', made, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const [key = '', cert = ''] = pem.split(/(?=-----BEGIN CERTIFICATE)/)
  return { key, cert }
}
