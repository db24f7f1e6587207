import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { initialize, message2026, request, toolCall } from '../../../tests/support/server/mcp/mcp-message.ts'
import { responseOf, upstreamSample } from '../../../tests/support/server/mcp/command-fixture.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import { readUpstreamDocument } from '../../core/gateway/upstream-document.ts'
import type { Served } from '../../startup/open-tools.ts'
import { serveUpstream } from '../../startup/open-upstream.ts'

const folder = temporaryFolder(afterAll)

interface Listed {
  name: string
  inputSchema?: object
  annotations?: object
}

const inputSchema = { type: 'object' }
const reading = (name: string): Listed => ({ name, inputSchema, annotations: { readOnlyHint: true } })
const writing = (name: string): Listed => ({ name, inputSchema })

/** The pages of the upstream's list. */
let pages: Listed[][]
let lists: number
/** The last request for the list. */
let listed: Message | undefined
let ran: string[]
/** Answers a list in place of the pages. */
let answerList: ((response: ServerResponse) => void) | undefined
let sessions: Set<string>
let hasSessions: boolean
let asStream: boolean

interface Message {
  id: unknown
  method: string
  params: { name?: string; cursor?: string; _meta?: object }
}

function resultOf({ method, params }: Message): object {
  if (method === 'initialize')
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    }
  if (method === 'tools/list') {
    const page = Number(params.cursor ?? 0)
    return { tools: pages[page] ?? [], ...(page + 1 < pages.length && { nextCursor: String(page + 1) }) }
  }
  ran.push(String(params.name))
  return { content: [{ type: 'text', text: 'done' }] }
}

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = []
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
  incoming.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Message | Message[]
    const messages = Array.isArray(body) ? body : [body]
    const isList = messages.some(({ method }) => method === 'tools/list')
    if (isList) {
      lists += 1
      listed = messages[0]
    }
    const session = incoming.headers['mcp-session-id']
    const opens = messages.some(({ method }) => method === 'initialize')
    if (hasSessions && !opens && !sessions.has(String(session))) return void response.writeHead(404).end()
    // A router goes by the headers.
    const named = incoming.headers['mcp-method']
    if (named !== undefined && named !== messages[0]?.method) return void response.writeHead(400).end()
    if (isList && answerList) return answerList(response)
    if (hasSessions && opens) sessions.add('one')
    const answers = messages.map((message) => ({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }))
    const text = JSON.stringify(Array.isArray(body) ? answers : answers[0])
    const headers = hasSessions && opens ? { 'mcp-session-id': 'one' } : {}
    if (!asStream)
      return void response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(text)
    // A stream that the upstream leaves open.
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' }).write(`data: ${text}\n\n`)
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

beforeEach(() => {
  pages = [[reading('read'), writing('write')]]
  lists = 0
  ran = []
  answerList = undefined
  sessions = new Set()
  hasSessions = false
  asStream = false
})

const scopes = { 'notes:write': 'Change your notes', 'notes:admin': 'Do everything' }

async function gateway(tools: object = {}, changes: object = {}): Promise<Served> {
  const reading_ = readUpstreamDocument(
    {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
      tools: { scopes: { '@writes': 'notes:write' }, ...tools },
      scopes,
    },
    {},
  )
  if (reading_.kind !== 'read') throw new Error(JSON.stringify(reading_))
  return serveUpstream({ ...reading_.value, ...changes })
}

const command = (process: 'user' | 'shared') => async (): Promise<Served> => {
  const policy = {
    allow: ['*'],
    deny: [],
    publicTools: new Set<string>(),
    scopes: [['@writes', 'notes:write']],
  }
  const sample = upstreamSample(['--reads', 'about'], { process })
  return serveUpstream({ ...sample, policy: policy as never, scopes })
}

const log = (name: string) => (): string => {
  ran.push(name)
  return 'done'
}
const plain: ToolModule = {
  scopes,
  toolScopes: { '@writes': 'notes:write' },
  tools: [
    { name: 'read', annotations: { readOnlyHint: true }, call: log('read') },
    { name: 'write', call: log('write') },
  ],
}
const registered: ToolModule = {
  ...plain,
  tools: [],
  register(mcp) {
    for (const { name, annotations } of [reading('read'), writing('write')])
      mcp.registerTool(name, { ...(annotations && { annotations }) }, () => ({
        content: [{ type: 'text', text: log(name)() }],
      }))
  },
}

const opened: DrawbridgeFixture[] = []
async function start(tools: ToolModule | Served, settings = {}): Promise<DrawbridgeFixture> {
  const fixture = await startDrawbridge(settings, undefined, tools)
  opened.push(fixture)
  return fixture
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()))
})

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

async function tokenFor(drawbridge: DrawbridgeFixture, scope = 'mcp'): Promise<string> {
  return (await drawbridge.connect({ scope })).tokens.access_token
}

type Send = (drawbridge: DrawbridgeFixture, token: string, name: string) => Promise<Response>

const earlier: Send = (drawbridge, token, name) => drawbridge.mcp(toolCall(name), bearer(token))
const inBatch: Send = (drawbridge, token, name) => drawbridge.mcp([toolCall(name)], bearer(token))
const modern: Send = (drawbridge, token, name) => {
  const { message, headers } = message2026('tools/call', { name, arguments: {} })
  return drawbridge.mcp(message, { ...bearer(token), ...headers })
}

/** The outcome of a call: `done`, the scopes that are asked for, or the error. */
async function outcome(response: Response): Promise<string> {
  if (response.status === 403)
    return /insufficient_scope/.test(response.headers.get('www-authenticate') ?? '')
      ? (/scope="([^"]*)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1] ?? 'no scope')
      : '403'
  if (response.status !== 200) return String(response.status)
  const given: unknown =
    response.headers.get('content-type') === 'text/event-stream'
      ? await responseOf(response)
      : await response.json()
  const { result, error } = (Array.isArray(given) ? given[0] : given) as Record<string, { message?: string }>
  return error ? `error: ${error.message}` : result ? 'done' : 'nothing'
}

describe.each<[what: string, serve: () => Promise<ToolModule | Served>, read: string, write: string]>([
  ['an HTTP upstream', () => gateway(), 'read', 'write'],
  ['a command', command('user'), 'about', 'echo'],
  ['a shared command', command('shared'), 'about', 'echo'],
  ['a tools module', async () => plain, 'read', 'write'],
  ['a tools module that registers tools', async () => registered, 'read', 'write'],
])('@writes with %s that has not listed anything', (what, serve, read, write) => {
  it.each<[era: string, send: Send]>([
    ['2025-11-25', earlier],
    ['2025-03-26 in a batch', inBatch],
    ['2026-07-28', modern],
  ])(
    '@writes lets a person who left the scope out read, asks for the scope at a write, and lets others write, at %s',
    async (_era, send) => {
      const drawbridge = await start(await serve())
      const token = await tokenFor(drawbridge)
      const found = [
        await outcome(await send(drawbridge, token, read)),
        await outcome(await send(drawbridge, token, write)),
        await outcome(await send(drawbridge, await tokenFor(drawbridge, 'mcp notes:write'), write)),
      ]
      expect([what, ...found]).toEqual([what, 'done', 'mcp notes:write', 'done'])
    },
  )
})

describe('@writes with an HTTP upstream', () => {
  it.each<[mark: string, annotations: object | undefined, found: string]>([
    ['no annotations', undefined, 'mcp notes:write'],
    ['other annotations', { destructiveHint: false, idempotentHint: true }, 'mcp notes:write'],
    ['readOnlyHint: false', { readOnlyHint: false }, 'mcp notes:write'],
    ['readOnlyHint as a text', { readOnlyHint: 'true' }, 'mcp notes:write'],
    ['readOnlyHint: true', { readOnlyHint: true }, 'done'],
  ])('@writes takes a tool with %s for what it says', async (_mark, annotations, found) => {
    pages = [[{ name: 'tool', ...(annotations && { annotations }) }]]
    const drawbridge = await start(await gateway())
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'tool'))).toBe(found)
  })

  it('@writes takes a tool for a write again once a list comes without its mark, and for a reading one with it', async () => {
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const call = async (): Promise<string> => outcome(await earlier(drawbridge, token, 'read'))
    const list = async (tool: Listed): Promise<void> => {
      pages = [[tool]]
      await drawbridge.mcp(request('tools/list'), bearer(token))
    }
    const found = [await call()]
    await list(writing('read'))
    found.push(await call())
    await list(reading('read'))
    found.push(await call())
    expect(found).toEqual(['done', 'mcp notes:write', 'done'])
  })

  it('@writes goes by a list that passes, and asks the upstream for none then', async () => {
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    await drawbridge.mcp(request('tools/list'), bearer(token))
    await earlier(drawbridge, token, 'read')
    await earlier(drawbridge, token, 'write')
    expect(lists).toBe(1)
  })

  it.each<[what: string, tools: object, scope: string, name: string]>([
    ['of a person who holds the scope', {}, 'mcp notes:write', 'write'],
    [
      'of a tool that has its scope by a pattern',
      { scopes: { 'w*': 'notes:write', '@writes': 'notes:admin' } },
      'mcp',
      'write',
    ],
    ['of a tool that is hidden', { deny: ['write'] }, 'mcp', 'write'],
  ])('@writes asks the upstream for no list at a call %s', async (_what, tools, scope, name) => {
    const drawbridge = await start(await gateway(tools))
    await earlier(drawbridge, await tokenFor(drawbridge, scope), name)
    expect(lists).toBe(0)
  })

  it('@writes shares one list among concurrent calls of a connection', async () => {
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const found = await Promise.all(
      Array.from({ length: 20 }, async () => outcome(await earlier(drawbridge, token, 'read'))),
    )
    expect([new Set(found), lists]).toEqual([new Set(['done']), 1])
  })

  it('@writes reads all pages of the list', async () => {
    pages = [[writing('write')], [writing('other')], [reading('read')]]
    const drawbridge = await start(await gateway())
    expect(await outcome(await modern(drawbridge, await tokenFor(drawbridge), 'read'))).toBe('done')
    expect(lists).toBe(3)
  })

  it('@writes gives up a list that does not end, and takes its unknown tools for writes', async () => {
    answerList = (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [], nextCursor: 'on' } }))
    const drawbridge = await start(await gateway())
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'read'))).toBe(
      'mcp notes:write',
    )
    expect(lists).toBe(100)
  })

  it.each<[what: string, answer: (response: ServerResponse) => void]>([
    ['fails', (response) => void response.writeHead(500).end()],
    ['breaks off', (response) => void response.destroy()],
    [
      'is not JSON',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('x'),
    ],
    [
      'is an error',
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'),
    ],
  ])(
    '@writes takes a tool for a write if the list %s, and asks again after five seconds at the earliest',
    async (_what, answer) => {
      answerList = answer
      const drawbridge = await start(await gateway())
      const token = await tokenFor(drawbridge)
      const call = async (): Promise<string> => outcome(await earlier(drawbridge, token, 'read'))
      expect([await call(), await call(), lists]).toEqual(['mcp notes:write', 'mcp notes:write', 1])
      answerList = undefined
      drawbridge.runtime.advance(4)
      expect([await call(), lists]).toEqual(['mcp notes:write', 1])
      drawbridge.runtime.advance(1)
      expect([await call(), lists]).toEqual(['done', 2])
    },
  )

  it('@writes gives up a list that is larger than an answer may be, without waiting for its end', async () => {
    const served = await gateway({}, { maxBodyBytes: 100_000 })
    let [sent, isClosed] = [0, false]
    answerList = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const sending = setInterval(() => {
        sent += 50_000
        response.write(`: ${'x'.repeat(50_000)}\n\n`)
      }, 1)
      response.on('close', () => {
        clearInterval(sending)
        isClosed = true
      })
    }
    const drawbridge = await start(served)
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'read'))).toBe(
      'mcp notes:write',
    )
    await expect.poll(() => isClosed).toBe(true)
    expect(sent).toBeLessThan(10_000_000)
  })

  it.each(['\n', '\r\n', '\r'])('@writes reads a list in a stream whose lines end with %j', async (end) => {
    answerList = (response) => {
      const result = { tools: pages[0] }
      const data = JSON.stringify({ jsonrpc: '2.0', id: 'drawbridge-tools', result })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write([': waiting', 'event: message', `data: ${data}`, '', ''].join(end))
    }
    const drawbridge = await start(await gateway())
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'read'))).toBe('done')
  })

  it('@writes takes a tool that no list has for a write, and asks for the list no more often', async () => {
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const found = []
    for (let index = 0; index < 3; index += 1)
      found.push(await outcome(await earlier(drawbridge, token, `made up ${index}`)))
    expect([new Set(found), lists]).toEqual([new Set(['mcp notes:write']), 1])
  })

  it('@writes goes by the list of each connection: they need not be the same', async () => {
    const drawbridge = await start(await gateway())
    await earlier(drawbridge, await tokenFor(drawbridge), 'read')
    pages = [[reading('own')]]
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'own'))).toBe('done')
  })

  it('@writes asks for the list in the session of the call, and reads a stream that stays open', async () => {
    hasSessions = true
    asStream = true
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const begun = await drawbridge.mcp(initialize(), bearer(token))
    await begun.body?.cancel()
    const headers = { ...bearer(token), 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    expect((await drawbridge.mcp(toolCall('read'), headers)).status).toBe(200)
    expect([ran, lists]).toEqual([['read'], 1])
  })

  it('@writes answers 404, not 403, in a session that has ended, so that the client opens a new one', async () => {
    hasSessions = true
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const begun = await drawbridge.mcp(initialize(), bearer(token))
    const headers = { ...bearer(token), 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    sessions.clear()
    expect((await drawbridge.mcp(toolCall('read'), headers)).status).toBe(404)
    const again = await drawbridge.mcp(initialize(), bearer(token))
    const next = { ...bearer(token), 'mcp-session-id': again.headers.get('mcp-session-id') ?? '' }
    expect((await drawbridge.mcp(toolCall('read'), next)).status).toBe(200)
    headers['mcp-session-id'] = 'made up'
    expect((await drawbridge.mcp(toolCall('read'), headers)).status).toBe(404)
  })

  it('@writes asks for the list with nothing of the call but its revision and its client', async () => {
    const drawbridge = await start(await gateway())
    const token = await tokenFor(drawbridge)
    const _meta = { progressToken: 7, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, own: 'x' }
    const { message, headers } = message2026('tools/call', { name: 'read', arguments: {}, _meta })
    expect(await outcome(await drawbridge.mcp(message, { ...bearer(token), ...headers }))).toBe('done')
    expect(Object.keys(listed?.params._meta ?? {}).toSorted()).toEqual([
      'io.modelcontextprotocol/clientCapabilities',
      'io.modelcontextprotocol/clientInfo',
      'io.modelcontextprotocol/protocolVersion',
    ])
  })

  it('@writes refuses a whole batch with a write in it, before anything runs', async () => {
    const drawbridge = await start(await gateway())
    const batch = [toolCall('read', {}, 1), toolCall('write', {}, 2)]
    const response = await drawbridge.mcp(batch, bearer(await tokenFor(drawbridge)))
    expect([await outcome(response), ran]).toEqual(['mcp notes:write', []])
  })

  it.each<[what: string, given: Record<string, string>, expected: string[]]>([
    [
      'before a pattern',
      { '@writes': 'notes:write', '*': 'notes:admin' },
      ['mcp notes:admin', 'mcp notes:write'],
    ],
    ['after a pattern', { 'wr*': 'notes:admin', '@writes': 'notes:write' }, ['done', 'mcp notes:admin']],
  ])('@writes is one of the patterns, the first of which counts: %s', async (_what, given, expected) => {
    const drawbridge = await start(await gateway({ scopes: given }))
    const token = await tokenFor(drawbridge)
    const found = [await earlier(drawbridge, token, 'read'), await earlier(drawbridge, token, 'write')]
    expect(await Promise.all(found.map(outcome))).toEqual(expected)
  })

  it('@writes asks for no scope of a tool that is hidden from everyone: it does not exist', async () => {
    const drawbridge = await start(await gateway({ deny: ['write'] }))
    const found = await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'write'))
    expect(found).toMatch(/^error: .*write/)
    expect(ran).toEqual([])
  })

  it('@writes asks for no scope of a public tool, signed in or not, and the list says so', async () => {
    pages = [[reading('read'), writing('write'), writing('help')]]
    const drawbridge = await start(await gateway({ public: ['help'] }))
    const token = await tokenFor(drawbridge)
    expect(await outcome(await drawbridge.mcp(toolCall('help')))).toBe('done')
    expect(await outcome(await earlier(drawbridge, token, 'help'))).toBe('done')
    const challenge = await drawbridge.mcp(toolCall('write'))
    expect([challenge.status, challenge.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('scope="mcp notes:write"'),
    ])
    const listed = await drawbridge.mcp(request('tools/list'))
    const { result } = (await listed.json()) as { result: { tools: { securitySchemes: unknown }[] } }
    expect(result.tools.map(({ securitySchemes }) => securitySchemes)).toEqual([
      [{ type: 'oauth2', scopes: ['mcp'] }],
      [{ type: 'oauth2', scopes: ['mcp', 'notes:write'] }],
      [{ type: 'noauth' }, { type: 'oauth2', scopes: ['mcp'] }],
    ])
  })

  it('@writes hides writes from people whom the access rules give no such scope, and lets them read', async () => {
    const access = join(folder, 'access.json')
    writeFileSync(access, JSON.stringify({ rules: [{ allow: {}, scopes: ['mcp'] }] }))
    const drawbridge = await start(await gateway(), { access })
    const token = await tokenFor(drawbridge, 'mcp notes:write')
    expect(await outcome(await earlier(drawbridge, token, 'read'))).toBe('done')
    expect(await outcome(await earlier(drawbridge, token, 'write'))).toMatch(/^error: .*write/)
    const listed = await drawbridge.mcp(request('tools/list'), bearer(token))
    expect(await listed.text()).toMatch(/^(?=.*"read")(?!.*"write")/s)
  })

  it('@writes asks for no scope of a tool that the access rules hide: it does not exist', async () => {
    const access = join(folder, 'hidden.json')
    writeFileSync(access, JSON.stringify({ rules: [{ allow: {}, tools: { deny: ['write'] } }] }))
    const drawbridge = await start(await gateway(), { access })
    expect(await outcome(await earlier(drawbridge, await tokenFor(drawbridge), 'write'))).toMatch(/^error: /)
  })

  it('@writes records a write that was refused', async () => {
    const drawbridge = await start(await gateway())
    await earlier(drawbridge, await tokenFor(drawbridge), 'write')
    expect(drawbridge.events('tool_called')).toEqual([
      expect.objectContaining({ tool: 'write', outcome: 'refused_scope' }),
    ])
  })
})

describe('@writes with a tools module that registers tools', () => {
  it('@writes takes a tool as it is registered for the caller at that moment', async () => {
    let mark = true
    const drawbridge = await start({
      ...registered,
      register: (mcp) =>
        void mcp.registerTool('tool', { annotations: { readOnlyHint: mark } }, () => ({ content: [] })),
    })
    const token = await tokenFor(drawbridge)
    const found = [await outcome(await earlier(drawbridge, token, 'tool'))]
    mark = false
    found.push(await outcome(await earlier(drawbridge, token, 'tool')))
    mark = true
    found.push(await outcome(await modern(drawbridge, token, 'tool')))
    expect(found).toEqual(['done', 'mcp notes:write', 'done'])
  })
})
