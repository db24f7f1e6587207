import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Fault } from '../support/remote/remote-settings.ts'
import type { RemoteOptions } from '../support/remote/remote.ts'
import { underLoad } from '../support/under-load.ts'
import { type BridgeChild, errorOf } from '../support/bridge/process/bridge-child.ts'
import { listenOn } from '../support/bridge/process/socket-server.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'

const eras = ['legacy', 'modern'] as const

type Era = (typeof eras)[number]

function open(bridge: BridgeChild, era: Era): Promise<JsonObject> {
  if (era === 'legacy') return bridge.initialize()
  bridge.speakModern()
  return bridge.ask('server/discover')
}

/** What a server may say in place of an answer, and how the client hears of it. */
const faults: readonly [fault: Fault, code: RegExp][] = [
  ['html', /^server_no_mcp$/],
  ['json', /^server_no_mcp$/],
  ['reset', /^network_reset$/],
  ['cut', /^network_reset$|^server_lost$/],
  [400, /^server_refused$/],
  [403, /^server_forbidden$/],
  [405, /^server_not_found$/],
  [429, /^server_rate_limited$/],
  [500, /^server_unavailable$/],
  [502, /^server_unavailable$/],
  [503, /^server_unavailable$/],
]

describe.concurrent.each(eras)('in place of an answer to a %s client', (era) => {
  it(
    'a sentence, the next step and a code come; the next call works',
    staged(async (stage) => {
      const remote = await stage.remote({ era, retryAfter: '60' })
      const bridge = stage.bridge(remote.url, { flags: ['--retry', 'off'] })
      await open(bridge, era)
      for (const [fault, code] of faults) {
        remote.failNext(fault, 1, 'tools/call')
        const said = errorOf(await bridge.ask('tools/call', { name: 'echo', arguments: {} }))
        expect(said.code).toBe(-32_603)
        expect(said.data['code']).toMatch(code)
        expect(said.data['next_step']).toMatch(/\S/)
        expect(said.message).toMatch(/^.+[.!?] .+$/)
        if (typeof fault === 'number') expect(said.data).toMatchObject({ status: fault })
        if (fault === 429) expect(said.data).toMatchObject({ retry_after_seconds: 60 })
        expect(await bridge.call('echo', { text: 'next' })).toBe('next')
      }
    }),
  )

  it.each(faults.filter(([fault]) => ['html', 'reset', 503].includes(fault)))(
    '%s at the very first request: the same, and the bridge gets over it',
    (fault, code) =>
      staged(async (stage) => {
        const remote = await stage.remote({ era })
        const bridge = stage.bridge(remote.url, { flags: ['--retry', 'off'] })
        remote.failNext(fault, 99)
        const { data, message } = errorOf(await open(bridge, era))
        expect(data['code']).toMatch(code)
        expect(message).toMatch(/[.!?] .+/)
        remote.failNext(undefined, 0)
        expect(await open(bridge, era)).toHaveProperty('result')
        expect(await bridge.call('echo', { text: 'next' })).toBe('next')
      })(),
  )
})

describe.concurrent('a limit', () => {
  it(
    'that ends soon is waited for, as long as the server says',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', retryAfter: '1' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      remote.failNext(429, 1, 'tools/call')
      const begin = performance.now()
      expect(await bridge.call('echo', { text: 'late' })).toBe('late')
      expect(performance.now() - begin).toBeGreaterThan(950)
      remote.failNext(503, 1, 'tools/list')
      expect(await bridge.ask('tools/list')).toHaveProperty('result')
    }),
  )
})

describe.concurrent('a wrong URL', () => {
  it.each(eras)('that leads to a web site: a %s client is told what it is', (era) =>
    staged(async (stage) => {
      const site = createServer((_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
        response.end('<!doctype html><title>Welcome</title>')
      })
      const { port } = await listenOn(stage, site)
      const bridge = stage.bridge(`http://127.0.0.1:${port}/`)
      const { data, message } = errorOf(await open(bridge, era))
      expect(data).toMatchObject({ code: 'server_no_mcp', status: 200 })
      expect(message).toContain('web page')
      expect(message).toContain('drawbridge doctor')
    })(),
  )

  it.each(eras)('whose path is wrong: a %s client is told what to look at', (era) =>
    staged(async (stage) => {
      const remote = await stage.remote()
      const bridge = stage.bridge(`${remote.origin}/mpc`)
      const { data, message } = errorOf(await open(bridge, era))
      expect(data).toMatchObject({ code: 'server_not_found' })
      expect(message).toContain('path of the URL')
    })(),
  )

  it(
    'whose name does not exist',
    staged(async (stage) => {
      const bridge = stage.bridge('https://does-not-exist.invalid/mcp', { flags: ['--retry', '300ms'] })
      const { data, message } = errorOf(await bridge.initialize())
      expect(data).toMatchObject({ code: 'network_dns', origin: 'https://does-not-exist.invalid' })
      expect(message).toContain('does-not-exist.invalid')
    }),
  )
})

describe.concurrent('401 without metadata', () => {
  const bare: readonly RemoteOptions[] = [
    { challenge: 'none', protectedResourceMetadata: false },
    { challenge: 'bare', protectedResourceMetadata: false },
    { challenge: 'full', protectedResourceMetadata: false },
  ]

  /** Wants a token and says nothing of where to get one. */
  async function lockedServer(stage: Stage, options: RemoteOptions): Promise<string> {
    const remote = await stage.remote({ auth: true, ...options, ownAuthorizationServer: true })
    return remote.url
  }

  it.each(bare)('%j: the client is answered, and hears what to do from the sign-in or an error', (options) =>
    staged(async (stage) => {
      const url = await lockedServer(stage, options)
      const bridge = stage.bridge(url, { flags: ['--store', 'memory'] })
      const begin = performance.now()
      const opening = await bridge.initialize()
      expect(performance.now() - begin).toBeLessThan(underLoad(3000))
      expect('result' in opening || 'error' in opening).toBe(true)
      const answer = await bridge.ask('tools/call', { name: 'echo', arguments: {} })
      expect(JSON.stringify(answer)).toMatch(/sign|login|authoriz/i)
      expect(JSON.stringify(answer)).toMatch(/drawbridge |metadata|URL/)
    })(),
  )

  it(
    'login says that there is no way in, with an exit code that is not 0',
    staged(async (stage) => {
      const url = await lockedServer(stage, { challenge: 'none', protectedResourceMetadata: false })
      const { code, stdout, stderr } = await stage.command(['login', url, '--no-open', '--store', 'file'])
      expect(code).toBeGreaterThan(0)
      expect(code).not.toBe(2)
      expect(stdout).toBe('')
      expect(stderr).toMatch(/drawbridge login failed\.\n {2}- .+\n.+/)
    }),
  )
})
