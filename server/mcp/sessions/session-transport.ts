import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpointConfig } from '../endpoint-config.ts'
import { authInfoOf, type Incoming, isTooLongToKeep, maxKeptLength } from '../incoming.ts'
import { isEventStream, keepAliveMs, type OpenStreams, ownerOf } from '../open-streams.ts'
import type { ServerFactory } from '../sdk-server.ts'
import { createEventStore, type EventLimits } from './session-events.ts'
import { createSessionTable, type SessionEntry, type SessionLimits } from './session-table.ts'
import type { ModuleNotices } from '../tools/tool-module.ts'

/** Sessions of the revisions up to 2025-11-25, for modules that ask the client. */
export interface SessionTransport {
  /** Whether a message of those revisions belongs to a session or opens one. */
  accepts(request: Request, body: unknown): boolean
  handle(request: Request, incoming: Incoming): Promise<Response>
  notify: ModuleNotices
  /** Ends idle sessions. */
  sweep(): void
  close(): Promise<void>
}

/** What the sessions need. */
export interface SessionTransportPorts {
  config: Pick<McpEndpointConfig, 'runtime' | 'resourceMetadata' | 'report'>
  limits: SessionLimits
  createServer: ServerFactory
  streams: OpenStreams
}

const eventLimits: EventLimits = { events: 256, bytes: 256 * 1024 }
/** How long a client waits before it resumes a stream that a tool closed on purpose. */
const retryMs = 1000
const maxSubscriptions = 256

interface Session {
  id: string
  server: McpServer
  transport: WebStandardStreamableHTTPServerTransport
  subscriptions: Set<string>
  isInitialized: boolean
}

/**
 * Serves sessions by the SDK's transport: requests of the server to the client, notices, and streams that a client takes
 * up again after they broke off (MCP 2025-11-25 transports, session management).
 *
 * An id proves nothing. It is random, belongs to the grant that opened it, and is unknown to every other caller. The
 * sessions are in this process only.
 */
export function createSessionTransport({
  config,
  limits,
  createServer,
  streams,
}: SessionTransportPorts): SessionTransport {
  const { runtime } = config
  const serving = new AsyncLocalStorage<Incoming>()
  const table = createSessionTable<Session>(limits, runtime, (session) => void endSession(session))

  async function endSession({ id, server }: Session): Promise<void> {
    table.remove(id)
    await server.close().catch((error: unknown) => config.report('mcp_rejected', error))
  }

  function create({ caller }: Incoming): SessionEntry<Session> {
    const id = encodeBase64url(runtime.randomBytes(24))
    // Without the message that opened the session, which would stay in memory with it.
    const opening = { caller, body: undefined }
    const server = createServer({ kind: 'session', incoming: () => serving.getStore() ?? opening })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void (session.isInitialized = true),
      onsessionclosed: () => table.remove(id),
      eventStore: createEventStore(eventLimits),
      keepAliveMs,
      retryInterval: retryMs,
    })
    const session: Session = { id, server, transport, subscriptions: new Set(), isInitialized: false }
    serveSubscriptions(session)
    return table.add(id, { userId: caller.user.id, owner: ownerOf(caller) }, session)
  }

  async function begin(request: Request, incoming: Incoming): Promise<Response> {
    if (isTooLongToKeep(incoming.body)) return tooLong(incoming.body)
    if (!table.makeRoom(incoming.caller.user.id)) return tooMany(incoming.body)
    // Added before anything is awaited, so that concurrent requests cannot exceed the limit.
    const entry = create(incoming)
    const { session } = entry
    try {
      const response = await during(entry, async () => {
        await session.server.connect(session.transport)
        return handleMessage(request, incoming, session)
      })
      return session.isInitialized ? trackStream(response, request, incoming, entry) : response
    } finally {
      // If it is not initialized by now, it never will be.
      if (!session.isInitialized) await endSession(session)
    }
  }

  async function resume(id: string, request: Request, incoming: Incoming): Promise<Response> {
    const entry = table.find(id, ownerOf(incoming.caller))
    if (!entry) return notFound(incoming.body)
    const response = await during(entry, () => handleMessage(request, incoming, entry.session))
    return trackStream(response, request, incoming, entry)
  }

  /** Counts `work` as a call of the session. */
  function during<T>(entry: SessionEntry<Session>, work: () => Promise<T>): Promise<T> {
    entry.calls += 1
    return work().finally(() => (entry.calls -= 1))
  }

  function handleMessage(request: Request, incoming: Incoming, { transport }: Session): Promise<Response> {
    const authInfo = authInfoOf(incoming.caller, config.resourceMetadata)
    const options = { authInfo, ...(incoming.body !== undefined && { parsedBody: incoming.body }) }
    return serving.run(incoming, () => transport.handleRequest(request, options))
  }

  /** Supervises a response that is a stream. */
  function trackStream(
    response: Response,
    request: Request,
    { caller }: Incoming,
    entry: SessionEntry<Session>,
  ): Response {
    if (!isEventStream(response)) return response
    const kind = request.method === 'GET' ? 'notices' : 'call'
    const counter = kind === 'notices' ? 'listening' : 'calls'
    entry[counter] += 1
    return streams.track(response, {
      caller,
      kind,
      ended(how) {
        entry[counter] -= 1
        entry.usedAt = runtime.now()
        // A call ends with its grant.
        if (how === 'refused' && kind === 'call') void endSession(entry.session)
      },
    })
  }

  const notifyAll = (send: (session: Session) => Promise<void>): void => {
    for (const { session } of table.all()) send(session).catch(() => {})
  }

  return {
    accepts: (request, body) => request.headers.has(mcpHeader.sessionId) || opensSession(body),
    handle(request, incoming) {
      const id = request.headers.get(mcpHeader.sessionId)
      return id === null ? begin(request, incoming) : resume(id, request, incoming)
    },
    notify: {
      toolsChanged: () => notifyAll(({ server }) => server.server.sendToolListChanged()),
      promptsChanged: () => notifyAll(({ server }) => server.server.sendPromptListChanged()),
      resourcesChanged: () => notifyAll(({ server }) => server.server.sendResourceListChanged()),
      resourceUpdated: (uri) =>
        notifyAll(async ({ server, subscriptions }) => {
          if (subscriptions.has(uri)) await server.server.sendResourceUpdated({ uri })
        }),
    },
    sweep: () => table.sweep(),
    async close() {
      await Promise.all(table.all().map(({ session }) => endSession(session)))
    },
  }
}

/** `resources/subscribe` and its opposite, where the module announces them (MCP 2025-11-25 resources, subscriptions). */
function serveSubscriptions({ server: { server }, subscriptions }: Session): void {
  if (server.getCapabilities().resources?.subscribe !== true) return
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (subscriptions.has(uri)) return {}
    const length = [...subscriptions].reduce((sum, each) => sum + each.length, uri.length)
    if (length > maxKeptLength || subscriptions.size >= maxSubscriptions)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${maxSubscriptions} subscriptions are possible, to URIs of at most ${maxKeptLength} characters together.`,
      )
    subscriptions.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri)
    return {}
  })
}

function opensSession(body: unknown): boolean {
  return (Array.isArray(body) ? body : [body]).some(
    (message) => isJsonObject(message) && message['method'] === 'initialize',
  )
}

function tooLong(body: unknown): Response {
  const text = `An initialize message has at most ${maxKeptLength} characters.`
  return Response.json(jsonRpcError(idOf(body), jsonRpcCode.invalidParams, text), { status: 400 })
}

function notFound(body: unknown): Response {
  const text = 'There is no such session here. Send initialize without Mcp-Session-Id to open one.'
  return Response.json(jsonRpcError(idOf(body), -32_001, text), { status: 404 })
}

function tooMany(body: unknown): Response {
  const text = 'There are too many sessions with running calls. Close one, or try again in a moment.'
  const headers = { 'retry-after': '5' }
  return Response.json(jsonRpcError(idOf(body), -32_603, text), { status: 503, headers })
}

function idOf(body: unknown): string | number | null {
  const id = isJsonObject(body) && 'method' in body ? body['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
