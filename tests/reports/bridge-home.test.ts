import { expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'

it.each(['/dev/null', '/proc/self/fdinfo', '/nonexistent/home'])(
  'the bridge reaches a server without sign-in where its home is %s, which cannot be written',
  { timeout: 20_000, skip: process.platform !== 'linux' },
  (home) =>
    staged(async (stage) => {
      const { url } = await stage.remote({ era: 'legacy' })
      for (const flags of [[], ['--debug']]) {
        const bridge = stage.bridge(url, { home, flags })
        await bridge.initialize()
        expect(await bridge.call('echo', { text: 'homeless' })).toBe('homeless')
      }
    })(),
)
