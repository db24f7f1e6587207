import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BridgeHome, createBridgeHome, startBridge } from '../e2e/bridge-process.ts'
import type { RemoteOptions } from '../support/remote/remote.ts'
import { buildGoServer, type GoServer, startGoServer } from '../support/bridge/process/go-server.ts'
import { startCommand } from '../support/bridge/process/bridge-child.ts'
import { readServerMemory } from '../support/bridge/process/server-memory.ts'
import { call, inAuthScene, visit } from '../support/bridge/sign-in/auth-scene.ts'
import { until } from '../support/until.ts'

let home: BridgeHome
beforeEach(() => {
  home = createBridgeHome()
})
afterEach(() => home.remove())

/** One start of a bridge: opens, lists the tools and calls `echo`. */
async function useOnce(url: string, era: 'legacy' | 'modern'): Promise<void> {
  const bridge = startBridge(url, home, { era })
  try {
    const opened = await bridge.open()
    expect(opened).toMatchObject({
      result:
        era === 'modern'
          ? { supportedVersions: expect.arrayContaining(['2026-07-28']) }
          : { protocolVersion: '2025-11-25' },
    })
    const listed = await bridge.request('tools/list')
    expect(listed).toMatchObject({
      result: { tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]) },
    })
    expect(await call(bridge, 'echo', { text: 'hello' })).toBe('hello')
    expect(bridge.strayLines).toEqual([])
  } finally {
    await bridge.close()
  }
}

/** Every client era starts twice, the second time with what the first start has left behind. */
const starts = ['legacy', 'legacy', 'modern', 'modern'] as const

/** What `doctor` finds about the connections of clients. */
async function sessionCheck(url: string, ...flags: string[]): Promise<Record<string, unknown> | undefined> {
  const words = ['doctor', url, '--store', 'file', '--json', ...flags]
  const { ended, stdout } = startCommand(words, { home: home.path })
  await ended
  const { checks } = JSON.parse(stdout()) as { checks: Record<string, unknown>[] }
  return checks.find(({ name }) => name === 'session')
}

const isGoBuilt = await buildGoServer()

describe.skipIf(!isGoBuilt)('a server of the Go SDK', { timeout: 60_000 }, () => {
  let server: GoServer | undefined
  afterEach(async () => {
    await server?.close()
    server = undefined
  })

  it.each([
    ['with sessions, which discovery finds to lack 2026-07-28', false, 'legacy', '2025-11-25'],
    ['without sessions', true, 'modern', '2026-07-28'],
  ])('%s serves clients of both revisions', async (_, stateless, remembered, revision) => {
    server = await startGoServer({ stateless })
    for (const era of starts) await useOnce(server.url, era)
    expect(readServerMemory(home.path, server.url)).toMatchObject({ era: remembered })
    expect(await sessionCheck(server.url)).toMatchObject({
      state: 'ok',
      message: `"go" speaks ${revision} and has 1 tool on its first page.`,
    })
  })
})

const servers = {
  '2025-11-25': { era: 'legacy' },
  '2026-07-28': { era: 'modern' },
} satisfies Record<string, RemoteOptions>

describe('what is remembered', { timeout: 60_000 }, () => {
  it.each([
    ['legacy', '2025-11-25', '2026-07-28'],
    ['modern', '2026-07-28', '2025-11-25'],
  ] as const)(
    'heals by the sign-in of a %s client when a server of %s is one of %s now',
    (era, before, after) =>
      inAuthScene(servers[before], async ({ remote, home: sceneHome, bridge }) => {
        // What bridges learn from a server that does not want to know who they are.
        remote.set({ auth: false })
        for (const earlier of ['legacy', 'modern'] as const) {
          const first = bridge({ era: earlier })
          await first.open()
          await first.request('tools/list')
          await first.close()
        }
        remote.set({ auth: true, ...servers[after] })
        const second = bridge({ era })
        expect(await second.open()).toMatchObject({ result: { capabilities: { tools: {} } } })
        expect(await second.request('tools/list')).toMatchObject({
          result: { tools: expect.arrayContaining([expect.objectContaining({ name: 'sign_in' })]) },
        })
        await visit(await second.link())
        await until(async () => (await call(second, 'echo', { text: 'hello' })) === 'hello', 'a call')
        expect(await second.request('tools/list')).toMatchObject({
          result: { tools: expect.not.arrayContaining([expect.objectContaining({ name: 'sign_in' })]) },
        })
        const { era: remembered } = readServerMemory(sceneHome, remote.url) ?? {}
        expect(remembered).toBe(servers[after].era)
      }),
  )
})
