import { createServer, type IncomingMessage } from 'node:http'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { readText, sendJson } from '../../remote/exchange-parts.ts'
import { listenOn } from './socket-server.ts'
import type { Stage } from './stage.ts'

/** One request as it came. */
export interface Heard {
  method: string
  headers: IncomingMessage['headers']
  /** The text of the body. */
  text: string
  message: JsonObject
}

/** A server that takes anything and says it again: `result.echoed` is the whole message. */
export interface EchoServer {
  port: number
  url: string
  heard: readonly Heard[]
  /** The POSTs of that JSON-RPC method. */
  of(method: string): Heard[]
}

/** Serves one era, and every method of it that anybody can think of. */
export async function startEchoServer(stage: Stage, era: 'legacy' | 'modern'): Promise<EchoServer> {
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
      const complete = era === 'modern' ? { resultType: 'complete', ...result } : result
      return sendJson(response, 200, { jsonrpc: '2.0', id, result: complete })
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

/** What the server says it got. */
export function echoedBy(answer: JsonObject): JsonObject {
  const { result } = answer
  const echoed = isJsonObject(result) ? result['echoed'] : undefined
  if (!isJsonObject(echoed)) throw new Error(`No echo: ${JSON.stringify(answer)}`)
  return echoed
}
