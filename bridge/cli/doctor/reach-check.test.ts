import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { networkConfig } from '../../config/config-part.ts'
import type { NetworkConfig } from '../../http/network-config.ts'
import { checkReach } from './reach-check.ts'

describe('the way to a server', () => {
  let folder: string
  const servers: { close(): unknown }[] = []
  const network: NetworkConfig = networkConfig({}, { environment: {} })

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'drawbridge-reach-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

  function certificate(days: number, name = 'localhost'): { key: string; cert: string } {
    const [key, cert] = [join(folder, `${name}-${days}.key`), join(folder, `${name}-${days}.pem`)]
    const made = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days ${days} -subj /CN=${name}`
    const named = ['-keyout', key, '-out', cert, '-addext', `subjectAltName=DNS:${name}`]
    execFileSync('openssl', [...made.split(' '), ...named], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  }

  async function serve(pair: { key: string; cert: string }): Promise<string> {
    const server: Server = createServer(pair)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    return `https://localhost:${(server.address() as AddressInfo).port}/mcp`
  }

  it('is fine with a certificate that is trusted and lasts', async () => {
    const pair = certificate(100)
    const url = await serve(pair)
    const findings = await checkReach(url, { ...network, ca: pair.cert })
    expect(findings.map(({ name, state }) => [name, state])).toEqual([
      ['proxy', 'ok'],
      ['dns', 'ok'],
      ['connection', 'ok'],
      ['tls', 'ok'],
    ])
    expect(findings.at(-1)?.message).toMatch(/^TLSv1\.3, the certificate is good for (?:99|100) more days\.$/)
  })

  it('of a port without TLS says what to write, and nothing about authorities', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as AddressInfo
    const findings = await checkReach(`https://localhost:${port}/mcp`, network)
    expect(findings.at(-1)).toMatchObject({
      name: 'tls',
      state: 'fail',
      fix: 'Write http:// for a server on this computer, or use the port that speaks https.',
    })
  })

  it('warns of a certificate that ends soon', async () => {
    const pair = certificate(3)
    const findings = await checkReach(await serve(pair), { ...network, ca: pair.cert })
    expect(findings.at(-1)).toMatchObject({ name: 'tls', state: 'warn', fix: expect.any(String) })
  })

  it('names a certificate that is not trusted, and what to do', async () => {
    const findings = await checkReach(await serve(certificate(100)), network)
    expect(findings.at(-1)).toMatchObject({
      name: 'tls',
      state: 'fail',
      message: expect.stringContaining('self-signed'),
      fix: expect.stringContaining('--ca FILE'),
    })
  })

  it('names a certificate that is for another host', async () => {
    const pair = certificate(100, 'other.example')
    const findings = await checkReach(await serve(pair), { ...network, ca: pair.cert })
    expect(findings.at(-1)).toMatchObject({
      name: 'tls',
      state: 'fail',
      message: expect.stringContaining('another name'),
    })
  })

  it('names a server that speaks no TLS', async () => {
    const server = createTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const findings = await checkReach(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`, network)
    expect(findings.at(-1)).toMatchObject({ name: 'tls', state: 'fail' })
  })

  it('ends at a proxy that is there', async () => {
    const server = createTcpServer()
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const proxy = `http://me:sEcReT@127.0.0.1:${(server.address() as AddressInfo).port}`
    const through = { ...network, proxy: { http: proxy, https: proxy, noProxy: 'inside.example' } }
    const findings = await checkReach('https://mcp.example.com/mcp', through)
    expect(findings).toMatchObject([{ name: 'proxy', state: 'ok' }])
    expect(findings[0]?.message).not.toContain('sEcReT')
  })
})
