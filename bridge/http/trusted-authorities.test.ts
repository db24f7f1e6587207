import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificates, type Certificates } from '../../tests/support/bridge/http/certificate-fixture.ts'
import {
  exchange,
  networkConfig,
  networkErrorOf,
  serveRaw,
  serveTls,
  testClient,
  type TestServer,
} from '../../tests/support/bridge/http/server-fixture.ts'

let certificates: Certificates
let folder: string
beforeAll(() => {
  certificates = makeCertificates()
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-ca-'))
  writeFileSync(join(folder, 'authority.pem'), certificates.authority)
})
afterAll(() => rmSync(folder, { recursive: true }))

function serve(name: 'valid' | 'expired' | 'misnamed' | 'selfSigned'): Promise<TestServer> {
  return serveTls(certificates[name], (_request, response) => response.end('secure'))
}

it('a certificate is accepted from an authority of --ca', async () => {
  const server = await serve('valid')
  const client = testClient({ ca: certificates.authority })
  expect((await exchange(client, server.origin)).text).toBe('secure')
  expect((await exchange(client, `https://localhost:${server.port}/`)).text).toBe('secure')
})

it.each([
  { name: 'valid', ca: false, says: 'comes from an authority that is not trusted here' },
  { name: 'selfSigned', ca: true, says: 'is self-signed' },
  { name: 'expired', ca: true, says: 'has expired' },
  { name: 'misnamed', ca: true, says: 'is for another name' },
] as const)('a certificate is refused when it is $name; authority known: $ca', async ({ name, ca, says }) => {
  const server = await serve(name)
  let requests = 0
  for (const socket of server.sockets) socket.on('data', () => requests++)
  const client = testClient({ ca: ca ? certificates.authority : undefined })
  const error = await networkErrorOf(exchange(client, `${server.origin}/secret-path`))
  expect(error).toMatchObject({ fault: 'tls', sent: false, origin: server.origin })
  expect(error.message).toContain(`the certificate of 127.0.0.1:${server.port} ${says}`)
  expect(error.message).not.toContain('secret')
  expect(requests).toBe(0)
})

describe('a handshake', () => {
  it('a request reports a TLS handshake that the server resets', async () => {
    const server = await serveRaw((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const error = await networkErrorOf(exchange(testClient(), `https://127.0.0.1:${server.port}`))
    expect(error).toMatchObject({ fault: 'reset', sent: false })
  })

  it('a request reports a server that supports only outdated TLS versions', async () => {
    const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const
    const server = await serveTls({ ...certificates.valid, ...old }, (_request, response) => response.end())
    const error = await networkErrorOf(exchange(testClient({ ca: certificates.authority }), server.origin))
    expect(error).toMatchObject({ fault: 'tls', sent: false })
    expect(error.message).toContain('speaks no version of TLS')
  })
})

describe('authorities of the process', () => {
  /** Sends a request to the server with the certificate `valid` from a new process with that environment; returns its output. */
  async function sendOnce(environment: Record<string, string>, ca: string | undefined): Promise<string> {
    const server = await serve('valid')
    const script = fileURLToPath(new URL('../../tests/support/bridge/http/send-once.ts', import.meta.url))
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [script, server.origin, JSON.stringify(networkConfig({ ca }))],
        { env: { ...process.env, ...environment } },
        (_error, _stdout, stderr) => resolve(stderr),
      )
      onTestFinished(() => void child.kill())
    })
  }

  it.each([
    { name: 'of NODE_EXTRA_CA_CERTS count', environment: 'NODE_EXTRA_CA_CERTS', ca: false },
    { name: 'of NODE_EXTRA_CA_CERTS count beside ours', environment: 'NODE_EXTRA_CA_CERTS', ca: true },
    { name: 'of the operating system count', environment: 'SSL_CERT_FILE', ca: false },
    { name: 'of the operating system count beside ours', environment: 'SSL_CERT_FILE', ca: true },
  ])('authorities $name', async ({ environment, ca }) => {
    const file = join(folder, 'authority.pem')
    const other = ca ? certificates.selfSigned.cert : undefined
    expect(await sendOnce({ [environment]: file }, other)).toContain('answer 200 secure')
  })

  it('authorities of the process that trust nothing more are not used', async () => {
    expect(await sendOnce({}, certificates.selfSigned.cert)).toContain('failed tls')
  })
})
