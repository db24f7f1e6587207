import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findChromium, startChromium } from '../support/server/headless-chromium.ts'
import { expectAllConnected } from './attempt-facts.ts'
import { type BridgeHome, type BridgeProcess, createBridgeHome, startBridge } from './bridge-process.ts'
import { createPerson, type Person } from './person.ts'
import { patienceMs } from './phone.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const executable = findChromium()

let server: ServerProcess
let home: BridgeHome
let person: Person
let bridges: BridgeProcess[]
beforeAll(async () => {
  server = await startServer({ SIGN_IN_LIMIT: '1000', ACCESS_TOKEN_TTL: '5m' })
})
afterAll(() => server?.close())
beforeEach(async () => {
  home = createBridgeHome()
  bridges = []
  person = await createPerson(server)
})
afterEach(async () => {
  await Promise.all(bridges.map((bridge) => bridge.close()))
  const lying = server.secrets.findIn(home.files() + bridges.map((bridge) => bridge.stderr()).join('\n'))
  home.remove()
  expect(lying.filter((name) => !name.startsWith('a '))).toEqual([])
})

function bridge(options: Parameters<typeof startBridge>[2] = {}): BridgeProcess {
  const started = startBridge(server.mcpUrl, home, options)
  bridges.push(started)
  return started
}

async function signIn(started: BridgeProcess): Promise<void> {
  const back = await person.allow(await started.link())
  const page = await fetch(back)
  expect(page.status).toBe(200)
}

const haveCome = (started: BridgeProcess): Promise<void> =>
  until(
    async () => (await started.tools()).includes('whoami'),
    () => `the tools\n${started.stderr()}`,
  )

describe('the bridge in front of our server', { timeout: patienceMs }, () => {
  it.each([
    ['legacy', []],
    ['modern', ['--protocol', 'modern']],
  ] as const)(
    'a %s client is answered at once with flags %j, and has its tools after one sign-in',
    async (era, flags) => {
      const first = bridge({ era, flags })
      const begin = performance.now()
      expect(await first.open()).toHaveProperty('result')
      expect(performance.now() - begin).toBeLessThan(10_000)
      await signIn(first)
      await haveCome(first)
      expect(await first.tools()).toContain('list_notes')
      expect(await first.call('whoami')).toContain(person.email)
      expect(first.links()).toHaveLength(1)
      expect(first.strayLines).toEqual([])
      await first.close()

      const second = bridge({ era })
      await second.open()
      expect(await second.call('whoami')).toContain(person.email)
      expect(second.links()).toHaveLength(0)
      await expectAllConnected(server, 1)
    },
  )

  it('a client of both revisions is offered 2025-11-25 before the sign-in, and 2026-07-28 after it', async () => {
    const probe = bridge({ era: 'modern' })
    expect(await probe.open()).toMatchObject({ error: { code: -32_022 } })
    expect(probe.links()).toEqual([])
    await probe.close()
    const first = bridge()
    await first.open()
    await signIn(first)
    await haveCome(first)
    await first.close()
    const second = bridge({ era: 'modern' })
    expect(await second.open()).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } })
    expect(await second.call('whoami')).toContain(person.email)
  })

  it.skipIf(executable === undefined)(
    'one sign-in in Chromium serves three clients at once, and still does half an hour later',
    async () => {
      const before = server.events('signed_in').length
      const first = bridge()
      await first.open()
      const chromium = await startChromium(executable ?? '')
      try {
        const page = await chromium.browser.newPage()
        await page.goto(await first.link())
        await page.type('input[name=email]', person.email)
        await page.type('input[name=password]', person.password)
        await page.keyboard.press('Enter')
        await page.waitForFunction('/signed in/i.test(document.body.innerText)')
      } finally {
        await chromium.close()
      }
      await haveCome(first)
      const all = [first, bridge(), bridge({ era: 'modern' })]
      await Promise.all(all.slice(1).map((each) => each.open()))
      for (const minutes of [6, 30]) {
        await server.kill('SIGTERM')
        await server.start({ aheadSeconds: minutes * 60 })
        const answers = await Promise.all(all.flatMap((each) => [1, 2, 3].map(() => each.call('whoami'))))
        for (const answer of answers) expect(answer).toContain(person.email)
      }
      expect(all.map((each) => each.links().length)).toEqual([1, 0, 0])
      expect(server.events('signed_in')).toHaveLength(before + 1)
    },
  )
})
