import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { startEchoServer } from '../support/bridge/process/echo-server.ts'
import { staged } from '../support/bridge/process/stage.ts'

describe.concurrent('headers of the user', () => {
  it.each(['legacy', 'modern'] as const)('go with every request of a %s session, and nowhere else', (era) =>
    staged(async (stage) => {
      const echo = await startEchoServer(stage, era)
      const file = stage.file('headers', '# for the gateway\n\nX-From-File: ${FROM_FILE}\r\nX-Plain: a: b\n')
      const bridge = stage.bridge(echo.url, {
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
      if (era === 'modern') {
        bridge.speakModern()
        await bridge.ask('server/discover')
      } else await bridge.initialize()
      await bridge.ask('tools/list')
      await bridge.call('echo', {})
      bridge.endInput()
      await bridge.over
      expect(echo.heard.length).toBeGreaterThan(2)
      for (const { headers } of echo.heard) {
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
    })(),
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

describe.concurrent('headers that cannot be', () => {
  it.each([
    [['--header', 'X-Key: ${NOT_THERE}'], /NOT_THERE/],
    [['--header-file', '/nowhere/at-all'], /--header-file.*ENOENT/],
  ])('%j: usage, before anything is sent', (flags, said) =>
    staged(async (stage) => {
      const remote = await stage.remote()
      const { code, stdout, stderr } = await stage.command([remote.url, ...flags])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(said)
      expect(stderr.trimEnd().split('\n').at(-1)).toContain('drawbridge --help')
      expect(remote.counters.requests).toEqual({})
    })(),
  )

  it(
    'in a file: the value of a line is not repeated',
    staged(async (stage) => {
      const file = stage.file('headers', 'X-Good: 1\nsecret-without-a-colon\n')
      const { code, stderr } = await stage.command(['http://127.0.0.1:9/mcp', '--header-file', file])
      expect(code).toBe(2)
      expect(stderr).not.toContain('secret-without')
    }),
  )
})
