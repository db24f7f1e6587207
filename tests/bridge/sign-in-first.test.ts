import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'
import { type Browser, createBrowser } from '../support/bridge/sign-in/browser.ts'
import { until } from '../support/until.ts'

async function withBrowser(pauseMs: number, work: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = createBrowser(pauseMs)
  try {
    await work(browser)
  } finally {
    browser.remove()
  }
}

function expectOneSignIn({ remote, links }: AuthScene): void {
  expect(remote.counters).toMatchObject({ registrations: 1, codeGrants: 1, refreshesOk: 0 })
  expect(links()).toBe(1)
}

describe('a sign-in that is never finished', { concurrent: true, timeout: 60_000 }, () => {
  it('an unfinished sign-in goes on in another bridge when the one that began it is killed', () =>
    inAuthScene({}, async (scene) => {
      // One after the other: of two that start at once either may be the one that signs in.
      const [first] = (await scene.opened(1)) as [BridgeProcess]
      void call(first)
      const link = await first.link()
      const [second] = (await scene.opened(1)) as [BridgeProcess]
      const held = call(second)
      expect(await second.link()).toBe(link)
      first.signal('SIGKILL')
      await until(() => second.links().length === 2, 'a link of its own')
      await visit(second.links().at(-1) ?? '')
      expect(await held).toContain('clientId')
      expect(scene.remote.counters.codeGrants).toBe(1)
    }))
})

describe('a sign-in where no browser can be opened', { concurrent: true, timeout: 60_000 }, () => {
  it('a sign-in without a browser continues with a code on another device', () =>
    inAuthScene({ approval: 'wait' }, async (scene) => {
      const bridge = scene.bridge({ opens: true })
      await bridge.open()
      const held = call(bridge)
      await until(() => bridge.stderr().includes('the code '), 'a code')
      const [userCode = ''] = scene.remote.userCodes()
      expect(bridge.stderr()).toContain(
        `open ${scene.remote.issuer}/device?user_code=${userCode} in a browser on this computer and check that it shows the code ${userCode}`,
      )
      expect(bridge.stderr()).not.toContain('No browser was opened')
      scene.remote.approve()
      expect(await held).toContain('clientId')
      expect(scene.remote.counters).toMatchObject({ registrations: 1, deviceGrants: 1, codeGrants: 0 })
      expect(scene.links()).toBe(0)
    }))
})

describe('a first sign-in', { concurrent: true, timeout: 60_000 }, () => {
  it('a first sign-in opens the browser once, and the held call succeeds after it', () =>
    inAuthScene({}, (scene) =>
      withBrowser(150, async ({ environment, openings }) => {
        const bridge = scene.bridge({ opens: true, environment })
        await bridge.open()
        expect(await burst(bridge, 5)).toEqual(echoes(5))
        expect(openings()).toEqual([await bridge.link()])
        expectOneSignIn(scene)
        expect(scene.remote.counters.tabs).toBe(1)
        // The second start needs no person.
        await bridge.close()
        const [next] = await scene.opened(1, { opens: true, environment })
        expect(await call(next as BridgeProcess)).toContain('clientId')
        expect(openings()).toHaveLength(1)
      }),
    ))

  it('three bridges at once share one sign-in, in one tab', () =>
    inAuthScene({}, (scene) =>
      withBrowser(1200, async ({ environment, openings }) => {
        const bridges = await scene.opened(3, { opens: true, environment })
        const answers = await Promise.all(bridges.map((bridge) => burst(bridge, 5)))
        expect(answers).toEqual(bridges.map(() => echoes(5)))
        expect(openings()).toHaveLength(1)
        expectOneSignIn(scene)
      }),
    ))

  it('two users of one server sign in beside each other', () =>
    inAuthScene({}, async (scene) => {
      const bridges = ['work', 'home'].map((profile) => scene.bridge({ flags: ['--profile', profile] }))
      await Promise.all(bridges.map((bridge) => bridge.open()))
      const held = Promise.all(bridges.map((bridge) => call(bridge)))
      for (const bridge of bridges) await visit(await bridge.link())
      const clients = await held
      expect(new Set(clients.map((text) => (JSON.parse(text) as { clientId: string }).clientId)).size).toBe(2)
      expect(scene.links()).toBe(2)
      expect(await scene.store.list()).toHaveLength(2)
    }))

  it('a command and a bridge at once share one sign-in', () =>
    inAuthScene({}, async (scene) => {
      const [bridge] = await scene.opened(1)
      const held = call(bridge as BridgeProcess)
      const link = await (bridge as BridgeProcess).link()
      const command = scene.command('login')
      await until(() => command.stderr().includes(link), 'the link of the bridge at the command')
      await visit(link)
      expect(await held).toContain('clientId')
      expect(await command.ended).toBe(0)
      expectOneSignIn(scene)
    }))
})
