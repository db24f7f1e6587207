import type { TLSSocket } from 'node:tls'
import { expect, it, vi } from 'vitest'
import { type Certificates, makeCertificates } from './testing/certificate-fixture.ts'
import { readBody } from './read-body.ts'
import { exchange, serveHttp, serveTls, testClient } from './testing/server-fixture.ts'

it('resumes TLS sessions, names the server if it has a name, and speaks HTTP/1.1', async () => {
  const certificates: Certificates = makeCertificates()
  const seen: unknown[] = []
  const server = await serveTls(certificates.valid, (request, response) => {
    const socket = request.socket as TLSSocket & { servername: string | false }
    seen.push([socket.isSessionReused(), socket.servername, socket.alpnProtocol])
    response.setHeader('Connection', 'close').end()
  })
  const client = testClient({ ca: certificates.authority })
  const named = server.origin.replace('127.0.0.1', 'localhost')
  for (const origin of [named, named, server.origin]) await exchange(client, `${origin}/mcp`)
  expect(seen).toEqual([
    [false, 'localhost', 'http/1.1'],
    [true, 'localhost', 'http/1.1'],
    [false, false, 'http/1.1'],
  ])
})

it('keeps at most 64 connections that nobody uses', async () => {
  const server = await serveHttp((_request, response) => setTimeout(() => response.end(), 50))
  const client = testClient()
  await Promise.all(Array.from({ length: 80 }, () => exchange(client, server.origin)))
  const open = (): number => server.sockets.filter(({ closed }) => !closed).length
  await vi.waitFor(() => expect(open()).toBe(64))
  await exchange(client, server.origin)
  expect(server.sockets).toHaveLength(80)
})

it('uses a connection again whose last response has come whole, and is still read', async () => {
  const server = await serveHttp((_request, response) => response.end('x'.repeat(90_000)))
  const client = testClient()
  const send = { method: 'GET', url: server.origin, headers: {} } as const
  const first = await client.send(send)
  await vi.waitFor(() => expect(first.body.readableLength).toBe(90_000))
  const second = await client.send(send)
  expect(server.sockets).toHaveLength(1)
  expect((await readBody(second, 100_000)).length).toBe(90_000)
  expect((await readBody(first, 100_000)).length).toBe(90_000)
})
