import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Fault } from '../support/remote/exchange-parts.ts'
import { underLoad } from '../support/under-load.ts'
import { type BridgeChild, errorOf } from '../support/bridge/process/bridge-child.ts'
import { staged } from '../support/bridge/process/stage.ts'

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
  ['reset', /^network_reset$/],
  ['cut', /^network_reset$|^server_lost$/],
  [403, /^server_forbidden$/],
  [429, /^server_rate_limited$/],
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
})

describe.concurrent('a wrong URL', () => {
  it(
    'that leads to a web site, or whose path is wrong: the client is told what to look at',
    staged(async (stage) => {
      const remote = await stage.remote()
      const wrongPath = errorOf(await stage.bridge(`${remote.origin}/mpc`).initialize())
      expect(wrongPath.data).toMatchObject({ code: 'server_not_found' })
      expect(wrongPath.message).toContain('path of the URL')
      remote.failNext('html', 99)
      const { data, message } = errorOf(await stage.bridge(remote.url).initialize())
      expect(data).toMatchObject({ code: 'server_no_mcp', status: 200 })
      expect(message).toContain('web page')
      expect(message).toContain('drawbridge doctor')
    }),
  )
})

describe.concurrent('401 without metadata', () => {
  const bare = {
    auth: true,
    challenge: 'none',
    protectedResourceMetadata: false,
    ownAuthorizationServer: true,
  } as const

  it(
    'is answered to the client, which hears what to do from the sign-in or an error',
    staged(async (stage) => {
      const { url } = await stage.remote(bare)
      const bridge = stage.bridge(url, { flags: ['--store', 'memory'] })
      const begin = performance.now()
      const opening = await bridge.initialize()
      expect(performance.now() - begin).toBeLessThan(underLoad(3000))
      expect('result' in opening || 'error' in opening).toBe(true)
      const answer = await bridge.ask('tools/call', { name: 'echo', arguments: {} })
      expect(JSON.stringify(answer)).toMatch(/sign|login|authoriz/i)
      expect(JSON.stringify(answer)).toMatch(/drawbridge |metadata|URL/)
    }),
  )
})
