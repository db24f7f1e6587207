import { execFileSync, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../support/until.ts'

const missingNginx = 'nginx or openssl is missing: install the apt packages `nginx-light` and `openssl`'
const document = fileURLToPath(new URL('../../docs/deploy.md', import.meta.url))

/** Returns whether nginx can be run. Prints one line if not, and throws instead when CI=true. */
export function hasNginx(environment: NodeJS.ProcessEnv = process.env): boolean {
  if (findProgram('nginx') && findProgram('openssl')) return true
  if (environment['CI'] === 'true') throw new Error(missingNginx)
  process.stderr.write(`skipped: ${missingNginx}\n`)
  return false
}

/** An nginx in front of a server, with a self-signed certificate. */
export interface NginxProxy {
  /** PEM of the certificate, which is its own authority. */
  certificate: string
  accessLog(): string
  close(): Promise<void>
}

/** Values substituted in the configuration of the document. */
export interface NginxAddresses {
  /** Ports for https and for http. */
  port: number
  plainPort: number
  /** Port of the server behind it. */
  upstreamPort: number
  /** Uses the configuration for a path of a shared host, instead of the one for its own host. */
  atPath: boolean
}

/**
 * Starts nginx with the configuration that docs/deploy.md shows: word for word, except for names, ports and files. With `atPath`
 * the second block, in the server block of another site.
 */
export async function startNginx(addresses: NginxAddresses): Promise<NginxProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-nginx-'))
  const file = (name: string): string => join(folder, name)
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const outputs = ['-keyout', file('key.pem'), '-out', file('certificate.pem')]
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, ...outputs], { stdio: 'pipe' })
  writeFileSync(file('nginx.conf'), mainConfiguration(folder))
  writeFileSync(file('drawbridge.conf'), siteConfiguration(addresses, file))
  writeFileSync(file('drawbridge-proxy.conf'), blockWith('proxy_buffer_size', 2))

  const child = spawn(findProgram('nginx') ?? '', ['-p', folder, '-c', file('nginx.conf'), '-e', 'stderr'])
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await until(
    () => child.exitCode !== null || isOpen(addresses.port),
    () => `nginx; it said: ${said}`,
  )
  if (child.exitCode !== null) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`nginx does not take the configuration:\n${said}`)
  }
  return {
    certificate: readFileSync(file('certificate.pem'), 'utf8'),
    accessLog: () => readFileSync(file('access.log'), 'utf8'),
    async close() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns an nginx block of the document by its position: its own host, the locations of a path, what they include. */
function blockWith(text: string, index: number): string {
  const blocks = [...readFileSync(document, 'utf8').matchAll(/```nginx\n(.*?)```/gs)].map(
    ([, body = '']) => body,
  )
  const block = blocks[index]
  if (blocks.length !== 3 || !block?.includes(text)) {
    throw new Error(`docs/deploy.md has no nginx block ${index} with ${text}.`)
  }
  return block
}

function siteConfiguration(addresses: NginxAddresses, file: (name: string) => string): string {
  const { port, plainPort, upstreamPort } = addresses
  const whole = substitute(blockWith('upstream', 0), [
    ['server 127.0.0.1:8787;', `server 127.0.0.1:${upstreamPort};`],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['server_name mcp.example.com;', 'server_name localhost;'],
    ['/etc/letsencrypt/live/mcp.example.com/fullchain.pem', file('certificate.pem')],
    ['/etc/letsencrypt/live/mcp.example.com/privkey.pem', file('key.pem')],
    ['/var/log/nginx/drawbridge.log', file('access.log')],
  ])
  if (!addresses.atPath) return whole
  const locations = substitute(blockWith('location /drawbridge/', 1), [
    ['/etc/nginx/drawbridge-proxy.conf', file('drawbridge-proxy.conf')],
  ])
  const upstream = /upstream drawbridge \{.*?\n\}/s.exec(whole)?.[0] ?? ''
  return `${upstream}
server {
  listen 127.0.0.1:${port} ssl http2;
  server_name localhost;
  ssl_certificate ${file('certificate.pem')};
  ssl_certificate_key ${file('key.pem')};
  access_log ${file('access.log')};
  location / {
    default_type text/plain;
    return 200 'the web app';
  }
${locations}
}`
}

/** Replaces each text everywhere; throws for one that is missing, as the document has changed then. */
function substitute(text: string, pairs: readonly (readonly [from: string, to: string])[]): string {
  return pairs.reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The configuration in docs/deploy.md has no ${from}.`)
    return result.replaceAll(from, to)
  }, text)
}

/** Returns a distribution's own nginx.conf. */
function mainConfiguration(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events {}
http {
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  access_log off;
  include ${folder}/drawbridge.conf;
}
`
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
