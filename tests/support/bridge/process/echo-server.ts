import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { readText, sendJson } from '../../remote/exchange-parts.ts'
import { listenOn } from './socket-server.ts'
import type { Stage } from './stage.ts'

/** One request as received. */
export interface Heard {
  method: string
  headers: IncomingMessage['headers']
  /** Text of the body. */
  text: string
  message: JsonObject
}

/** A server that accepts anything and echoes it: `result.echoed` is the whole message. */
export interface EchoServer {
  port: number
  url: string
  heard: readonly Heard[]
  /** Returns the POSTs of that JSON-RPC method. */
  of(method: string): Heard[]
}

/** Answers a call in place of the echo. */
export type OnCall = (response: ServerResponse, reply: (result: JsonObject) => JsonObject) => unknown

/** Serves one era, including unknown methods. */
export async function startEchoServer(
  stage: Stage,
  era: 'legacy' | 'modern',
  onCall?: OnCall,
): Promise<EchoServer> {
  const heard: Heard[] = []
  const capabilities = { tools: {} }
  const server = createServer((request, response) => {
    void readText(request).then((text) => {
      const message = parseJsonObject(text) ?? {}
      heard.push({ method: request.method ?? '', headers: request.headers, text, message })
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const { id, method } = message
      if (id === undefined || method === undefined) return void response.writeHead(202).end()
      const opening = method === 'initialize' || method === 'server/discover'
      if (opening && (method === 'initialize') !== (era === 'legacy')) {
        const error = { code: -32_601, message: 'Method not found' }
        return sendJson(response, 404, { jsonrpc: '2.0', id, error })
      }
      const serverInfo = { name: 'echo', version: '1' }
      const answers: Readonly<Record<string, JsonObject>> = {
        initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo },
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities },
      }
      const result = (typeof method === 'string' ? answers[method] : undefined) ?? { echoed: message }
      const reply = (content: JsonObject): JsonObject => ({
        jsonrpc: '2.0',
        id,
        result: era === 'modern' ? { resultType: 'complete', ...content } : content,
      })
      if (method === 'tools/call' && onCall !== undefined) return void onCall(response, reply)
      return sendJson(response, 200, reply(result))
    })
  })
  const { port } = await listenOn(stage, server)
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    heard,
    of: (method) => heard.filter(({ message }) => message['method'] === method),
  }
}

/** Returns the message that the server received. */
export function echoedBy(answer: JsonObject): JsonObject {
  const { result } = answer
  const echoed = isJsonObject(result) ? result['echoed'] : undefined
  if (!isJsonObject(echoed)) throw new Error(`No echo: ${JSON.stringify(answer)}`)
  return echoed
}
