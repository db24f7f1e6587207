import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPerson } from '../e2e/person.ts'
import { registerPlainClient } from '../e2e/plain-client.ts'
import { startGateway } from '../e2e/gateway-server.ts'
import type { ServerProcess } from '../e2e/server-process.ts'
import { until } from '../support/until.ts'
import { startBridgeChild } from '../support/bridge/process/bridge-child.ts'
import { initialize, message2026 } from '../support/server/mcp/mcp-message.ts'

/*
 * Numbers that JavaScript rounds or writes otherwise, as people reported of libraries, clients and gateways in Go and TypeScript: ids of
 * 64 bits in arguments and results, limits in schemas, ids of requests.
 */

const numbers = [
  '9007199254740993',
  '-9223372036854775808',
  '123456789012345678901234567890',
  '1.0',
  '100.50',
  '-0',
  '1e400',
  '1E5',
  '0.1000000000000000055511151231257827',
  '0.0000001',
]
const list = `[${numbers.join(',')}]`
const program = fileURLToPath(new URL('../peers/stdio/odd-answers.mjs', import.meta.url))

/** Puts JSON in the place of the text `"HERE"` in a message. */
const withJson = (message: unknown, json: string): string =>
  JSON.stringify(message).replaceAll('"HERE"', json)

interface Way {
  send(message: string, headers?: Record<string, string>): Promise<string>
}

/** What a client sees of the numbers, whichever way they go. */
function keepsNumbers(way: () => Way, kinds: readonly ('2025-11-25' | '2026-07-28')[]): void {
  describe.each(kinds)('for a client of %s', (kind) => {
    const send = (method: string, params: Record<string, unknown>, json: string): Promise<string> => {
      if (kind === '2025-11-25') return way().send(withJson({ jsonrpc: '2.0', id: 1, method, params }, json))
      const { message, headers } = message2026(method, params)
      return way().send(withJson(message, json), headers)
    }

    it('numbers in arguments are kept', async () => {
      const said = await send('tools/call', { name: 'line', arguments: { n: 'HERE' } }, list)
      expect(said).toContain(JSON.stringify(`"n":${list}`).slice(1, -1))
    })

    it('numbers in results are kept', async () => {
      const result = `{"content":[],"structuredContent":{"n":${list}},"resultType":"complete"}`
      const text = JSON.stringify(`{"jsonrpc":"2.0","id":ID,"result":${result}}\n`)
      expect(await send('tools/call', { name: 'write', arguments: { text: 'HERE' } }, text)).toContain(
        `"n":${list}`,
      )
    })

    it('numbers in the data of errors are kept', async () => {
      const text = JSON.stringify(
        `{"jsonrpc":"2.0","id":ID,"error":{"code":-5,"message":"No.","data":${list}}}\n`,
      )
      expect(await send('tools/call', { name: 'write', arguments: { text: 'HERE' } }, text)).toContain(
        `"data":${list}`,
      )
    })

    it('numbers in schemas are kept, also of filtered lists', async () => {
      const said = await send('tools/list', {}, '')
      expect(said).toContain('"maximum":9223372036854775807,"default":1.0}')
      expect(said).not.toContain('hidden')
    })

    it.each(['9007199254740993', '-9223372036854775808'])(
      'a number in the id %s of a request is kept',
      async (id) => {
        const params = {
          name: 'write',
          arguments: { text: '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}\n' },
        }
        const { message, headers } = message2026('tools/call', params)
        const said =
          kind === '2025-11-25'
            ? await way().send(withJson({ jsonrpc: '2.0', id: 'HERE', method: 'tools/call', params }, id))
            : await way().send(withJson({ ...(message as object), id: 'HERE' }, id), headers)
        expect(said).toContain(`"id":${id}`)
        expect(said).toContain('"content":[]')
      },
    )
  })
}

const clients = ['2025-11-25', '2026-07-28'] as const
const tools = { deny: ['hidden'] }

/** Clients that have signed in at the built server in front of that upstream. */
async function gatewayTo(upstream: Record<string, unknown>): Promise<{ server: ServerProcess; way: Way }> {
  const server = await startGateway({ ...upstream, tools })
  const { access_token: token } = await (
    await registerPlainClient(server)
  ).connect(await createPerson(server))
  const send: Way['send'] = async (body, headers = {}) => {
    const accept = 'application/json, text/event-stream'
    const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept, ...headers }
    return (await server.fetch(server.mcpUrl, { method: 'POST', headers: all, body })).text()
  }
  return { server, way: { send } }
}

describe.each([
  ['2025-11-25', []],
  ['2026-07-28', ['--modern']],
])('numbers stay as they came through the gateway to a command of %s,', { timeout: 60_000 }, (era, args) => {
  let server: ServerProcess
  let way: Way
  beforeAll(async () => {
    ;({ server, way } = await gatewayTo({ command: process.execPath, args: [program, ...args] }))
  })
  afterAll(() => server?.close())
  keepsNumbers(() => way, era === '2025-11-25' ? [era] : clients)

  it('a command keeps numbers in progress tokens', async () => {
    const progress =
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1.0}}'
    const params = {
      name: 'write',
      arguments: { text: `${progress}\n{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}\n` },
      _meta: { progressToken: 'HERE' },
    }
    const { message, headers } = message2026('tools/call', params)
    const earlier = [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, {}] as const
    for (const [sent, more] of era === '2025-11-25' ? [earlier] : [earlier, [message, headers] as const])
      expect(await way.send(withJson(sent, '9007199254740993'), more)).toContain(
        '"params":{"progressToken":9007199254740993,"progress":1.0}',
      )
  })
})

/** An MCP server by HTTP, with the tools of the command. */
async function serve(era: string): Promise<{ http: Server; url: string }> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isPost = request.method === 'POST'
    const answer = isPost ? answerTo(await readText(request), era) : undefined
    const status = isPost ? 202 : 405
    response.writeHead(answer === undefined ? status : 200, { 'content-type': 'application/json' })
    response.end(answer)
  }
  const http = createServer((...both) => void respond(...both)).listen(0, '127.0.0.1')
  await once(http, 'listening')
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` }
}

function answerTo(text: string, era: string): string | undefined {
  const { method, params = {} } = JSON.parse(text) as {
    method: string
    params?: { name?: string; arguments?: { text: string } }
  }
  const id = /"id":(-?\d+|"[^"]*")/.exec(text)?.[1]
  if (id === undefined) return undefined
  const capabilities = { tools: {} }
  const serverInfo = { name: 'odd', version: '1' }
  const answers: Record<string, () => string> = {
    initialize: () => JSON.stringify({ protocolVersion: era, capabilities, serverInfo }),
    'server/discover': () =>
      JSON.stringify({ resultType: 'complete', supportedVersions: [era], capabilities }),
    'tools/list': () => {
      const inputSchema = '{"type":"object","properties":{"n":{"maximum":9223372036854775807,"default":1.0}}}'
      const all = ['write', 'line', 'hidden'].map((name) => `{"name":"${name}","inputSchema":${inputSchema}}`)
      return `{"resultType":"complete","tools":[${all.join(',')}]}`
    },
    'tools/call': () => JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text }] }),
  }
  const isOther = method === (era === '2026-07-28' ? 'initialize' : 'server/discover')
  const answer = isOther ? undefined : answers[method]
  if (params.name === 'write') return params.arguments?.text.replace('ID', id)
  return answer
    ? `{"jsonrpc":"2.0","id":${id},"result":${answer()}}`
    : `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`
}

describe('numbers stay as they came through the gateway to a server by HTTP,', { timeout: 60_000 }, () => {
  let http: Server
  let server: ServerProcess
  let way: Way
  beforeAll(async () => {
    const served = await serve('2025-11-25')
    http = served.http
    ;({ server, way } = await gatewayTo({ url: served.url }))
  })
  afterAll(async () => {
    await server?.close()
    http.close()
  })
  keepsNumbers(() => way, clients)

  it.each(['9007199254740993', '-9223372036854775808'])(
    'a number in the id %s of an error is kept',
    async (id) => {
      for (const text of ['no JSON', '{"jsonrpc":"2.0","id":ID}']) {
        const params = { name: 'write', arguments: { text } }
        const said = await way.send(
          withJson({ jsonrpc: '2.0', id: 'HERE', method: 'tools/call', params }, id),
        )
        expect(said, text).toContain(`"id":${id},"error"`)
      }
      const hidden = { jsonrpc: '2.0', id: 'HERE', method: 'tools/call', params: { name: 'hidden' } }
      expect(await way.send(withJson(hidden, id))).toContain(`"id":${id},"error"`)
    },
  )

  it('the gateway keeps numbers in a batch, and in an answer about a task', async () => {
    const result = `{"content":[],"n":${list},"task":{"taskId":"t","ttl":1.0}}`
    for (const text of [
      `[{"jsonrpc":"2.0","id":1,"result":${result}}]`,
      `{"jsonrpc":"2.0","id":1,"result":${result}}`,
    ]) {
      const params = { name: 'write', arguments: { text } }
      const said = await way.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
      expect(said).toContain(`"n":${list},"task":{"taskId":"t.`)
      expect(said).toContain('"ttl":1.0}')
    }
  })

  it('the gateway keeps numbers in the arguments of a call that names a task', async () => {
    const task = JSON.stringify('{"jsonrpc":"2.0","id":ID,"result":{"content":[],"task":{"taskId":"t"}}}')
    const started = await way.send(
      withJson(
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'write', arguments: { text: 'HERE' } },
        },
        task,
      ),
    )
    const taskId = /"taskId":"([^"]+)"/.exec(started)?.[1]
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId } }
    const params = { name: 'line', arguments: { n: 'HERE', taskId }, _meta }
    const said = await way.send(withJson({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, list))
    const { result } = JSON.parse(said) as { result: { content: { text: string }[] } }
    // The id is the upstream's own where it names a task, and nowhere else.
    expect(result.content[0]?.text).toContain(`"arguments":{"n":${list},"taskId":"${taskId}"}`)
    expect(result.content[0]?.text).toContain(
      '"related-task":{"taskId":"t"}'.replace('related', 'io.modelcontextprotocol/related'),
    )
  })
})

describe.each(clients)(
  'numbers stay as they came through the bridge to a server of %s,',
  { timeout: 60_000 },
  (era) => {
    let http: Server
    let bridge: ReturnType<typeof startBridgeChild>
    let way: Way
    beforeAll(async () => {
      const served = await serve(era)
      http = served.http
      bridge = startBridgeChild(served.url, { flags: ['--ignore-tool', 'hidden', '--store', 'memory'] })
      let said = ''
      bridge.child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const answers = (): string[] =>
        said.split('\n').filter((line) => line.includes('"result"') || line.includes('"error"'))
      way = {
        async send(message) {
          const before = answers().length
          bridge.write(message)
          await until(() => answers().length > before, 'an answer')
          return answers().at(-1) ?? ''
        },
      }
      await way.send(JSON.stringify(initialize()))
      bridge.write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    })
    afterAll(async () => {
      await bridge?.close()
      http.close()
    })
    keepsNumbers(() => way, clients)
  },
)
