import { afterEach, describe, expect, it } from 'vitest'
import {
  claims,
  initialize,
  startProxy,
  type Rig,
  type RigOptions,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import {
  legacyServer,
  modernServer,
  reply,
  startServer,
  type Behaviour,
  type Json,
  type Received,
  type TestServer,
} from '../../tests/support/bridge/proxy/scripted-server.ts'
import type { ServerMemory } from '../transport/server-memory.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean()
})

async function server(handle: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const started = await startServer(handle)
  cleanups.push(started.close)
  return started
}

function proxy(to: TestServer, options?: RigOptions): Rig {
  const rig = startProxy(to.url, options)
  cleanups.push(rig.stop)
  return rig
}

/** Serves each message in its own era. */
function dualServer(behaviour: Behaviour = {}): (request: Received) => void {
  const legacy = legacyServer(behaviour)
  const modern = modernServer(behaviour)
  return (request) => (request.headers['mcp-protocol-version'] === '2026-07-28' ? modern : legacy)(request)
}

const now = Math.floor(Date.now() / 1000)
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
    const to = await server(legacyServer())
    const rig = proxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('legacy')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    const called = await rig.ask('tools/call', { name: 'echo', arguments: { a: 1 } })
    expect(called['result'].content[0].text).toBe('{"a":1}')
    expect(to.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call'])
    expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'http', tools: [{ name: 'echo' }] })
  })

  it('makes server/discover of a modern client the first request to a modern server', async () => {
    const to = await server(modernServer())
    const rig = proxy(to)
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
    const to = await server(modernServer())
    const rig = proxy(to)
    expect((await initialize(rig))['result'].serverInfo.name).toBe('modern')
    expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
    expect(to.methods().slice(0, 2)).toEqual(['initialize', 'server/discover'])
    expect(rig.memory()).toMatchObject({ era: 'modern', lacks: { era: 'legacy' } })
  })

  it('translates for a modern client when server/discover is refused by a legacy server', async () => {
    const to = await server(legacyServer())
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result']).toMatchObject({ resultType: 'complete' })
    expect(to.methods()[0]).toBe('server/discover')
    expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
  })

  it('passes each message on in its own era to a server that has both', async () => {
    const to = await server(dualServer())
    const rig = proxy(to)
    await rig.ask('server/discover', claims())
    expect((await initialize(rig))['result'].protocolVersion).toBe('2025-11-25')
    expect((await rig.ask('tools/list'))['result'].resultType).toBeUndefined()
    expect((await rig.ask('tools/list', claims()))['result'].resultType).toBe('complete')
  })
})

describe('the memory', () => {
  it('sends a legacy client straight to the methods of a modern server', async () => {
    const to = await server(modernServer())
    const rig = proxy(to, { memory: modernMemory })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('remembered')
    await rig.ask('tools/list')
    expect(to.methods().filter((method) => method !== 'subscriptions/listen')).toEqual(['tools/list'])
  })

  it('of legacy clients does not keep a modern one from a server that has both', async () => {
    const to = await server(dualServer())
    const rig = proxy(to, { memory: legacyMemory })
    await rig.ask('server/discover', claims())
    expect(to.received[0]?.headers['mcp-protocol-version']).toBe('2026-07-28')
    expect(rig.memory()?.era).toBe('modern')
  })

  it('that a server lacks the newer era saves the question for a day', async () => {
    const to = await server(legacyServer())
    const fresh = proxy(to, { memory: { ...legacyMemory, lacks: { era: 'modern', at: now } } })
    await fresh.ask('tools/list', claims())
    expect(to.methods()[0]).toBe('initialize')
    to.received.length = 0
    const stale = proxy(to, { memory: { ...legacyMemory, lacks: { era: 'modern', at: now - 100_000 } } })
    await stale.ask('server/discover', claims())
    expect(to.methods()[0]).toBe('server/discover')
  })
})

describe('evidence', () => {
  it.each([
    ['401', 401, undefined],
    ['403', 403, undefined],
    ['503', 503, undefined],
    ['500', 500, undefined],
    ['429', 429, undefined],
  ])('%s says nothing about the era', async (_, status) => {
    let isIll = true
    const to = await server((request) => {
      if (isIll) return void request.response.writeHead(status).end()
      modernServer()(request)
    })
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['error']).toBeDefined()
    expect(to.methods()).toEqual(['server/discover'])
    isIll = false
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toHaveLength(1)
  })

  it.each([
    ['legacy', false],
    ['legacy', true],
    ['modern', false],
    ['modern', true],
  ] as const)(
    'a 400 is the 2025 era for a %s client, under the id of the request: %s',
    async (client, isNamed) => {
      const legacy = legacyServer()
      const to = await server((request) => {
        const { headers, body, response } = request
        if (headers['mcp-protocol-version'] !== '2026-07-28') return legacy(request)
        const error = { code: -32_600, message: 'Unsupported protocol version' }
        reply(response, { jsonrpc: '2.0', id: isNamed ? body['id'] : null, error }, 400)
      })
      const rig = proxy(to, { memory: modernMemory })
      if (client === 'legacy') await initialize(rig)
      const own = client === 'modern' ? claims() : {}
      expect((await rig.ask('tools/list', own))['result'].tools).toHaveLength(1)
      const called = await rig.ask('tools/call', { ...own, name: 'echo', arguments: { a: 1 } })
      expect(called['result'].content[0].text).toBe('{"a":1}')
      expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
    },
  )

  it('an error with 200 says nothing about the era, and its call is not made again in the other', async () => {
    const to = await server(
      dualServer({
        handle({ body, response }) {
          if (body['method'] !== 'tools/call') return false
          reply(response, { jsonrpc: '2.0', id: body['id'], error: { code: -32_603, message: 'broken' } })
          return true
        },
      }),
    )
    for (const own of [claims(), {}]) {
      to.received.length = 0
      const rig = proxy(to, { memory: modernMemory })
      if (!('_meta' in own)) await initialize(rig)
      const called = await rig.ask('tools/call', { ...own, name: 'echo', arguments: {} })
      expect(called['error'].message).toBe('broken')
      expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    }
  })

  it.each(['legacy', 'modern'] as const)(
    'a web page in place of a result does not make a call twice, %s client',
    async (client) => {
      const to = await server(
        dualServer({
          handle({ body, response }) {
            if (body['method'] !== 'tools/call') return false
            response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Done.</p>')
            return true
          },
        }),
      )
      const rig = proxy(to, { memory: modernMemory })
      if (client === 'legacy') await initialize(rig)
      const own = client === 'modern' ? claims() : {}
      const called = await rig.ask('tools/call', { ...own, name: 'echo', arguments: {} })
      expect(called['error'].data.fault).toBe('no_mcp')
      expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('-32022 that names only earlier revisions is the 2025 era', async () => {
    const legacy = legacyServer()
    const to = await server((request) => {
      const { headers, body, response } = request
      if (headers['mcp-protocol-version'] !== '2026-07-28') return legacy(request)
      const data = { supported: ['2025-11-25', '2025-06-18'], requested: '2026-07-28' }
      reply(response, { jsonrpc: '2.0', id: body['id'], error: { code: -32_022, message: 'no', data } }, 400)
    })
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(rig.memory()).toMatchObject({ era: 'legacy', lacks: { era: 'modern' } })
  })

  it('a refusal that passes does not bind the bridge to an era', async () => {
    let isIll = true
    const legacy = legacyServer()
    const to = await server((request) => {
      if (isIll) return void request.response.writeHead(404).end('restarting')
      legacy(request)
    })
    const memory = { ...legacyMemory, lacks: { era: 'modern' as const, at: now } }
    const rig = proxy(to, { memory })
    expect(await rig.ask('tools/list', claims())).toHaveProperty('error')
    isIll = false
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
  })

  it('refusals that pass do not end a call that waits for its session meanwhile', async () => {
    const legacy = legacyServer()
    let open = (): void => {}
    const to = await server((request) => {
      const { body, response } = request
      const isAsking = body['params']?.capabilities?.sampling !== undefined
      if (body['method'] === 'initialize' && isAsking) open = () => legacy(request)
      else if (request.headers['mcp-session-id'] === undefined) response.writeHead(404).end('restarting')
      else legacy(request)
    })
    const memory = { ...legacyMemory, lacks: { era: 'modern' as const, at: now } }
    const rig = proxy(to, { memory })
    const waiting = rig.ask('tools/list', claims({ sampling: {} }))
    for (let refused = 0; refused < 2; refused += 1)
      expect(await rig.ask('tools/list', claims())).toHaveProperty('error')
    open()
    expect((await waiting)['result'].tools).toHaveLength(1)
  })

  it('-32602 with 200, as the Python SDK answers an unknown method, is the 2025 era', async () => {
    const to = await server(
      legacyServer({
        handle({ body, response }) {
          if (body['method'] !== 'server/discover') return false
          reply(response, { jsonrpc: '2.0', id: body['id'], error: { code: -32_602, message: 'Invalid' } })
          return true
        },
      }),
    )
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toEqual(['2026-07-28'])
  })

  it('-32602 for what the client itself did wrong stays an answer of the modern era', async () => {
    let isFirst = true
    const to = await server(
      modernServer({
        handle({ body, response }) {
          if (!isFirst) return false
          isFirst = false
          reply(
            response,
            { jsonrpc: '2.0', id: body['id'], error: { code: -32_602, message: 'Invalid' } },
            400,
          )
          return true
        },
      }),
    )
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['error'].code).toBe(-32_602)
    expect((await rig.ask('tools/list', claims()))['result'].tools).toHaveLength(1)
    expect(to.methods()).not.toContain('initialize')
  })

  it('-32022 that offers our version is answered with the same request, once', async () => {
    let refusals = 0
    const to = await server(
      modernServer({
        handle({ body, response }) {
          if (refusals++ > 0) return false
          const error = {
            code: -32_022,
            message: 'no',
            data: { supported: ['2026-07-28'], requested: '2026-07-28' },
          }
          reply(response, { jsonrpc: '2.0', id: body['id'], error }, 400)
          return true
        },
      }),
    )
    const rig = proxy(to)
    expect((await rig.ask('server/discover', claims()))['result'].supportedVersions).toHaveLength(1)
    expect(to.methods()).toEqual(['server/discover', 'server/discover'])
  })

  it('a refused initialize is told to the client when the server is of neither era, and tried anew', async () => {
    let isThere = false
    const to = await server((request) => {
      if (isThere) return legacyServer()(request)
      request.response.writeHead(404).end('no')
    })
    const rig = proxy(to)
    expect((await initialize(rig))['error'].data.fault).toBe('not_found')
    isThere = true
    expect((await initialize(rig))['result'].serverInfo.name).toBe('legacy')
  })

  it('asks first for a modern client that opens with another method', async () => {
    const to = await server(legacyServer())
    const rig = proxy(to)
    expect((await rig.ask('tools/list', claims()))['result'].resultType).toBe('complete')
    expect(to.methods()[0]).toBe('server/discover')
  })

  it('is not looked for when the era is pinned', async () => {
    const to = await server(legacyServer())
    const rig = proxy(to, { protocol: 'modern' })
    expect((await rig.ask('server/discover', claims()))['error'].code).toBe(-32_000)
    expect(to.methods()).toEqual(['server/discover'])
    const pinned = proxy(to, { protocol: 'legacy', memory: modernMemory })
    expect((await initialize(pinned))['result'].serverInfo.name).toBe('legacy')
  })
})

describe('HTTP+SSE', () => {
  function sseServer(): (request: Received) => void {
    let stream: Received['response'] | undefined
    return ({ method, headers, body, response }) => {
      if (method === 'GET' && headers.accept?.includes('event-stream')) {
        stream = response
        response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        response.write('event: endpoint\ndata: /messages?s=1\n\n')
      } else if (stream === undefined) response.writeHead(405).end()
      else {
        response.writeHead(202).end()
        if (body['id'] === undefined) return
        const result =
          body['method'] === 'initialize'
            ? { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'sse', version: '1' } }
            : { tools: [] }
        stream.write(
          `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })}\n\n`,
        )
      }
    }
  }

  it.each([
    ['legacy', 'http-first'],
    ['legacy', 'sse-first'],
    ['legacy', 'sse-only'],
  ] as const)('serves a %s client with %s', async (_, transport) => {
    const rig = proxy(await server(sseServer()), { transport })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('sse')
    expect((await rig.ask('tools/list'))['result'].tools).toEqual([])
    expect(rig.memory()).toMatchObject({ era: 'legacy', transport: 'sse' })
  })

  it('serves a modern client', async () => {
    const rig = proxy(await server(sseServer()))
    expect((await rig.ask('tools/list', claims()))['result']).toMatchObject({ tools: [] })
  })

  it('is not tried with http-only', async () => {
    const to = await server(sseServer())
    const rig = proxy(to, { transport: 'http-only' })
    expect((await initialize(rig))['error'].data.fault).toBe('not_found')
    expect(to.received.every(({ method }) => method === 'POST')).toBe(true)
  })

  it('gives way to Streamable HTTP with sse-first', async () => {
    const rig = proxy(await server(legacyServer()), { transport: 'sse-first' })
    expect((await initialize(rig))['result'].serverInfo.name).toBe('legacy')
  })
})

it('tells a dead server as an error, and goes on', async () => {
  // A port of a server that has closed is soon another's.
  const rig = startProxy('http://127.0.0.1:9/mcp')
  const opened: Json = await initialize(rig)
  expect(opened['error'].data.fault).toBe('refused')
  expect((await initialize(rig))['error'].data.fault).toBe('refused')
  await rig.stop()
})
