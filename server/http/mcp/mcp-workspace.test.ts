import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import {
  initialize,
  message2026,
  notification,
  readMessages,
  request,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  processesWith,
  responseOf,
  upstreamSample,
} from '../../../tests/support/server/mcp/command-fixture.ts'
import type { CommandUpstream } from '../../core/gateway/upstream.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import type { Served } from '../../startup/open-tools.ts'
import { serveUpstream } from '../../startup/open-upstream.ts'

const opened: DrawbridgeFixture[] = []
async function start(tools: ToolModule | Served): Promise<DrawbridgeFixture> {
  const fixture = await startDrawbridge({}, undefined, tools)
  opened.push(fixture)
  return fixture
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()))
  vi.useRealTimers()
})

/** One client of the fixture's person. */
interface Connected {
  headers: Record<string, string>
  moveTo(id: string | undefined): Promise<void>
}

async function connect({ connect: begin, app, runtime }: DrawbridgeFixture, id?: string): Promise<Connected> {
  const before = new Set((await all()).map(({ grant }) => grant.id))
  const { tokens } = await begin()
  const grantId = (await all()).find(({ grant }) => !before.has(grant.id))?.grant.id ?? ''
  const client: Connected = {
    headers: { authorization: `Bearer ${tokens.access_token}` },
    async moveTo(workspaceId) {
      const record = await app.store.findGrant(grantId)
      if (!record) throw new Error('There is no grant.')
      const { grant } = record
      const workspace = workspaceId === undefined ? undefined : { id: workspaceId, name: workspaceId }
      const to = { scope: grant.scope, workspace }
      expect(await app.store.changeGrant({ grantId, from: grant, to }, runtime.now())).toBe(true)
    },
  }
  if (id !== undefined) await client.moveTo(id)
  return client

  async function all() {
    return app.store.listGrants(undefined, { after: '', limit: 99 })
  }
}

/** A process of the scripted server that has the workspace in its environment, and the mark of its processes. */
function serveCommand(more: Partial<CommandUpstream> = {}): { served: Promise<Served>; mark: string } {
  const mark = randomUUID()
  const env = { WORKSPACE: ['in ', { user: 'workspace' }] } as const
  const upstream = upstreamSample(['--mark', mark], { env, maxPerUser: 8, ...more })
  return { served: serveUpstream(upstream), mark }
}

interface About {
  pid: number
  workspace: unknown
}

async function aboutOf(response: Response): Promise<About> {
  expect(response.status).toBe(200)
  const { result = {} } = await responseOf(response)
  const { pid, env } = result['structuredContent'] as { pid: number; env: Record<string, string> }
  return { pid, workspace: env['WORKSPACE'] }
}

type Call = (drawbridge: DrawbridgeFixture, client: Connected) => Promise<Response>

const alone: Call = (drawbridge, { headers }) => drawbridge.mcp(toolCall('about'), headers)
const modern: Call = (drawbridge, client) => {
  const { message, headers } = message2026('tools/call', { name: 'about', arguments: {} })
  return drawbridge.mcp(message, { ...client.headers, ...headers })
}

async function openSession(
  drawbridge: DrawbridgeFixture,
  { headers }: Connected,
): Promise<Record<string, string>> {
  const begun = await drawbridge.mcp(initialize(), headers)
  const id = begun.headers.get('mcp-session-id') ?? ''
  await begun.text()
  const all = { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  await drawbridge.mcp(notification('notifications/initialized'), all)
  return all
}

const inSession: Call = async (drawbridge, client) =>
  drawbridge.mcp(toolCall('about'), await openSession(drawbridge, client))

describe('the processes of a command with ${user:workspace}', () => {
  it.each<[how: string, call: Call]>([
    ['without a session', alone],
    ['in a session', inSession],
    ['at 2026-07-28', modern],
  ])('processes are never shared by two workspaces of one person, called %s', async (_how, call) => {
    const drawbridge = await start(await serveCommand().served)
    const clients = [
      await connect(drawbridge),
      await connect(drawbridge, 'sales'),
      await connect(drawbridge, 'legal'),
    ]
    const found = await Promise.all(
      [...clients, ...clients].map(async (client) => aboutOf(await call(drawbridge, client))),
    )
    const workspaces = found.map(({ workspace }) => workspace)
    expect(workspaces).toEqual(['in ', 'in sales', 'in legal', 'in ', 'in sales', 'in legal'])
    const byProcess = new Map(found.map(({ pid, workspace }) => [pid, workspace]))
    expect(found.every(({ pid, workspace }) => byProcess.get(pid) === workspace)).toBe(true)
  })

  it('a process is shared by the clients of one person in one workspace, without sessions', async () => {
    const drawbridge = await start(await serveCommand().served)
    const one = await aboutOf(await alone(drawbridge, await connect(drawbridge, 'sales')))
    const other = await aboutOf(await alone(drawbridge, await connect(drawbridge, 'sales')))
    expect(other).toEqual(one)
  })

  it.each<[how: string, call: Call]>([
    ['without a session', alone],
    ['at 2026-07-28', modern],
  ])(
    'the next call %s after a change of workspace runs in another process, and the old one ends when it is idle',
    async (_how, call) => {
      const { served, mark } = serveCommand({ idleSeconds: 1 })
      const drawbridge = await start(await served)
      const client = await connect(drawbridge, 'sales')
      const before = await aboutOf(await call(drawbridge, client))
      await client.moveTo('legal')
      const after = await aboutOf(await call(drawbridge, client))
      expect([before.workspace, after.workspace]).toEqual(['in sales', 'in legal'])
      // With pauses: a fast machine would use up the limit of calls, and refused ones end nothing.
      await expect
        .poll(() => alone(drawbridge, client).then(() => processesWith(mark)), {
          timeout: 10_000,
          interval: 100,
        })
        .toEqual([after.pid])
    },
  )

  it('a session with a process is answered 404 after a change of workspace, by every method', async () => {
    const drawbridge = await start(await serveCommand().served)
    const client = await connect(drawbridge, 'sales')
    const headers = await openSession(drawbridge, client)
    expect((await aboutOf(await drawbridge.mcp(toolCall('about'), headers))).workspace).toBe('in sales')
    await client.moveTo('legal')
    const refused = [
      await drawbridge.mcp(toolCall('about'), headers),
      await drawbridge.mcp(request('ping'), headers),
      await drawbridge.fetch('/mcp', { headers: { ...headers, accept: 'text/event-stream' } }),
      await drawbridge.fetch('/mcp', { method: 'DELETE', headers }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect((await aboutOf(await inSession(drawbridge, client))).workspace).toBe('in legal')
  })

  it('a session with a process ends at the check after a change of workspace, and its streams and process with it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { served, mark } = serveCommand()
    const drawbridge = await start(await served)
    const client = await connect(drawbridge, 'sales')
    const staying = await connect(drawbridge, 'sales')
    const [headers, others] = [await openSession(drawbridge, client), await openSession(drawbridge, staying)]
    const { pid } = await aboutOf(await drawbridge.mcp(toolCall('about'), headers))
    const kept = await aboutOf(await drawbridge.mcp(toolCall('about'), others))
    const stream = await drawbridge.fetch('/mcp', { headers: { ...headers, accept: 'text/event-stream' } })
    await client.moveTo('legal')
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await readMessages(stream).rest()).toEqual([])
    await expect.poll(() => processesWith(mark)).not.toContain(pid)
    expect((await aboutOf(await drawbridge.mcp(toolCall('about'), others))).pid).toBe(kept.pid)
  })

  it('a process with the provider token serves one connection in one workspace', async () => {
    const env = { WORKSPACE: ['in ', { user: 'workspace' }], TOKEN: [{ user: 'provider_token' }] } as const
    const drawbridge = await start(await serveCommand({ env }).served)
    const client = await connect(drawbridge, 'sales')
    const before = await aboutOf(await alone(drawbridge, client))
    await client.moveTo('legal')
    const after = await aboutOf(await alone(drawbridge, client))
    expect([before.workspace, after.workspace, after.pid === before.pid]).toEqual([
      'in sales',
      'in legal',
      false,
    ])
  })
})

describe('what is open in a workspace', () => {
  it('a subscription of a tools module ends at the check after a change of workspace', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const drawbridge = await start({ tools: [{ name: 'a', call: () => 'a' }], start() {} })
    const [client, staying] = [await connect(drawbridge, 'sales'), await connect(drawbridge, 'sales')]
    const listen = async ({ headers }: Connected): Promise<Response> => {
      const sent = message2026('subscriptions/listen', { notifications: { toolsListChanged: true } })
      return drawbridge.mcp(sent.message, { ...headers, ...sent.headers })
    }
    const ended = readMessages(await listen(client))
    const open = readMessages(await listen(staying))
    await client.moveTo('legal')
    await vi.advanceTimersByTimeAsync(15_000)
    expect((await ended.rest()).at(-1)?.message.result).toMatchObject({ resultType: 'complete' })
    await open.next()
    expect(await Promise.race([open.next(), Promise.resolve('open')])).toBe('open')
    await open.cancel()
  })

  it('a session of a tools module is answered 404 after a change of workspace', async () => {
    const drawbridge = await start({
      asksClient: true,
      register(mcp, context) {
        mcp.registerTool('about', {}, () => ({
          content: [{ type: 'text', text: String(context.workspace?.id) }],
        }))
      },
    })
    const client = await connect(drawbridge, 'sales')
    const headers = await openSession(drawbridge, client)
    expect(await (await drawbridge.mcp(toolCall('about'), headers)).text()).toContain('sales')
    await client.moveTo('legal')
    expect((await drawbridge.mcp(toolCall('about'), headers)).status).toBe(404)
    expect(await (await inSession(drawbridge, client)).text()).toContain('legal')
  })
})
