import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  textOf,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'

interface Waiting {
  bridge: BridgeProcess
  link: string
  /** Where the browser comes back to, without parameters. */
  callback: URL
  state: string
  /** Calls that wait for the sign-in. */
  held: Promise<string[]>
}

/** A bridge that has shown its link. */
async function waiting(scene: AuthScene): Promise<Waiting> {
  const [bridge] = (await scene.opened(1)) as [BridgeProcess]
  const held = burst(bridge, 3)
  const link = await bridge.link()
  const { searchParams } = new URL(link)
  const callback = new URL(searchParams.get('redirect_uri') ?? '')
  return { bridge, link, callback, state: searchParams.get('state') ?? '', held }
}

describe('a callback', { concurrent: true, timeout: 60_000 }, () => {
  it('that is forged gets a page that says so, and the sign-in goes on', () =>
    inAuthScene({}, async (scene) => {
      const { link, callback, state, held } = await waiting(scene)
      const forged = [
        'code=stolen&state=wrong',
        'code=stolen',
        'error=access_denied&state=wrong',
        'error=access_denied',
        'state=',
        'state=wrong&state=wrong',
        `code=stolen&state=${state}&state=wrong`,
        '',
      ]
      for (const query of forged) expect((await visit(`${callback.href}?${query}`)).status).toBe(400)
      expect((await visit(link)).status).toBe(200)
      expect(await held).toEqual(echoes(3))
      expect(scene.links()).toBe(1)
      expect(scene.remote.counters).toMatchObject({ codeGrants: 1, tokenErrors: {} })
    }))

  it('that says no is told to client and person, and opens no second tab by itself', () =>
    inAuthScene({ approval: 'deny' }, async (scene) => {
      const { bridge, link, held } = await waiting(scene)
      expect((await visit(link)).page).toMatch(/denied|not allowed|said no|refused/i)
      for (const text of await held) expect(text).toMatch(/^failed: .*sign-in/)
      expect(await call(bridge)).toMatch(/^failed: .*sign-in/)
      expect(scene.links()).toBe(1)
      expect(scene.remote.counters.requests['POST /token']).toBeUndefined()
      // Until a person asks for it.
      scene.remote.set({ approval: 'auto' })
      const asked = textOf(await bridge.request('tools/call', { name: 'sign_in', arguments: {} }))
      expect(asked).toContain(bridge.links().at(-1))
      expect(scene.links()).toBe(2)
      await visit(bridge.links().at(-1) ?? '')
      expect(await call(bridge)).toContain('clientId')
    }))
})
