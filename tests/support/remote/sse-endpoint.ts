import type { ServerResponse } from 'node:http'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { EndpointWorld, McpExchange } from './endpoint-world.ts'
import { sendText } from './exchange-parts.ts'
import { countMessage, LegacySession } from './legacy-session.ts'

/** The transport of 2024-11-05: a stream at `/sse` that names the address for POSTs, `/messages`. */
export interface SseEndpoint {
  handle(exchange: McpExchange, url: URL): void
  sessions(): LegacySession[]
  /** Resets all streams, which ends their sessions. */
  dropStreams(): void
}

/** Creates the endpoint, without authorization. */
export function createSseEndpoint(world: EndpointWorld): SseEndpoint {
  const sessions = new Map<string, { session: LegacySession; response: ServerResponse }>()

  function open(response: ServerResponse): void {
    const write = (message: JsonObject): void => {
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    }
    const session = new LegacySession(world, write)
    sessions.set(session.id, { session, response })
    world.counters.streamsOpened++
    world.counters.streamsOpen++
    response.on('close', () => {
      sessions.delete(session.id)
      world.counters.streamsOpen--
    })
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    response.write(`event: endpoint\ndata: /messages?sessionId=${session.id}\n\n`)
  }

  function receive({ response, body, caller }: McpExchange, url: URL): void {
    const found = sessions.get(url.searchParams.get('sessionId') ?? '')
    if (found === undefined) return sendText(response, 404, 'Session not found')
    const parsed = parseJsonRpcMessage(body)
    if (parsed.kind === 'invalid') return sendText(response, 400, parsed.reason)
    countMessage(world, parsed.message)
    if (!world.allows(caller, parsed.message, response)) return
    response.writeHead(202).end('Accepted')
    const { session, response: stream } = found
    if (parsed.kind !== 'request') return session.accept(parsed.message)
    const write = (message: JsonObject): void => {
      stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    }
    void session.answer(parsed.message, caller, {
      interim: write,
      finish: (message) => {
        if (message !== undefined) write(message)
      },
    })
  }

  return {
    handle(exchange, url) {
      const { method } = exchange.request
      if (method === 'GET' && url.pathname === '/sse') return open(exchange.response)
      if (method === 'POST' && url.pathname === '/messages') return receive(exchange, url)
      sendText(exchange.response, 405, 'Method not allowed.')
    },
    sessions: () => [...sessions.values()].map(({ session }) => session),
    dropStreams() {
      for (const { response } of sessions.values()) response.socket?.resetAndDestroy()
    },
  }
}
