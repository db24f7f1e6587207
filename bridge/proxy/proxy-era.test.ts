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

const now = Math.floor(Date.now() / 1000)
const webPage = ({ response }: Received): unknown =>
  response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Done.</p>')

const discoverResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'remembered', version: '1' } },
}
const modernMemory: ServerMemory = { era: 'modern', transport: 'http', at: now, discoverResult }
const legacyMemory: ServerMemory = { era: 'legacy', transport: 'http', at: now }

describe('the four pairs', () => {
  it('makes the own initialize of a legacy client the first request to a legacy server', async () => {
    const to = await startServer()
    const rig = startProxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    const called = await rig.ask('tools/call', { name: 'echo', arguments: { a: 1 } })
    expect(called['result'].content[0].text).toBe('{"a":1}')
    expect(to.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call'])
    expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'http', tools: [{ name: 'echo' }] })
  })

  it('makes server/discover of a modern client the first request to a modern server', async () => {
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

  it('translates for a legacy client when initialize is refused by a modern server', async () => {
    const to = await startServer({ era: 'modern' })
    const rig = startProxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    expect(to.methods().slice(0, 2)).toEqual(['initialize', 'server/discover'])
    expect(rig.memory()).toMatchObject({ era: 'modern', lacks: { era: 'legacy' } })
  })

  it('translates for a modern client when server/discover is refused by a legacy server', async () => {
    const to = await startServer()
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result']).toMatchObject({ resultType: 'complete' })
    expect(to.methods()[0]).toBe('server/discover')
    expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
  })

  it('passes each message on in its own era to a server that has both', async () => {
    const to = await startServer({ era: 'both' })
    const rig = startProxy(to)
    await rig.ask('server/discover', claims())
    expect((await initialize(rig))['result'].protocolVersion).toBe('2025-11-25')
    expect((await rig.ask('tools/list'))['result'].resultType).toBeUndefined()
    expect((await rig.ask('tools/list', claims()))['result'].resultType).toBe('complete')
  })
})

describe('the memory', () => {
  it('sends a legacy client straight to the methods of a modern server', async () => {
    const to = await startServer({ era: 'modern' })
    const rig = startProxy(to, { memory: modernMemory })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remembered')
    await rig.ask('tools/list')
    expect(to.methods().filter((method) => method !== 'subscriptions/listen')).toEqual(['tools/list'])
  })

  it('of legacy clients does not keep a modern one from a server that has both', async () => {
    const to = await startServer({ era: 'both' })
    const rig = startProxy(to, { memory: legacyMemory })
    await rig.ask('server/discover', claims())
    expect(to.received[0]?.headers['mcp-protocol-version']).toBe('2026-07-28')
    expect(rig.memory()?.era).toBe('modern')
  })

  it('that a server lacks the newer era saves the question for a day', async () => {
    const to = await startServer()
    const fresh = startProxy(to, { memory: { ...legacyMemory, lacks: { era: 'modern', at: now } } })
    await fresh.ask('tools/list', claims())
    expect(to.methods()[0]).toBe('initialize')
    to.received.length = 0
    const stale = startProxy(to, { memory: { ...legacyMemory, lacks: { era: 'modern', at: now - 100_000 } } })
    await stale.ask('server/discover', claims())
    expect(to.methods()[0]).toBe('server/discover')
  })
})

/** Says that the server is of neither era, in a web page. */
const notFound = ({ response }: Received): boolean => (response.writeHead(404).end('restarting'), true)

/** Answers what claims 2026-07-28 like a server that does not know it. */
const refuseModern =
  (said: Json, status = 400) =>
  (request: Received): boolean => {
    if (request.headers['mcp-protocol-version'] !== '2026-07-28') return false
    request.answer(said, status)
    return true
  }

describe('evidence', () => {
  it.each([401, 403, 503, 500, 429])('%d says nothing about the era', async (status) => {
    const to = await startServer({
      era: 'modern',
      handle: ({ response }) => (response.writeHead(status).end(), true),
    })
    const rig = startProxy(to)
    expect((await rig.ask('server/discover', claims()))['error']).toBeDefined()
    expect(to.methods()).toEqual(['server/discover'])
    to.set({ handle: undefined })
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toHaveLength(1)
  })

  it.each([
    ['legacy', {}],
    ['legacy', { id: null }],
    ['modern', {}],
    ['modern', { id: null }],
  ] as const)(
    'a 400 is the 2025 era for a %s client, under the id of the request or %j',
    async (client, id) => {
      const error = { code: -32_600, message: 'Unsupported protocol version' }
      const to = await startServer({ handle: refuseModern({ error, ...id }) })
      const rig = startProxy(to, { memory: modernMemory })
      if (client === 'legacy') await initialize(rig)
      expect((await rig.ask('tools/list', own(client)))['result'].tools).toHaveLength(1)
      const called = await rig.ask('tools/call', { ...own(client), name: 'echo', arguments: { a: 1 } })
      expect(called['result'].content[0].text).toBe('{"a":1}')
      expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
    },
  )

  const error = { code: -32_603, message: 'broken' }
  it.each([
    ['an error with 200', 'legacy', onCall(({ answer }) => answer({ error })), error],
    ['an error with 200', 'modern', onCall(({ answer }) => answer({ error })), error],
    ['a web page', 'legacy', onCall(webPage), { data: { fault: 'no_mcp' } }],
    ['a web page', 'modern', onCall(webPage), { data: { fault: 'no_mcp' } }],
  ] as const)(
    '%s is none, and its %s call is not made again in the other',
    async (_, client, handle, said) => {
      const to = await startServer({ era: 'both', handle })
      const rig = startProxy(to, { memory: modernMemory })
      if (client === 'legacy') await initialize(rig)
      const called = await rig.ask('tools/call', { ...own(client), name: 'echo', arguments: {} })
      expect(called['error']).toMatchObject(said)
      expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('-32022 that names only earlier revisions is the 2025 era', async () => {
    const data = { supported: ['2025-11-25', '2025-06-18'], requested: '2026-07-28' }
    const handle = refuseModern({ error: { code: -32_022, message: 'no', data } })
    const rig = startProxy(await startServer({ handle }))
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
  })

  it('a discovery that names only earlier revisions is the 2025 era', async () => {
    const rig = startProxy(await startServer({ discoverable: true }))
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
  })

  const lacksModern = { ...legacyMemory, lacks: { era: 'modern' as const, at: now } }

  it('a refusal that passes does not bind the bridge to an era', async () => {
    const to = await startServer({ handle: notFound })
    const rig = startProxy(to, { memory: lacksModern })
    expect(await rig.ask('tools/list', claims())).toHaveProperty('error')
    to.set({ handle: undefined })
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
  })

  it('refusals that pass do not end a call that waits for its session meanwhile', async () => {
    const { given, give } = createSignal()
    const to = await startServer({
      handle(request) {
        const { body, headers } = request
        if (body['params']?.capabilities?.sampling !== undefined) return given.then(() => false)
        return headers['mcp-session-id'] === undefined && notFound(request)
      },
    })
    const rig = startProxy(to, { memory: lacksModern })
    const waiting = rig.ask('tools/list', claims({ sampling: {} }))
    for (let refused = 0; refused < 2; refused += 1)
      expect(await rig.ask('tools/list', claims())).toHaveProperty('error')
    give()
    expect((await waiting)['result'].tools).toHaveLength(1)
  })

  it('-32602 with 200, as the Python SDK answers an unknown method, is the 2025 era', async () => {
    const handle = refuseModern({ error: { code: -32_602, message: 'Invalid' } }, 200)
    const rig = startProxy(await startServer({ handle }))
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
  })

  it('-32602 for what the client itself did wrong stays an answer of the modern era', async () => {
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

  it('-32022 that offers our version is answered with the same request, once', async () => {
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

  it('a refused initialize is told to the client when the server is of neither era, and tried anew', async () => {
    const to = await startServer({ handle: notFound })
    const rig = startProxy(to)
    expect((await initialize(rig))['error'].data.fault).toBe('not_found')
    to.set({ handle: undefined })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
  })

  it('is asked for first for a modern client that opens with another method', async () => {
    const to = await startServer()
    const rig = startProxy(to)
    expect((await rig.ask('tools/list', claims()))['result'].resultType).toBe('complete')
    expect(to.methods()[0]).toBe('server/discover')
  })

  it('is not looked for when the era is pinned', async () => {
    const to = await startServer()
    const rig = startProxy(to, { protocol: 'modern' })
    expect((await rig.ask('server/discover', claims()))['error'].code).toBe(-32_000)
    expect(to.methods()).toEqual(['server/discover'])
    const pinned = startProxy(to, { protocol: 'legacy', memory: modernMemory, signInWaitMs: 5000 })
    expect((await initialize(pinned))['result'].serverInfo.name).toBe('remote')
  })
})

describe('HTTP+SSE', () => {
  it.each(['http-first', 'sse-first', 'sse-only'] as const)(
    'serves a legacy client with %s',
    async (transport) => {
      const { sseUrl: url } = await startServer({ transport: 'sse' })
      const rig = startProxy({ url }, { transport })
      expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
      expect((await rig.ask('tools/list'))['result'].tools).toHaveLength(1)
      expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'sse' })
    },
  )

  it('serves a modern client', async () => {
    const { sseUrl: url } = await startServer({ transport: 'sse' })
    expect((await startProxy({ url }).ask('tools/list', claims()))['result'].tools).toHaveLength(1)
  })

  it('is not tried with http-only', async () => {
    const to = await startServer({ transport: 'sse' })
    const rig = startProxy({ url: to.sseUrl }, { transport: 'http-only' })
    expect((await initialize(rig))['error'].data.fault).toBe('not_found')
    expect(to.received.every(({ method }) => method === 'POST')).toBe(true)
  })

  it('gives way to Streamable HTTP with sse-first', async () => {
    const rig = startProxy(await startServer({ streamStatus: 405 }), { transport: 'sse-first' })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remote')
  })
})

it('tells a dead server as an error, whatever is known of it, and goes on', async () => {
  // A port of a server that has closed is soon another's.
  const memory = { ...legacyMemory, initializeResult: { protocolVersion: '2025-11-25', capabilities: {} } }
  const rig = startProxy({ url: 'http://127.0.0.1:9/mcp' }, { memory })
  for (const _ of [1, 2]) expect((await initialize(rig))['error'].data.fault).toBe('refused')
})
