import type { ServerResponse } from 'node:http'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { EndpointWorld, McpExchange } from './endpoint-world.ts'
import { eventStreamHead, sendText } from './exchange-parts.ts'
import { countMessage, LegacySession } from './legacy-session.ts'
import { countStream } from './remote-counters.ts'

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
    const session = new LegacySession(world, writeTo(response))
    sessions.set(session.id, { session, response })
    countStream(world.counters, response)
    response.on('close', () => sessions.delete(session.id))
    response.writeHead(200, eventStreamHead)
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
    const write = writeTo(stream)
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

const writeTo =
  (stream: ServerResponse) =>
  (message: JsonObject): void =>
    void stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
