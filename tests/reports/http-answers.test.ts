import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../e2e/gateway-server.ts'
import { createPerson } from '../e2e/person.ts'
import { registerPlainClient } from '../e2e/plain-client.ts'
import type { ServerProcess } from '../e2e/server-process.ts'
import { startBridgeChild } from '../support/bridge/process/bridge-child.ts'
import { toolCall } from '../support/server/mcp/mcp-message.ts'
import { answerShapes } from './answer-shapes.ts'

/** An MCP server of 2025-11-25 whose tools answer with the bytes that they are told, as JSON or as events. */
async function serve(): Promise<{ http: Server; url: string }> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const { id, method, params } = JSON.parse((await readText(request)) || '{}') as {
      id?: number
      method?: string
      params?: { name: string; arguments: { text: string } }
    }
    const say = (status: number, body?: string, type = 'application/json'): unknown =>
      response.writeHead(status, { 'content-type': type }).end(body && Buffer.from(body, 'latin1'))
    if (request.method !== 'POST') return say(405)
    if (id === undefined) return say(202)
    if (method === 'initialize') {
      const serverInfo = { name: 'odd', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
      return say(200, JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    if (method !== 'tools/call' || !params)
      return say(200, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Not found' } }))
    const text = params.arguments.text.replaceAll('ID', String(id))
    if (params.name === 'json') return say(200, text)
    const lines = text.split(/\r?\n/).map((line) => `data: ${line}\n\n`)
    return say(200, lines.join(''), 'text/event-stream')
  }
  const http = createServer((...both) => void respond(...both)).listen(0, '127.0.0.1')
  await once(http, 'listening')
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` }
}

let http: Server
let url: string
beforeAll(async () => {
  ;({ http, url } = await serve())
})
afterAll(() => void http.close())

describe('through the gateway to a server by HTTP', { timeout: 60_000 }, () => {
  let server: ServerProcess
  let authorization: string
  beforeAll(async () => {
    server = await startGateway({ url })
    const { access_token } = await (await registerPlainClient(server)).connect(await createPerson(server))
    authorization = `Bearer ${access_token}`
  })
  afterAll(() => server?.close())

  async function call(tool: string, text: string): Promise<string> {
    const headers = {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const body = JSON.stringify(toolCall(tool, { text }, 5))
    const signal = AbortSignal.timeout(10_000)
    return (await server.fetch(server.mcpUrl, { method: 'POST', signal, headers, body })).text()
  }

  it.each([
    [
      'an error with the id null',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32099,"message":"Closed","data":9007199254740993}}',
    ],
    [
      'an error without an id',
      '{"jsonrpc":"2.0","error":{"code":-32099,"message":"Closed","data":9007199254740993}}',
    ],
    [
      'a result whose id is text',
      '{"jsonrpc":"2.0","id":"ID","result":{"content":[],"_meta":{"n":9007199254740993}}}',
    ],
  ])('%s reaches the client through the gateway under the id of its request', async (_what, text) => {
    for (const tool of ['json', 'events']) {
      const said = await call(tool, text)
      expect(said).toContain('"id":5')
      expect(said).toContain('9007199254740993')
    }
  })

  it.each(answerShapes)(
    'an answer with %s ends its call through the gateway at once, as JSON and as an event',
    async (_shape, text) => {
      for (const tool of ['json', 'events']) {
        const said = await call(tool, text)
        expect(said, tool).toMatch(/"id":"?5/)
        expect(said, tool).toMatch(/"result":\s*\{|"error":\{/)
      }
    },
  )
})

describe('through the bridge', { timeout: 60_000 }, () => {
  let bridge: ReturnType<typeof startBridgeChild>
  beforeAll(async () => {
    bridge = startBridgeChild(url, { flags: ['--store', 'memory'] })
    await bridge.initialize()
  })
  afterAll(() => bridge?.close())

  it.each(answerShapes)(
    'an answer with %s ends its call through the bridge at once, as JSON and as an event',
    async (_shape, text) => {
      for (const tool of ['json', 'events']) {
        const answer = await bridge.ask('tools/call', { name: tool, arguments: { text } })
        expect('result' in answer || 'error' in answer, tool).toBe(true)
      }
    },
  )
})
