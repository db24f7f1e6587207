import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Fault } from '../support/remote/exchange-parts.ts'
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
