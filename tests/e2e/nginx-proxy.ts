import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServingProcess } from '../peers/serving-process.ts'
import { findProgram, skipWithout } from '../support/find-program.ts'
import { createSelfSignedCertificate } from '../support/server/self-signed-certificate.ts'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

/** Returns whether nginx can be run. Prints one line if not, and throws instead when CI=true. */
export function hasNginx(): boolean {
  return (
    ['nginx', 'openssl'].every(findProgram) ||
    skipWithout('nginx or openssl is missing: install the apt packages `nginx-light` and `openssl`')
  )
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
 * Starts nginx with deploy/nginx.conf, word for word except for names, ports and files. With `atPath` the first block of
 * docs/deploy.md, in the server block of another site.
 */
export async function startNginx(addresses: NginxAddresses): Promise<NginxProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-nginx-'))
  const file = (name: string): string => join(folder, name)
  const { key, cert } = createSelfSignedCertificate(['localhost'])
  writeFileSync(file('key.pem'), key)
  writeFileSync(file('certificate.pem'), cert)
  writeFileSync(file('nginx.conf'), mainConfiguration(folder))
  writeFileSync(file('drawbridge.conf'), siteConfiguration(addresses, file))
  writeFileSync(file('drawbridge-proxy.conf'), blockWith('proxy_buffer_size', 1))

  const close = await runNginx(folder, addresses.port)
  return {
    certificate: cert,
    accessLog: () => readFileSync(file('access.log'), 'utf8'),
    close,
  }
}

/** Starts nginx with `site` as the content of its `http` block, and waits for `port`. Returns a function that ends it. */
export async function startNginxSite(site: string, port: number): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-nginx-'))
  writeFileSync(join(folder, 'nginx.conf'), mainConfiguration(folder))
  writeFileSync(join(folder, 'drawbridge.conf'), site)
  return runNginx(folder, port)
}

/** Runs nginx in `folder`, which is removed at its end. */
async function runNginx(folder: string, port: number): Promise<() => Promise<void>> {
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  try {
    const running = await startServingProcess({ command: findProgram('nginx') ?? '', args, port })
    return () => running.close().finally(removeFolder)
  } catch (error) {
    removeFolder()
    throw error
  }
}

/** Returns an nginx block of docs/deploy.md by its position: the locations of a path, what they include. */
function blockWith(text: string, index: number): string {
  const blocks = [...read('docs/deploy.md').matchAll(/```nginx\n(.*?)```/gs)].map(([, body = '']) => body)
  const block = blocks[index]
  if (blocks.length !== 2 || !block?.includes(text)) {
    throw new Error(`docs/deploy.md has no nginx block ${index} with ${text}.`)
  }
  return block
}

function siteConfiguration(addresses: NginxAddresses, file: (name: string) => string): string {
  const { port, plainPort, upstreamPort } = addresses
  const whole = substitute(read('deploy/nginx.conf'), [
    ['server 127.0.0.1:8787;', `server 127.0.0.1:${upstreamPort};`],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['server_name mcp.example.com;', 'server_name localhost;'],
    ['/etc/letsencrypt/live/mcp.example.com/fullchain.pem', file('certificate.pem')],
    ['/etc/letsencrypt/live/mcp.example.com/privkey.pem', file('key.pem')],
    ['/var/log/nginx/drawbridge.log', file('access.log')],
  ])
  if (!addresses.atPath) return whole
  const locations = substitute(blockWith('location /drawbridge/', 0), [
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
    if (!result.includes(from)) throw new Error(`The configuration has no ${from}.`)
    return result.replaceAll(from, to)
  }, text)
}

/** Returns a distribution's own nginx.conf, for one process, which ends as a whole. */
function mainConfiguration(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
events {}
http {
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  access_log off;
  include ${folder}/drawbridge.conf;
}
`
}
