import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A key and its certificate, both PEM. */
export interface Identity {
  key: string
  cert: string
}

/** Our own authority with certificates it signed, and a self-signed certificate. */
export interface Certificates {
  authority: string
  /** For localhost, 127.0.0.1 and mcp.test. */
  valid: Identity
  /** Was valid in 2020. */
  expired: Identity
  /** For another name. */
  misnamed: Identity
  selfSigned: Identity
}

const config = `
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index.txt
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
`

/** Creates them with openssl, as Node can read certificates but not sign them. Takes a fraction of a second. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-tls-'))
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  }
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  try {
    writeFileSync(join(folder, 'ca.cnf'), config)
    writeFileSync(join(folder, 'index.txt'), '')
    const days = ['-days', '30']
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-subj',
      '/CN=Test authority',
      ...days,
    )
    const sign = (name: string, names: string, start: string, end: string): Identity => {
      const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`]
      openssl('req', '-new', ...newKey, ...request, '-addext', `subjectAltName=${names}`)
      const times = ['-startdate', start, '-enddate', end]
      const signing = ['-keyfile', 'ca.key', '-cert', 'ca.pem', '-in', `${name}.csr`, '-out', `${name}.pem`]
      openssl('ca', '-batch', '-notext', '-config', 'ca.cnf', ...signing, ...times)
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) }
    }
    const loopback = 'DNS:localhost,IP:127.0.0.1,DNS:mcp.test'
    openssl('req', '-x509', ...newKey, '-keyout', 's.key', '-out', 's.pem', '-subj', '/CN=localhost', ...days)
    return {
      authority: read('ca.pem'),
      valid: sign('valid', loopback, '20200101000000Z', '20990101000000Z'),
      expired: sign('expired', loopback, '20200101000000Z', '20210101000000Z'),
      misnamed: sign('misnamed', 'DNS:other.example', '20200101000000Z', '20990101000000Z'),
      selfSigned: { key: read('s.key'), cert: read('s.pem') },
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
