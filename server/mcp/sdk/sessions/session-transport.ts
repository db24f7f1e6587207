import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError, requestIdOf } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader, transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpointConfig } from '../../endpoint-config.ts'
import { isEventStream, keepAliveMs } from '../../event-stream.ts'
import { authInfoOf, type Incoming, isTooLongToKeep, maxKeptLength } from '../../incoming.ts'
import { type OpenStreams, ownerOf } from '../../open-streams.ts'
import type { ServerFactory } from '../sdk-server.ts'
import { createEventStore, type EventLimits } from './session-events.ts'
import { type SessionEntry, type SessionLimits, SessionTable } from './session-table.ts'
import type { ModuleNotifications } from '../../tools/tool-module.ts'
import { signedIn } from '../../../core/tokens/caller.ts'

/** What the sessions need. */
export interface SessionTransportPorts {
  config: Pick<McpEndpointConfig, 'runtime' | 'resourceMetadata' | 'report'>
  limits: SessionLimits
  servers: ServerFactory
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
 * Serves sessions of the revisions up to 2025-11-25 on the SDK's transport, for modules that ask the client: requests
 * of the server to the client, notifications, and streams that a client resumes after they broke (MCP 2025-11-25
 * transports, session management).
 *
 * An id proves nothing. It is random, belongs to the grant that opened the session, and is unknown to other callers.
 * Sessions live in this process only.
 */
export class SessionTransport {
  readonly #config: SessionTransportPorts['config']
  readonly #servers: ServerFactory
  readonly #streams: OpenStreams
  readonly #table: SessionTable<Session>
  /** What each session is serving at the moment. */
  readonly #serving = new AsyncLocalStorage<Incoming>()
  readonly notify: ModuleNotifications

  constructor({ config, limits, servers, streams }: SessionTransportPorts) {
    this.#config = config
    this.#servers = servers
    this.#streams = streams
    this.#table = new SessionTable(limits, config.runtime, (session) => void this.#endSession(session))
    const notifyAll = (send: (session: Session) => Promise<void>): void => {
      for (const { session } of this.#table.all()) send(session).catch(() => {})
    }
    this.notify = {
      toolsChanged: () => notifyAll(({ server }) => server.server.sendToolListChanged()),
      promptsChanged: () => notifyAll(({ server }) => server.server.sendPromptListChanged()),
      resourcesChanged: () => notifyAll(({ server }) => server.server.sendResourceListChanged()),
      resourceUpdated: (uri) =>
        notifyAll(async ({ server, subscriptions }) => {
          if (subscriptions.has(uri)) await server.server.sendResourceUpdated({ uri })
        }),
    }
  }

  /** Whether a message of those revisions belongs to a session or opens one. */
  accepts(request: Request, body: unknown): boolean {
    return request.headers.has(mcpHeader.sessionId) || opensSession(body)
  }

  async handle(request: Request, incoming: Incoming): Promise<Response> {
    const id = request.headers.get(mcpHeader.sessionId)
    return id === null ? this.#begin(request, incoming) : this.#resume(id, request, incoming)
  }

  /** Ends idle sessions. */
  sweep(): void {
    this.#table.sweep()
  }

  async close(): Promise<void> {
    await Promise.all(this.#table.all().map(({ session }) => this.#endSession(session)))
  }

  async #endSession({ id, server }: Session): Promise<void> {
    this.#table.remove(id)
    await server.close().catch((error: unknown) => this.#config.report('mcp_rejected', error))
  }

  #create({ caller, calls }: Incoming): SessionEntry<Session> {
    const id = encodeBase64url(this.#config.runtime.randomBytes(24))
    // Without the message that opened the session, which would stay in memory with it.
    const opening = { caller, body: undefined, calls }
    const server = this.#servers.create({
      kind: 'session',
      incoming: () => this.#serving.getStore() ?? opening,
    })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void (session.isInitialized = true),
      onsessionclosed: () => this.#table.remove(id),
      eventStore: createEventStore(eventLimits),
      keepAliveMs,
      retryInterval: retryMs,
    })
    const session: Session = { id, server, transport, subscriptions: new Set(), isInitialized: false }
    serveSubscriptions(session, this.#servers)
    return this.#table.add(id, { userId: signedIn(caller).user.id, owner: ownerOf(caller) }, session)
  }

  async #begin(request: Request, incoming: Incoming): Promise<Response> {
    if (isTooLongToKeep(incoming.body)) return tooLong(incoming.body)
    if (!this.#table.makeRoom(signedIn(incoming.caller).user.id)) return tooMany(incoming.body)
    // Added before anything is awaited, so that concurrent requests cannot exceed the limit.
    const entry = this.#create(incoming)
    const { session } = entry
    try {
      const response = await this.#during(entry, async () => {
        await session.server.connect(session.transport)
        return this.#handleMessage(request, incoming, session)
      })
      return session.isInitialized ? this.#trackStream(response, request, incoming, entry) : response
    } finally {
      // If it is not initialized by now, it never will be.
      if (!session.isInitialized) await this.#endSession(session)
    }
  }

  async #resume(id: string, request: Request, incoming: Incoming): Promise<Response> {
    const entry = this.#table.find(id, ownerOf(incoming.caller))
    if (!entry) return sessionNotFound(incoming.body)
    const response = await this.#during(entry, () => this.#handleMessage(request, incoming, entry.session))
    return this.#trackStream(response, request, incoming, entry)
  }

  /** Counts `work` as a call of the session. */
  #during<T>(entry: SessionEntry<Session>, work: () => Promise<T>): Promise<T> {
    entry.calls += 1
    return work().finally(() => (entry.calls -= 1))
  }

  #handleMessage(request: Request, incoming: Incoming, { transport }: Session): Promise<Response> {
    const authInfo = authInfoOf(incoming.caller, this.#config.resourceMetadata)
    const options = { authInfo, ...(incoming.body !== undefined && { parsedBody: incoming.body }) }
    return this.#serving.run(incoming, () => transport.handleRequest(request, options))
  }

  /** Supervises a response that is a stream. */
  #trackStream(
    response: Response,
    request: Request,
    { caller, calls }: Incoming,
    entry: SessionEntry<Session>,
  ): Response {
    if (!isEventStream(response)) return response
    const kind = request.method === 'GET' ? 'notifications' : 'call'
    const counter = kind === 'notifications' ? 'listening' : 'calls'
    entry[counter] += 1
    return this.#streams.track(response, {
      caller,
      calls,
      kind,
      ended: (how) => {
        entry[counter] -= 1
        entry.usedAt = this.#config.runtime.now()
        // A call ends with its grant.
        if (how === 'refused' && kind === 'call') void this.#endSession(entry.session)
      },
    })
  }
}

/** `resources/subscribe` and its opposite, where the module announces them (MCP 2025-11-25 resources, subscriptions). */
function serveSubscriptions({ server: { server }, subscriptions }: Session, servers: ServerFactory): void {
  if (server.getCapabilities().resources?.subscribe !== true) return
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    if (subscriptions.has(uri)) return {}
    const length = [...subscriptions].reduce((sum, each) => sum + each.length, uri.length)
    if (length > maxKeptLength || subscriptions.size >= maxSubscriptions)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${maxSubscriptions} subscriptions are possible, to URIs of at most ${maxKeptLength} characters together.`,
      )
    subscriptions.add(uri)
    await servers.watch?.(uri).catch((error: unknown) => {
      subscriptions.delete(uri)
      throw error
    })
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri)
    return {}
  })
}

/** Whether a body has the `initialize` that opens a session. */
export function opensSession(body: unknown): boolean {
  return (Array.isArray(body) ? body : [body]).some(
    (message) => isJsonObject(message) && message['method'] === 'initialize',
  )
}

function tooLong(body: unknown): Response {
  const text = `An initialize message can have at most ${maxKeptLength} characters. Send a shorter one.`
  return Response.json(jsonRpcError(requestIdOf(body), jsonRpcCode.invalidParams, text), { status: 400 })
}

/** The answer for a session that is unknown, has ended, or belongs to somebody else. */
export function sessionNotFound(body: unknown): Response {
  const text = 'Session not found. Send initialize without Mcp-Session-Id to open a new one.'
  return Response.json(jsonRpcError(requestIdOf(body), transportErrorCode.sessionNotFound, text), {
    status: 404,
  })
}

function tooMany(body: unknown): Response {
  const text = 'Too many sessions have running calls. Close one, or try again in a moment.'
  const headers = { 'retry-after': '5' }
  return Response.json(jsonRpcError(requestIdOf(body), jsonRpcCode.internalError, text), {
    status: 503,
    headers,
  })
}
