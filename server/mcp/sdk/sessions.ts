import { AsyncLocalStorage } from 'node:async_hooks'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import type { CreatePeer, McpEndpointConfig, Peer } from '../endpoint-config.ts'
import { keepAliveMs } from '../event-stream.ts'
import { isEventStream, type Reply } from '@drawbridge/shared/text-response.ts'
import { failureResponse, internalError, sessionNotFound } from '../failure-response.ts'
import { createEventStore } from './event-store.ts'
import { authInfoOf, type Incoming, isTooLongToKeep, maxKeptLength } from '../incoming.ts'
import { type OpenStreams, ownerOf } from '../open-streams.ts'
import { largestGroup } from '../subscriptions.ts'

export interface SessionLimits {
  total: number
  perUser: number
  idleSeconds: number
}

/** The limits of the server. A session takes some 100 KiB, and up to 256 KiB more of messages that can be sent again. */
export const sessionLimits: SessionLimits = { total: 1000, perUser: 20, idleSeconds: 30 * 60 }

/** Clients wait this long before they resume a stream that a tool closed on purpose. */
const retryMs = 1000

interface Session {
  id: string
  userId: string
  /** The caller of the latest message. No other user, grant or workspace may use the session. */
  caller: Caller
  peer: Peer
  transport: WebStandardStreamableHTTPServerTransport
  isInitialized: boolean
  usedAt: number
  /** Open responses: running calls, and streams that only wait for notifications. */
  calls: number
  listening: number
}

export interface SessionPorts {
  config: Pick<McpEndpointConfig, 'runtime' | 'resourceMetadata' | 'report'>
  limits: SessionLimits
  createPeer: CreatePeer
  streams: OpenStreams
}

/**
 * The sessions of this process, for the revisions up to 2025-11-25, on the SDK's transport and within limits. They are for peers that
 * ask the client: requests of the server to the client, notifications, and streams that a client resumes after they broke (MCP
 * 2025-11-25 transports, session management).
 *
 * An id proves nothing. It is random, belongs to the grant and workspace that opened the session, and is unknown to other callers.
 */
export class Sessions {
  readonly #ports: SessionPorts
  readonly #open = new Map<string, Session>()
  /** The request that each session is serving. */
  readonly #serving = new AsyncLocalStorage<Incoming>()

  constructor(ports: SessionPorts) {
    this.#ports = ports
  }

  async handle(request: Request, incoming: Incoming): Promise<Reply> {
    const id = request.headers.get(mcpHeader.sessionId)
    if (id === null) return this.#begin(request, incoming)
    const session = this.#find(id, incoming.caller)
    if (!session) return sessionNotFound(incoming.body)
    const response = await this.#during(session, incoming, () => this.#serve(request, incoming, session))
    return this.#trackStream(response, request, incoming, session)
  }

  sweep(): void {
    const { config, limits } = this.#ports
    const since = config.runtime.now() - limits.idleSeconds
    for (const session of this.#open.values())
      if (session.calls + session.listening === 0 && session.usedAt <= since) void this.#end(session)
  }

  /** Ends the sessions whose grant has ended or has another workspace now, with what they hold. An expired token cannot tell, and the client may renew it. */
  async check(): Promise<void> {
    for (const session of this.#open.values()) {
      const { caller } = session
      const isExpired = this.#ports.config.runtime.now() >= caller.expiresAt
      if (!isExpired && !(await caller.isLive().catch(() => true))) void this.#end(session)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((session) => this.#end(session)))
  }

  async #begin(request: Request, incoming: Incoming): Promise<Reply> {
    if (isTooLongToKeep(incoming.body)) {
      const message = `An initialize message can have at most ${maxKeptLength} characters. Send a shorter one.`
      return failureResponse(400, { code: jsonRpcCode.invalidParams, message }, incoming.body)
    }
    if (!this.#makeRoom(signedIn(incoming.caller).user.id)) return tooMany(incoming.body)
    // Added before anything is awaited, so that concurrent requests cannot exceed the limit.
    const session = this.#create(incoming)
    try {
      const response = await this.#during(session, incoming, async () => {
        await session.peer.connect(session.transport)
        return this.#serve(request, incoming, session)
      })
      return session.isInitialized ? this.#trackStream(response, request, incoming, session) : response
    } finally {
      // If it is not initialized by now, it never will be.
      if (!session.isInitialized) await this.#end(session)
    }
  }

  #create({ caller, calls }: Incoming): Session {
    const { config, createPeer } = this.#ports
    const id = encodeBase64url(config.runtime.randomBytes(24))
    // Without the message that opened the session, which would stay in memory with it.
    const opening = { caller, body: undefined, calls }
    const peer = createPeer({ kind: 'session', incoming: () => this.#serving.getStore() ?? opening })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void (session.isInitialized = true),
      eventStore: createEventStore(),
      keepAliveMs,
      retryInterval: retryMs,
    })
    // Also when the peer is what ends.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
    transport.onclose = () => void this.#open.delete(id)
    const session: Session = {
      id,
      userId: signedIn(caller).user.id,
      caller,
      peer,
      transport,
      isInitialized: false,
      usedAt: config.runtime.now(),
      calls: 0,
      listening: 0,
    }
    this.#open.set(id, session)
    return session
  }

  /** Finds a session and records its use. Undefined if it is unknown, has ended, or belongs to another owner. */
  #find(id: string, caller: Caller): Session | undefined {
    this.sweep()
    const session = this.#open.get(id)
    if (!session || ownerOf(session.caller) !== ownerOf(caller)) return undefined
    session.caller = caller
    session.usedAt = this.#ports.config.runtime.now()
    return session
  }

  async #end({ id, peer }: Session): Promise<void> {
    this.#open.delete(id)
    await peer.close().catch((error: unknown) => this.#ports.config.report('mcp_rejected', error))
  }

  /**
   * Returns whether the user may open one more session, for which the least recently used one may end. When there are as many as there
   * may be, the user with the most gives one up, running calls included if necessary: no user can lock the others out.
   */
  #makeRoom(userId: string): boolean {
    this.sweep()
    const { total, perUser } = this.#ports.limits
    const all = [...this.#open.values()]
    const own = all.filter((session) => session.userId === userId)
    // A user's running call is not ended for their own new session.
    if (own.length >= perUser) return this.#endOneOf(withoutCalls(own))
    if (all.length < total) return true
    const largest = largestGroup(all)
    return this.#endOneOf(largest.length > 1 ? largest : withoutCalls(all))
  }

  #endOneOf(sessions: readonly Session[]): boolean {
    const [first] = sessions.toSorted((a, b) => busyness(a) - busyness(b) || a.usedAt - b.usedAt)
    if (first) void this.#end(first)
    return first !== undefined
  }

  /** Counts `work` as a call of the session, during which it is held. */
  async #during<T>(session: Session, incoming: Incoming, work: () => Promise<T>): Promise<T> {
    session.calls += 1
    let release: (() => void) | undefined
    try {
      release = await session.peer.hold?.(incoming)
      return await work()
    } finally {
      release?.()
      session.calls -= 1
    }
  }

  #serve(request: Request, incoming: Incoming, { transport }: Session): Promise<Response> {
    const authInfo = authInfoOf(incoming.caller, this.#ports.config.resourceMetadata)
    const options = { authInfo, ...(incoming.body !== undefined && { parsedBody: incoming.body }) }
    return this.#serving.run(incoming, () => transport.handleRequest(request, options))
  }

  async #trackStream(
    response: Response,
    request: Request,
    { caller, calls }: Incoming,
    session: Session,
  ): Promise<Reply> {
    if (!isEventStream(response)) return response
    const kind = request.method === 'GET' ? 'notifications' : 'call'
    const counter = kind === 'notifications' ? 'listening' : 'calls'
    session[counter] += 1
    return this.#ports.streams.track(response, {
      caller,
      calls,
      kind,
      ended: (how) => {
        session[counter] -= 1
        session.usedAt = this.#ports.config.runtime.now()
        // A call ends with its grant.
        if (how === 'refused' && kind === 'call') void this.#end(session)
      },
    })
  }
}

function tooMany(body: unknown): Response {
  const text = 'Too many sessions have running calls. Close one, or try again in a moment.'
  return failureResponse(503, internalError(text), body, { 'retry-after': '5' })
}

function withoutCalls(sessions: readonly Session[]): Session[] {
  return sessions.filter(({ calls }) => calls === 0)
}

/** Idle sessions end before listening ones, and those before running calls. */
function busyness({ calls, listening }: Session): number {
  if (calls > 0) return 2
  return listening > 0 ? 1 : 0
}
