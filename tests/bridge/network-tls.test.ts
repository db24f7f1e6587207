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
    ['NODE_EXTRA_CA_CERTS', (ca: string) => ({ environment: { NODE_EXTRA_CA_CERTS: ca } })],
  ])('is trusted by %s', (_, optionsFor) =>
    staged(async (stage) => {
      const { url } = await secure(stage, certificates.valid)
      const bridge = stage.bridge(url, optionsFor(stage.file('ca.pem', certificates.authority)))
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
      expect(await bridge.call('echo', { text: 'safe' })).toBe('safe')
    })(),
  )

  it(
    'that is not known: the client is told so at once, nothing is sent, and the bridge lives',
    staged(async (stage) => {
      const { url, remote } = await secure(stage, certificates.valid)
      const bridge = stage.bridge(url)
      const begin = performance.now()
      const { data, message } = errorOf(await bridge.initialize())
      // Trying again would not help, so nobody waits for --retry.
      expect(performance.now() - begin).toBeLessThan(8000)
      expect(data).toMatchObject({ code: 'network_tls', origin: new URL(url).origin })
      expect(message).toContain('--ca FILE')
      expect(errorOf(await bridge.ask('tools/list')).data).toMatchObject({ code: 'network_tls' })
      const login = await stage.command(['login', url, '--no-open', '--store', 'memory'])
      expect(login).toMatchObject({ code: 4, stdout: '' })
      expect(login.stderr).toContain('--ca FILE')
      expect(remote.counters.requests).toEqual({})
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
})
