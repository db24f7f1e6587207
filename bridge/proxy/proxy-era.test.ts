import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import {
  claims,
  onCall,
  own,
  startServer,
  initialize,
  startProxy,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Json, Received } from '../../tests/support/remote/received.ts'
import type { ServerMemory } from '../transport/server-memory.ts'

const webPage = ({ response }: Received): unknown =>
  response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Done.</p>')

const discoverResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'remembered', version: '1' } },
}
const modernMemory: ServerMemory = { era: 'modern', transport: 'http', discoverResult }
const legacyMemory: ServerMemory = { era: 'legacy', transport: 'http' }

/** The versions that reach a server of 2025 only. */
const earlier = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** The error for a client of 2026-07-28 before a server that lacks this revision. */
const unsupported = { code: -32_022, data: { supported: earlier, requested: '2026-07-28' } }

describe('the revisions of a client and a server', () => {
  it('a 2025 client of a 2025 server opens with its own initialize', async () => {
    const to = await startServer()
    const rig = startProxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    const called = await rig.ask('tools/call', { name: 'echo', arguments: { a: 1 } })
    expect(called['result'].content[0].text).toBe('{"a":1}')
    expect(to.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call'])
    expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'http', tools: [{ name: 'echo' }] })
  })

  it('a 2026 client of a 2026 server opens with its own server/discover', async () => {
    const to = await startServer({ era: 'modern' })
    const rig = startProxy(to)
    const found = await rig.ask('server/discover', claims())
    expect(found['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(to.methods()).toEqual(['server/discover', 'tools/list'])
    expect(rig.memory()).toMatchObject({
      era: 'modern',
      discoverResult: { supportedVersions: ['2026-07-28'] },
    })
  })

  it('a 2025 client of a 2026 server is adapted after the server has refused initialize', async () => {
    const to = await startServer({ era: 'modern' })
    const rig = startProxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    expect(to.methods().slice(0, 2)).toEqual(['initialize', 'server/discover'])
    expect(rig.memory()).toMatchObject({ era: 'modern' })
  })

  it.each([
    ['under its id', undefined],
    ['under another id', 'another'],
  ])('a 2025 client of a 2026 server gets the JSON-RPC error of a 4xx, %s', async (_, id) => {
    const to = await startServer({
      era: 'modern',
      handle: onCall(({ body, json }) => {
        const error = { code: -32_000, message: 'Full.' }
        json(400, { jsonrpc: '2.0', id: id ?? (body['id'] as number), error })
      }),
    })
    const rig = startProxy(to)
    await initialize(rig)
    const called = await rig.ask('tools/call', { name: 'echo', arguments: {} })
    expect(called['error']).toEqual({ code: -32_000, message: 'Full.' })
  })

  it('a 2026 client of a 2025 server gets -32022 with the versions that work', async () => {
    const to = await startServer()
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error']).toEqual({
      message: 'MCP 2026-07-28 is not available here. Begin with initialize at 2025-11-25 or earlier.',
      ...unsupported,
    })
    expect((await rig.ask('tools/list', claims()))['error']).toMatchObject(unsupported)
    const call = { ...claims(), name: 'echo', arguments: {} }
    expect((await rig.ask('tools/call', call))['error']).toMatchObject(unsupported)
    expect(to.counters).toMatchObject({ calls: {}, sessionsOpened: 0 })
  })

  it('a client of both of a 2025 server falls back, and is asked in its session', async () => {
    const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Name?' } }
    const held: ServerResponse[] = []
    const to = await startServer({
      handle({ body, events, response }) {
        if (body['method'] === 'tools/call') held.push(events(`data: ${JSON.stringify(question)}\n\n`))
        else if (body['id'] !== 'q') return false
        else {
          response.writeHead(202).end()
          const result = { content: [{ type: 'text', text: body['result'].content.name }] }
          held[0]?.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 'call', result })}\n\n`)
        }
        return true
      },
    })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
    expect((await initialize(rig, { elicitation: {} }))['result'].serverInfo.name).toBe('remote')
    const called = rig.ask('tools/call', { name: 'echo', arguments: {} }, 'call')
    const asked = await rig.find(({ method }) => method === 'elicitation/create')
    rig.write({ jsonrpc: '2.0', id: asked['id'], result: { action: 'accept', content: { name: 'Ada' } } })
    expect((await called)['result'].content[0].text).toBe('Ada')
    expect(rig.memory()).toMatchObject({ era: 'legacy' })
  })

  it.each(['legacy', 'modern'] as const)(
    'a client and a server of both use either revision: %s comes first',
    async (first) => {
      const to = await startServer({ era: 'both' })
      const rig = startProxy(to)
      if (first === 'modern') await rig.ask('server/discover', claims())
      expect((await initialize(rig))['result'].protocolVersion).toBe('2025-11-25')
      expect((await rig.ask('tools/list'))['result'].resultType).toBeUndefined()
      expect((await rig.ask('tools/list', claims()))['result'].resultType).toBe('complete')
    },
  )
})

describe('a server of unknown revision', () => {
  it('a client of both revisions is offered 2025-11-25 while the server is down', async () => {
    const rig = startProxy({ url: 'http://127.0.0.1:9/mcp' })
    const { error } = await rig.ask('server/discover', claims())
    expect(error).toMatchObject(unsupported)
    expect(error?.message).toMatch(/^MCP 2026-07-28 is not available here: .*127\.0\.0\.1:9/)
    expect(error?.message).toMatch(
      /\nBegin with initialize .*, or start the bridge with --protocol modern\.$/,
    )
    expect((await initialize(rig))['error'].data.fault).toBe('refused')
  })

  it('a server of 2025-11-25 that says nothing holds a server/discover for two seconds at most', async () => {
    const to = await startServer({ handle: ({ body }) => body['method'] === 'server/discover' })
    const rig = startProxy(to, { memory: legacyMemory })
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
  })

  it('a server of 2026-07-28 that is slow is waited for', async () => {
    const { given, give } = createSignal()
    const to = await startServer({ era: 'modern', handle: () => given.then(() => false) })
    const rig = startProxy(to)
    const found = rig.ask('server/discover', claims())
    await expect.poll(() => to.received.length).toBe(1)
    give()
    expect((await found)['result'].supportedVersions).toEqual(['2026-07-28'])
  })
})

it('a late server/discover does not take a 2025 client out of its session', async () => {
  const discovered = createSignal()
  const initialized = createSignal()
  const to = await startServer({
    era: 'both',
    handle({ body }) {
      if (body['method'] === 'server/discover') return discovered.given.then(() => false)
      return body['method'] === 'initialize' && initialized.given.then(() => false)
    },
  })
  const rig = startProxy(to)
  const found = rig.ask('server/discover', claims())
  const opened = initialize(rig)
  await expect.poll(() => to.methods()).toEqual(['server/discover', 'initialize'])
  discovered.give()
  expect(await found).toHaveProperty('result')
  initialized.give()
  expect(await opened).toHaveProperty('result')
  await rig.ask('tools/list')
  expect(to.received.at(-1)?.headers['mcp-session-id']).toBeDefined()
})

describe('the memory', () => {
  it('a remembered 2026 server gets the requests of a 2025 client without a probe', async () => {
    const to = await startServer({ era: 'modern' })
    const rig = startProxy(to, { memory: modernMemory })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remembered')
    await rig.ask('tools/list')
    expect(to.methods().filter((method) => method !== 'subscriptions/listen')).toEqual(['tools/list'])
  })

  it('a server remembered as 2025 is asked for 2026-07-28 by a 2026 client', async () => {
    const to = await startServer({ era: 'both' })
    const rig = startProxy(to, { memory: legacyMemory })
    await rig.ask('server/discover', claims())
    expect(to.received[0]?.headers['mcp-protocol-version']).toBe('2026-07-28')
    expect(rig.memory()?.era).toBe('modern')
  })

  it('a server remembered as 2026 that speaks 2025 now makes the client fall back', async () => {
    const to = await startServer()
    const rig = startProxy(to, { memory: modernMemory, signInWaitMs: 20_000 })
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
    expect((await initialize(rig))['result']).toBeDefined()
    expect((await rig.ask('tools/list'))['result'].tools).toHaveLength(1)
    expect(rig.memory()?.era).toBe('legacy')
  })
})

/** Says that the server is of neither revision, in a web page. */
const notFound = ({ response }: Received): boolean => (response.writeHead(404).end('restarting'), true)

/** Answers what claims 2026-07-28 like a server that does not know it. */
const refuseModern =
  (said: Json, status = 400) =>
  (request: Received): boolean => {
    if (request.headers['mcp-protocol-version'] !== '2026-07-28') return false
    request.answer(said, status)
    return true
  }

describe('evidence of the revision', () => {
  it.each([401, 403, 503, 500, 429])('a %d tells nothing of the revision', async (status) => {
    const to = await startServer({
      era: 'modern',
      handle: ({ response }) => (response.writeHead(status).end(), true),
    })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error'].message).toContain('not available')
    expect(await rig.ask('tools/list', claims())).not.toHaveProperty('error.code', -32_022)
    to.set({ handle: undefined })
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toHaveLength(1)
  })

  it.each([
    ['legacy', {}],
    ['legacy', { id: null }],
    ['modern', {}],
    ['modern', { id: null }],
  ] as const)(
    'a 400 to 2026-07-28 is evidence of 2025, for a %s client and the id %j',
    async (client, id) => {
      const error = { code: -32_600, message: 'Unsupported protocol version' }
      const to = await startServer({ handle: refuseModern({ error, ...id }) })
      const rig = startProxy(to, { memory: modernMemory })
      if (client === 'modern') {
        expect((await rig.ask('tools/list', claims()))['error']).toMatchObject(unsupported)
        return
      }
      await initialize(rig)
      expect((await rig.ask('tools/list'))['result'].tools).toHaveLength(1)
      const called = await rig.ask('tools/call', { name: 'echo', arguments: { a: 1 } })
      expect(called['result'].content[0].text).toBe('{"a":1}')
      expect(rig.memory()).toMatchObject({ era: 'legacy' })
    },
  )

  const error = { code: -32_603, message: 'broken' }
  it.each([
    ['an error with 200', 'legacy', onCall(({ answer }) => answer({ error })), error],
    ['an error with 200', 'modern', onCall(({ answer }) => answer({ error })), error],
    ['a web page', 'legacy', onCall(webPage), { data: { fault: 'no_mcp' } }],
    ['a web page', 'modern', onCall(webPage), { data: { fault: 'no_mcp' } }],
  ] as const)(
    '%s tells nothing: the call of a %s client may have been executed, and is not repeated',
    async (_, client, handle, said) => {
      const to = await startServer({ era: 'both', handle })
      const rig = startProxy(to, { memory: modernMemory })
      if (client === 'legacy') await initialize(rig)
      const called = await rig.ask('tools/call', { ...own(client), name: 'echo', arguments: {} })
      expect(called['error']).toMatchObject(said)
      expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('a -32022 that names earlier revisions only is evidence of 2025, and passes these on', async () => {
    const data = { supported: ['2025-11-25', '2025-06-18'], requested: '2026-07-28' }
    const handle = refuseModern({ error: { code: -32_022, message: 'no', data } })
    const rig = startProxy(await startServer({ handle }))
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject({ code: -32_022, data })
  })

  it('a discovery that names earlier revisions only is evidence of 2025', async () => {
    const rig = startProxy(await startServer({ discoverable: true }))
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
  })

  it('a -32602 with 200, as the Python SDK answers unknown methods, is evidence of 2025', async () => {
    const handle = refuseModern({ error: { code: -32_602, message: 'Invalid' } }, 200)
    const rig = startProxy(await startServer({ handle }))
    expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
  })

  it('a -32602 of a 2026 server for an invalid request is passed on', async () => {
    const refuse = refuseModern({ error: { code: -32_602, message: 'Invalid' } })
    const to = await startServer({
      era: 'modern',
      handle: (request) => to.received.length === 1 && refuse(request),
    })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error'].code).toBe(-32_602)
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(to.methods()).not.toContain('initialize')
  })

  it('a -32022 that offers our version repeats the request', async () => {
    const data = { supported: ['2026-07-28'], requested: '2026-07-28' }
    const refuse = refuseModern({ error: { code: -32_022, message: 'no', data } })
    const to = await startServer({
      era: 'modern',
      handle: (request) => to.received.length === 1 && refuse(request),
    })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toHaveLength(1)
    expect(to.methods()).toEqual(['server/discover', 'server/discover'])
  })

  it('a 404 that passes does not bind the bridge: a 2026 client is served once the server is up', async () => {
    const to = await startServer({ era: 'modern', handle: notFound })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error'].message).toContain('404')
    expect(await rig.ask('tools/list', claims())).toHaveProperty('error')
    to.set({ handle: undefined })
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
  })

  it('a server of neither revision is an error, and the next request starts over', async () => {
    const to = await startServer({ handle: notFound })
    const rig = startProxy(to, { memory: modernMemory })
    await initialize(rig)
    expect(await rig.ask('tools/list')).toHaveProperty('error.data.fault', 'not_found')
    to.set({ handle: undefined, era: 'modern' })
    expect((await rig.ask('tools/list'))['result'].tools).toHaveLength(1)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remembered')
  })

  it('a pinned revision is not probed', async () => {
    const to = await startServer()
    const rig = startProxy(to, { protocol: 'modern' })
    expect((await rig.ask('server/discover', claims()))['error'].code).toBe(-32_000)
    expect(to.methods()).toEqual(['server/discover'])
    const pinned = startProxy(to, { protocol: 'legacy', memory: modernMemory, signInWaitMs: 5000 })
    expect((await pinned.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
    expect(to.methods()).toHaveLength(1)
    expect((await initialize(pinned))['result'].serverInfo.name).toBe('remote')
  })
})

it.each(['http-first', 'sse-first', 'sse-only'] as const)(
  'an HTTP+SSE server serves a 2025 client with %s',
  async (transport) => {
    const { sseUrl: url } = await startServer({ transport: 'sse' })
    const rig = startProxy({ url }, { transport })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
    expect((await rig.ask('tools/list'))['result'].tools).toHaveLength(1)
    expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'sse' })
  },
)

it('an HTTP+SSE server makes a 2026 client fall back', async () => {
  const { sseUrl: url } = await startServer({ transport: 'sse' })
  const rig = startProxy({ url })
  expect((await rig.ask('server/discover', claims()))['error']).toMatchObject(unsupported)
  expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
})

it('HTTP+SSE is not tried with http-only', async () => {
  const to = await startServer({ transport: 'sse' })
  const rig = startProxy({ url: to.sseUrl }, { transport: 'http-only' })
  expect((await initialize(rig))['error'].data.fault).toBe('not_found')
  expect(to.received.every(({ method }) => method === 'POST')).toBe(true)
})

it('HTTP+SSE gives way to Streamable HTTP with sse-first', async () => {
  const rig = startProxy(await startServer({ streamStatus: 405 }), { transport: 'sse-first' })
  expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
})

it('a server that is down is an error, whatever is remembered of it', async () => {
  // A port of a server that has closed is soon another's.
  const memory = { ...legacyMemory, initializeResult: { protocolVersion: '2025-11-25', capabilities: {} } }
  const rig = startProxy({ url: 'http://127.0.0.1:9/mcp' }, { memory, signInWaitMs: 20_000 })
  for (const _ of [1, 2]) expect((await initialize(rig))['error'].data.fault).toBe('refused')
})
