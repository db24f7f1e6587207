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
  /** Will be valid in 2090. */
  early: Identity
  /** Signed by an intermediate authority, whose certificate is the second of the PEM. */
  chained: Identity
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
    const sign = (name: string, extension: string, years: [number, number], by = 'ca'): Identity => {
      const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`]
      openssl('req', '-new', ...newKey, ...request, '-addext', extension)
      const times = ['-startdate', `${years[0]}0101000000Z`, '-enddate', `${years[1]}0101000000Z`]
      const issuer = ['-keyfile', `${by}.key`, '-cert', `${by}.pem`]
      const signing = [...issuer, '-in', `${name}.csr`, '-out', `${name}.pem`]
      openssl('ca', '-batch', '-notext', '-config', 'ca.cnf', ...signing, ...times)
      return { key: read(`${name}.key`), cert: read(`${name}.pem`) }
    }
    const loopback = 'subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:mcp.test'
    openssl('req', '-x509', ...newKey, '-keyout', 's.key', '-out', 's.pem', '-subj', '/CN=localhost', ...days)
    const intermediate = sign('intermediate', 'basicConstraints=critical,CA:TRUE', [2020, 2099])
    const { key, cert } = sign('chained', loopback, [2020, 2099], 'intermediate')
    return {
      authority: read('ca.pem'),
      valid: sign('valid', loopback, [2020, 2099]),
      expired: sign('expired', loopback, [2020, 2021]),
      early: sign('early', loopback, [2090, 2099]),
      chained: { key, cert: cert + intermediate.cert },
      misnamed: sign('misnamed', 'subjectAltName=DNS:other.example', [2020, 2099]),
      selfSigned: { key: read('s.key'), cert: read('s.pem') },
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
