import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  parseJsonRpcMessage,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpErrorCode, mcpHeader, mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { capabilities, instructions, serverInfo } from './catalogue.ts'
import { header, type Caller, type EndpointWorld, type McpExchange } from './endpoint-world.ts'
import { EventStream, parseEventId } from './event-stream.ts'
import { sendJson, sendText } from './exchange-parts.ts'
import { countMessage, LegacySession, type Reply } from './legacy-session.ts'
import { count, countStream } from './remote-counters.ts'

interface HttpSession {
  session: LegacySession
  /** The GET stream. */
  standing: EventStream
  /** All streams by id, including the GET stream. */
  streams: Map<string, EventStream>
}

/** Streamable HTTP of the revisions 2025-03-26 to 2025-11-25. */
export interface LegacyEndpoint {
  handle(exchange: McpExchange): void
  sessions(): LegacySession[]
  /** The open GET streams. */
  readonly streams: ReadonlySet<ServerResponse>
  /** Forgets all sessions; their streams stay open, as if another replica answered from now on. */
  dropSessions(): void
  /** Resets the connections of all open streams. */
  dropStreams(): void
}

/** Creates the endpoint, without authorization. */
export function createLegacyEndpoint(world: EndpointWorld): LegacyEndpoint {
  const sessions = new Map<string, HttpSession>()
  const flowing = new Set<EventStream>()
  const streams = new Set<ServerResponse>()

  function openSession(): HttpSession {
    const standing = new EventStream(shortId())
    const session = new LegacySession(world, (message) => standing.send(message))
    const opened = { session, standing, streams: new Map([[standing.id, standing]]) }
    sessions.set(session.id, opened)
    world.counters.sessionsOpen = sessions.size
    return opened
  }

  /** Returns the session named by a request; answers the request if there is none. */
  function findSession(request: IncomingMessage, response: ServerResponse): HttpSession | undefined {
    const version = header(request, mcpHeader.protocolVersion)
    if (version !== undefined && !world.settings.revisions.includes(version)) {
      refuse(response, 400, 'Bad Request: Unsupported protocol version')
      return undefined
    }
    if (!world.settings.sessions) return [...sessions.values()].at(-1) ?? openSession()
    const id = header(request, mcpHeader.sessionId)
    const found = id === undefined ? undefined : sessions.get(id)
    if (id === undefined) refuse(response, 400, 'Bad Request: Mcp-Session-Id header is required')
    else if (found === undefined) refuse(response, world.settings.lostSessionStatus, 'Session not found')
    return found
  }

  function attach(stream: EventStream, response: ServerResponse, from: number): void {
    countStream(world.counters, response)
    flowing.add(stream)
    stream.attach(response, from, () => {
      if (!stream.attached) flowing.delete(stream)
    })
  }

  function handlePost({ request, response, body, caller }: McpExchange): void {
    const parsed = parseJsonRpcMessage(body)
    if (parsed.kind === 'invalid')
      return sendJson(response, 400, jsonRpcError(null, jsonRpcCode.invalidRequest, parsed.reason))
    if (!acceptsBoth(request))
      return refuse(response, 406, 'Not Acceptable: accept application/json and text/event-stream')
    const opens = parsed.kind === 'request' && parsed.message.method === 'initialize'
    const found = opens ? openSession() : findSession(request, response)
    if (found === undefined) return
    countMessage(world, parsed.message)
    if (!world.allows(caller, parsed.message, response)) return
    if (parsed.kind === 'request') return answer(found, parsed.message, caller, response, opens)
    found.session.accept(parsed.message)
    response.writeHead(202).end()
  }

  function answer(
    found: HttpSession,
    message: JsonRpcRequest,
    caller: Caller,
    response: ServerResponse,
    opens: boolean,
  ): void {
    if (opens && world.settings.sessions) response.setHeader(mcpHeader.sessionId, found.session.id)
    void found.session.answer(message, caller, postReply(found, response))
  }

  /** Replies with JSON unless a message precedes the response. */
  function postReply(found: HttpSession, response: ServerResponse): Reply {
    let stream: EventStream | undefined
    const open = (): EventStream => {
      if (stream !== undefined) return stream
      const opened = new EventStream(shortId())
      found.streams.set(opened.id, opened)
      flowing.add(opened)
      opened.attach(response, 0, () => flowing.delete(opened))
      return (stream = opened)
    }
    return {
      interim: (message) => open().send(message),
      finish(message) {
        if (stream === undefined) {
          if (message === undefined) return void response.end()
          return sendJson(response, 200, message)
        }
        if (message !== undefined) open().send(message)
        open().end()
      },
    }
  }

  function handleGet({ request, response }: McpExchange): void {
    const found = findSession(request, response)
    if (found === undefined) return
    const { streamStatus } = world.settings
    if (streamStatus !== 200) return void response.writeHead(streamStatus).end()
    streams.add(response)
    response.on('close', () => streams.delete(response))
    const lastEventId = header(request, mcpHeader.lastEventId)
    if (lastEventId !== undefined) world.counters.lastEventIds.push(lastEventId)
    const place = lastEventId === undefined ? undefined : parseEventId(lastEventId)
    const stream = place === undefined ? undefined : found.streams.get(place.stream)
    if (place === undefined || stream === undefined)
      return attach(found.standing, response, found.standing.delivered)
    attach(stream, response, place.next)
  }

  function handleDelete({ request, response }: McpExchange): void {
    world.counters.deletes++
    const found = findSession(request, response)
    if (found === undefined) return
    sessions.delete(found.session.id)
    world.counters.sessionsOpen = sessions.size
    for (const stream of found.streams.values()) stream.end()
    response.writeHead(200).end()
  }

  return {
    handle(exchange) {
      switch (exchange.request.method) {
        case 'POST':
          return handlePost(exchange)
        case 'GET':
          return handleGet(exchange)
        case 'DELETE':
          return handleDelete(exchange)
        default:
          return refuse(exchange.response, 405, 'Method not allowed.')
      }
    },
    sessions: () => [...sessions.values()].map(({ session }) => session),
    streams,
    dropSessions() {
      sessions.clear()
      world.counters.sessionsOpen = 0
    },
    dropStreams() {
      for (const stream of flowing) stream.cut()
    },
  }
}

/** Answers a request of 2026-07-28 with the supported revisions, for `discoverable`. */
export function answerWithRevisions(
  { id, method, params }: JsonRpcRequest,
  { response }: McpExchange,
  { settings, counters }: EndpointWorld,
): void {
  count(counters.methods, method)
  const supported = settings.revisions
  if (method !== 'server/discover') {
    const meta = params?.['_meta'] as JsonObject
    const data = { supported, requested: meta[mcpMetaKey.protocolVersion] }
    const error = jsonRpcError(id, mcpErrorCode.unsupportedProtocolVersion, 'Unsupported version', data)
    return sendJson(response, 400, error)
  }
  const _meta = { [mcpMetaKey.serverInfo]: serverInfo }
  const result = { resultType: 'complete', supportedVersions: supported, capabilities, instructions, _meta }
  sendJson(response, 200, { jsonrpc: '2.0', id, result: { ...result, ttlMs: 0, cacheScope: 'public' } })
}

function acceptsBoth(request: IncomingMessage): boolean {
  const accept = header(request, 'accept') ?? ''
  return accept.includes('application/json') && accept.includes('text/event-stream')
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (status === 405) return sendText(response, 405, message)
  sendJson(response, status, jsonRpcError(null, status === 404 ? -32_001 : -32_000, message))
}

function shortId(): string {
  return randomUUID().slice(0, 8)
}
