import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BridgeHome, type BridgeProcess, createBridgeHome, startBridge } from '../e2e/bridge-process.ts'
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

/** A client of 2026-07-28 begins, and is told to begin with 2025-11-25. */
async function isSentBack(url: string): Promise<void> {
  const bridge = startBridge(url, home, { era: 'modern' })
  try {
    expect(await bridge.open()).toMatchObject({ error: { code: -32_022, data: earlierVersions } })
  } finally {
    await bridge.close()
  }
}

const earlierVersions = { supported: expect.arrayContaining(['2025-11-25']), requested: '2026-07-28' }

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

  it('a server of the Go SDK without sessions serves clients of both revisions, with and without a memory', async () => {
    server = await startGoServer({ stateless: true })
    for (const era of ['legacy', 'legacy', 'modern', 'modern'] as const) await useOnce(server.url, era)
    expect(readServerMemory(home.path, server.url)).toMatchObject({ era: 'modern' })
    expect(await sessionCheck(server.url)).toMatchObject({
      state: 'ok',
      message: '"go" speaks 2026-07-28 and has 1 tool on its first page.',
    })
  })

  it('a server of the Go SDK with sessions names earlier versions only in its discovery: clients begin with 2025-11-25', async () => {
    server = await startGoServer({ stateless: false })
    for (const _ of ['fresh', 'remembered']) {
      await isSentBack(server.url)
      await useOnce(server.url, 'legacy')
    }
    expect(readServerMemory(home.path, server.url)).toMatchObject({ era: 'legacy' })
    expect(await sessionCheck(server.url)).toMatchObject({
      state: 'ok',
      message: '"go" speaks 2025-11-25 and has 1 tool on its first page.',
    })
  })
})

describe('the memory of a server', { timeout: 60_000 }, () => {
  const toolNames = async (bridge: BridgeProcess): Promise<string[]> => {
    const { result } = (await bridge.request('tools/list')) as { result: { tools: { name: string }[] } }
    return result.tools.map(({ name }) => name)
  }

  it('a memory of 2025-11-25 heals by the sign-in of a 2025 client when the server speaks 2026-07-28 now', () =>
    inAuthScene({ era: 'legacy' }, async ({ remote, home: sceneHome, bridge }) => {
      // What bridges learn from a server that does not want to know who they are.
      remote.set({ auth: false })
      const first = bridge({ era: 'legacy' })
      await first.open()
      await first.request('tools/list')
      await first.close()
      remote.set({ auth: true, era: 'modern' })
      const second = bridge({ era: 'legacy' })
      expect(await second.open()).toMatchObject({ result: { capabilities: { tools: {} } } })
      expect(await toolNames(second)).toContain('sign_in')
      await visit(await second.link())
      await until(async () => (await call(second, 'echo', { text: 'hello' })) === 'hello', 'a call')
      expect(await toolNames(second)).not.toContain('sign_in')
      expect(readServerMemory(sceneHome, remote.url)?.era).toBe('modern')
    }))

  it('a memory of 2026-07-28 heals at the next start of a client of both when the server speaks 2025-11-25 now', () =>
    inAuthScene({ era: 'modern' }, async ({ remote, home: sceneHome, bridge }) => {
      remote.set({ auth: false })
      const first = bridge({ era: 'modern' })
      await first.open()
      await first.close()
      remote.set({ auth: true, era: 'legacy' })
      const second = bridge({ era: 'modern' })
      expect(await second.open()).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } })
      expect(await toolNames(second)).toContain('sign_in')
      await visit(await second.link())
      const refusal = expect.objectContaining({ code: -32_022, data: earlierVersions }) as unknown
      await expect.poll(() => second.request('tools/list')).toMatchObject({ error: refusal })
      await second.close()
      const probe = bridge({ era: 'modern' })
      expect(await probe.open()).toMatchObject({ error: refusal })
      await probe.close()
      const third = bridge({ era: 'legacy' })
      await third.open()
      expect(await call(third, 'echo', { text: 'hello' })).toBe('hello')
      expect(readServerMemory(sceneHome, remote.url)?.era).toBe('legacy')
    }))
})
