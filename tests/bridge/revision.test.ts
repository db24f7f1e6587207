import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BridgeHome, createBridgeHome, launcher, startBridge } from '../e2e/bridge-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { type Remote, type RemoteOptions, startRemote } from '../support/remote/remote.ts'
import { buildGoServer, type GoServer, startGoServer } from '../support/bridge/process/go-server.ts'
import { readServerMemory, writeServerMemory } from '../support/bridge/process/server-memory.ts'
import { call, inAuthScene, until, visit } from '../support/bridge/sign-in/auth-scene.ts'

const clients = ['legacy', 'modern'] as const
const oldRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

let home: BridgeHome
beforeEach(() => {
  home = createBridgeHome()
})
afterEach(() => home.remove())

/** One start of a bridge: opens, lists the tools and calls `echo`. */
async function useOnce(url: string, era: (typeof clients)[number]): Promise<void> {
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
const starts = [['legacy', 'legacy', 'modern', 'modern', 'legacy']] as const

/** What `doctor` finds about the connections of clients. */
async function sessionCheck(url: string, ...flags: string[]): Promise<Record<string, unknown> | undefined> {
  const argv = [launcher, 'doctor', url, '--store', 'file', '--json', ...flags]
  const env = { PATH: process.env['PATH'] ?? '', HOME: home.path }
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const { checks } = JSON.parse(await text(child.stdout)) as { checks: Record<string, unknown>[] }
  return checks.find(({ name }) => name === 'session')
}

const isGoBuilt = await buildGoServer()

describe.skipIf(!isGoBuilt)('a server of the Go SDK', { timeout: 60_000 }, () => {
  let server: GoServer | undefined
  afterEach(async () => {
    await server?.close()
    server = undefined
  })

  it.each(starts)(
    'with sessions, which discovery finds to lack 2026-07-28: clients %s, %s, %s, %s, %s',
    async (...eras) => {
      server = await startGoServer({ stateless: false })
      for (const era of eras) await useOnce(server.url, era)
      expect(readServerMemory(home, server.url)).toMatchObject({ era: 'legacy' })
      expect(await sessionCheck(server.url)).toMatchObject({
        state: 'ok',
        message: '"go" speaks 2025-11-25 and has 1 tool on its first page.',
      })
    },
  )

  it.each(starts)('without sessions: clients %s, %s, %s, %s, %s', async (...eras) => {
    server = await startGoServer({ stateless: true })
    for (const era of eras) await useOnce(server.url, era)
    expect(readServerMemory(home, server.url)).toMatchObject({ era: 'modern' })
    expect(await sessionCheck(server.url)).toMatchObject({
      state: 'ok',
      message: '"go" speaks 2026-07-28 and has 1 tool on its first page.',
    })
  })

  it.each(clients)('that loses or gains 2026-07-28 between two starts of a %s client', async (era) => {
    const port = await freePort()
    for (const stateless of [true, false, true]) {
      server = await startGoServer({ stateless, port })
      // What is remembered comes from a client of the newer revision, and is then met by either.
      if (stateless) await useOnce(server.url, 'modern')
      await useOnce(server.url, era)
      await server.close()
    }
  })
})

describe('a server that names only earlier revisions in its discovery', { timeout: 60_000 }, () => {
  let remote: Remote
  beforeEach(async () => {
    remote = await startRemote({ era: 'legacy', discoverable: true })
  })
  afterEach(() => remote.close())

  it.each(starts)('serves clients %s, %s, %s, %s, %s', async (...eras) => {
    for (const era of eras) await useOnce(remote.url, era)
    expect(readServerMemory(home, remote.url)).toMatchObject({ era: 'legacy' })
  })

  it('fails in doctor when its tools cannot be listed', async () => {
    expect(await sessionCheck(remote.url)).toMatchObject({ state: 'ok' })
    remote.failNext(400, 100, 'tools/list')
    expect(await sessionCheck(remote.url)).toMatchObject({ state: 'fail' })
  })

  it('is looked at by doctor over the transport of 2024-11-05, too', async () => {
    remote.set({ transport: 'sse', discoverable: false })
    expect(await sessionCheck(remote.sseUrl)).toMatchObject({
      state: 'ok',
      message: expect.stringMatching(
        /^"remote" speaks 20\d\d-\d\d-\d\d and has \d+ tools on its first page\.$/,
      ),
    })
  })

  it('fails in doctor where the configuration has clients speak 2026-07-28 to it', async () => {
    expect(await sessionCheck(remote.url, '--protocol', 'modern')).toMatchObject({ state: 'fail' })
  })

  it.each(clients)('serves a %s client though it is remembered as one of 2026-07-28', async (era) => {
    writeServerMemory(home, remote.url, {
      version: 1,
      era: 'modern',
      transport: 'http',
      at: Math.floor(Date.now() / 1000),
      discoverResult: {
        resultType: 'complete',
        supportedVersions: oldRevisions,
        capabilities: { tools: {} },
      },
      tools: [],
    })
    await useOnce(remote.url, era)
    expect(readServerMemory(home, remote.url)).toMatchObject({ era: 'legacy' })
    // Nobody asked it for anything else in the revision that it does not have.
    if (era === 'legacy') expect(remote.counters.methods['server/discover']).toBeUndefined()
  })
})

const servers = {
  '2025-11-25': { era: 'legacy', discoverable: false },
  '2025-11-25 with discovery': { era: 'legacy', discoverable: true },
  '2026-07-28': { era: 'modern' },
  both: { era: 'both' },
} satisfies Record<string, RemoteOptions>
const changes = [
  ['2025-11-25', '2026-07-28'],
  ['2026-07-28', '2025-11-25'],
  ['2026-07-28', '2025-11-25 with discovery'],
  ['both', '2025-11-25'],
] as const

describe.each(clients)('what is remembered when a %s client starts', { timeout: 60_000 }, (era) => {
  it.each(changes)('heals at once when a server of %s is one of %s now', async (before, after) => {
    const remote = await startRemote(servers[before])
    try {
      for (const earlier of clients) await useOnce(remote.url, earlier)
      remote.set({ discoverable: false, ...servers[after] })
      await useOnce(remote.url, era)
      const { era: remembered } = readServerMemory(home, remote.url) ?? {}
      expect(remembered).toBe(servers[after].era)
    } finally {
      await remote.close()
    }
  })

  it.each(changes.slice(0, 2))('heals by the sign-in when a server of %s is one of %s now', (before, after) =>
    inAuthScene(servers[before], async ({ remote, home: sceneHome, bridge }) => {
      // What bridges learn from a server that does not want to know who they are.
      remote.set({ auth: false })
      for (const earlier of clients) {
        const first = bridge({ era: earlier })
        await first.open()
        await first.request('tools/list')
        await first.close()
      }
      remote.set({ auth: true, discoverable: false, ...servers[after] })
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
