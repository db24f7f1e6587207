import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { staged } from '../support/bridge/process/stage.ts'

describe.concurrent('headers of the user', () => {
  it(
    'go with every request of a session, and nowhere else',
    staged(async (stage) => {
      const server = await stage.remote({ era: 'legacy' })
      const file = stage.file('headers', '# for the gateway\n\nX-From-File: ${FROM_FILE}\r\nX-Plain: a: b\n')
      const bridge = stage.bridge(server.url, {
        flags: [
          '--header',
          'X-Key: ${SECRET_KEY} and more',
          '--header=X-Two:2',
          '--header-file',
          file,
          '--debug',
        ],
        environment: { SECRET_KEY: 'very-secret-value', FROM_FILE: 'file-secret-value' },
      })
      await bridge.initialize()
      await bridge.ask('tools/list')
      await bridge.call('echo', {})
      bridge.endInput()
      await bridge.over
      expect(server.received.length).toBeGreaterThan(2)
      for (const { headers } of server.received) {
        expect(headers).toMatchObject({
          'x-key': 'very-secret-value and more',
          'x-two': '2',
          'x-from-file': 'file-secret-value',
          'x-plain': 'a: b',
        })
      }
      const kept = [...stage.files()].filter(([name]) => name !== 'headers').flat()
      const everything = [bridge.stderr(), JSON.stringify(bridge.messages), ...kept].join('\n')
      expect(everything.replaceAll('x-key', '')).not.toMatch(/(?:very|file)-secret-value/)
    }),
  )

  it(
    'with Authorization: it is the login, and a refusal is told with the next step',
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true })
      const { access_token: token } = remote.issueTokens()
      const right = stage.bridge(remote.url, { flags: ['--header', `Authorization: Bearer ${token}`] })
      await right.initialize()
      expect(await right.call('echo', { text: 'in' })).toBe('in')
      const wrong = stage.bridge(remote.url, { flags: ['--header', 'Authorization: Basic d3Jvbmc6d3Jvbmc='] })
      const { error } = (await wrong.initialize()) as { error: JsonObject }
      expect(error).toHaveProperty('data.code', 'server_sign_in_needed')
      expect(remote.counters.tabs).toBe(0)
      expect(remote.counters.registrations).toBe(0)
    }),
  )
})
