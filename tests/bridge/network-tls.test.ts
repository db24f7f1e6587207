import { createServer } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Certificates,
  type Identity,
  makeCertificates,
} from '../support/bridge/http/certificate-fixture.ts'
import type { Remote } from '../support/remote/remote.ts'
import { errorOf } from '../support/bridge/process/bridge-child.ts'
import { listenOn } from '../support/bridge/process/socket-server.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { startTlsFront } from '../support/bridge/process/tls-front.ts'

let certificates: Certificates
beforeAll(() => {
  certificates = makeCertificates()
})

async function secure(stage: Stage, identity: Identity): Promise<{ url: string; remote: Remote }> {
  const remote = await stage.remote()
  const url = `https://localhost:${await startTlsFront(stage, identity, remote.url)}/mcp`
  return { url, remote }
}

describe.concurrent('a server of a private authority', () => {
  it.each([
    ['--ca', (ca: string) => ({ flags: ['--ca', ca] })],
    ['DRAWBRIDGE_CA', (ca: string) => ({ environment: { DRAWBRIDGE_CA: ca } })],
    ['NODE_EXTRA_CA_CERTS', (ca: string) => ({ environment: { NODE_EXTRA_CA_CERTS: ca } })],
  ])('is trusted by %s', (_, optionsFor) =>
    staged(async (stage) => {
      const { url } = await secure(stage, certificates.valid)
      const bridge = stage.bridge(url, optionsFor(stage.file('ca.pem', certificates.authority)))
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
      expect(await bridge.call('echo', { text: 'safe' })).toBe('safe')
    })(),
  )

  it.each([
    ['is not known', () => certificates.valid, false, '--ca FILE'],
    ['is known, and the certificate has expired', () => certificates.expired, true, 'Check the clock'],
    [
      'is known, and the certificate is for another name',
      () => certificates.misnamed,
      true,
      'Use a name that the certificate has (',
    ],
    ['is not known, since it signed itself', () => certificates.selfSigned, true, '--ca FILE'],
  ])(
    'that %s: the client is told so at once, nothing is sent, and the bridge lives',
    (_, identity, isKnown, nextStep) =>
      staged(async (stage) => {
        const { url, remote } = await secure(stage, identity())
        const flags = isKnown ? ['--ca', stage.file('ca.pem', certificates.authority)] : []
        const bridge = stage.bridge(url, { flags })
        const begin = performance.now()
        const { data, message } = errorOf(await bridge.initialize())
        // Trying again would not help, so nobody waits for --retry.
        expect(performance.now() - begin).toBeLessThan(8000)
        expect(data).toMatchObject({ code: 'network_tls', origin: new URL(url).origin })
        expect(message).toContain(nextStep)
        expect(errorOf(await bridge.ask('tools/list')).data).toMatchObject({ code: 'network_tls' })
        const login = await stage.command(['login', url, '--no-open', '--store', 'memory', ...flags])
        expect(login).toMatchObject({ code: 4, stdout: '' })
        expect(login.stderr).toContain(nextStep)
        expect(remote.counters.requests).toEqual({})
      })(),
  )
})

describe.concurrent('the wrong scheme', () => {
  it(
    'https where http is spoken',
    staged(async (stage) => {
      const remote = await stage.remote()
      const bridge = stage.bridge(remote.url.replace('http:', 'https:'), { flags: ['--retry', 'off'] })
      const { data, message } = errorOf(await bridge.initialize())
      expect(String(data['code'])).toMatch(/^network_(?:tls|protocol)$/)
      expect(message).toMatch(/http/)
    }),
  )

  it(
    'http where https is spoken',
    staged(async (stage) => {
      const { url } = await secure(stage, certificates.valid)
      const bridge = stage.bridge(url.replace('https:', 'http:'), { flags: ['--retry', 'off'] })
      const { data } = errorOf(await bridge.initialize())
      expect(String(data['code'])).toMatch(/^network_(?:reset|protocol)$/)
    }),
  )
})

/** A server on ::1 alone; undefined where this computer has no such address. */
async function ipv6Port(stage: Stage): Promise<number | undefined> {
  const server = createServer((_, response) => void response.writeHead(404).end())
  return listenOn(stage, server, '::1').then(
    ({ port }) => port,
    () => undefined,
  )
}

describe('--ipv4', () => {
  it(
    'keeps from IPv6',
    staged(async (stage) => {
      const port = await ipv6Port(stage)
      if (port === undefined) return
      const url = `http://localhost:${port}/mcp`
      const both = stage.bridge(url, { flags: ['--retry', 'off'] })
      expect(errorOf(await both.initialize()).data).toMatchObject({ code: 'server_not_found' })
      const one = stage.bridge(url, { flags: ['--retry', 'off', '--ipv4'] })
      expect(errorOf(await one.initialize()).data).toMatchObject({ code: 'network_refused' })
    }),
  )

  it(
    'reaches a server that listens on 127.0.0.1 alone, as does the bridge without it',
    staged(async (stage) => {
      const remote = await stage.remote()
      for (const flags of [[], ['--ipv4']]) {
        const bridge = stage.bridge(remote.url.replace('127.0.0.1', 'localhost'), { flags })
        expect(await bridge.initialize()).toHaveProperty('result')
      }
    }),
  )
})
