import { AsyncLocalStorage } from 'node:async_hooks'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CreatePeer, McpEndpointConfig, Peer } from '../../endpoint-config.ts'
import { isEventStream, keepAliveMs } from '../../event-stream.ts'
import { failureResponse, internalError, sessionNotFound } from '../../failure-response.ts'
import { authInfoOf, type Incoming, isTooLongToKeep, maxKeptLength } from '../../incoming.ts'
import { type OpenStreams, ownerOf } from '../../open-streams.ts'
import { createEventStore, type EventLimits } from './session-events.ts'
import { type SessionEntry, type SessionLimits, SessionTable } from './session-table.ts'
import { signedIn } from '../../../core/tokens/caller.ts'

export interface SessionTransportPorts {
  config: Pick<McpEndpointConfig, 'runtime' | 'resourceMetadata' | 'report'>
  limits: SessionLimits
  createPeer: CreatePeer
  streams: OpenStreams
}

const eventLimits: EventLimits = { events: 256, bytes: 256 * 1024 }
/** Clients wait this long before they resume a stream that a tool closed on purpose. */
const retryMs = 1000

interface Session {
  id: string
  peer: Peer
  transport: WebStandardStreamableHTTPServerTransport
  isInitialized: boolean
}

/**
 * Serves sessions of the revisions up to 2025-11-25 on the SDK's transport, for peers that ask the client: requests
 * of the server to the client, notifications, and streams that a client resumes after they broke (MCP 2025-11-25
 * transports, session management).
 *
 * An id proves nothing. It is random, belongs to the grant that opened the session, and is unknown to other callers.
 * Sessions live in this process only.
 */
export class SessionTransport {
  readonly #config: SessionTransportPorts['config']
  readonly #createPeer: CreatePeer
  readonly #streams: OpenStreams
  readonly #table: SessionTable<Session>
  /** The request that each session is serving. */
  readonly #serving = new AsyncLocalStorage<Incoming>()

  constructor({ config, limits, createPeer, streams }: SessionTransportPorts) {
    this.#config = config
    this.#createPeer = createPeer
    this.#streams = streams
    this.#table = new SessionTable(limits, config.runtime, (session) => void this.#endSession(session))
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

  async #endSession({ id, peer }: Session): Promise<void> {
    this.#table.remove(id)
    await peer.close().catch((error: unknown) => this.#config.report('mcp_rejected', error))
  }

  #create({ caller, calls }: Incoming): SessionEntry<Session> {
    const id = encodeBase64url(this.#config.runtime.randomBytes(24))
    // Without the message that opened the session, which would stay in memory with it.
    const opening = { caller, body: undefined, calls }
    const peer = this.#createPeer({
      kind: 'session',
      incoming: () => this.#serving.getStore() ?? opening,
    })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void (session.isInitialized = true),
      eventStore: createEventStore(eventLimits),
      keepAliveMs,
      retryInterval: retryMs,
    })
    // Also when the peer is what ends.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
    transport.onclose = () => this.#table.remove(id)
    const session: Session = { id, peer, transport, isInitialized: false }
    return this.#table.add(id, { userId: signedIn(caller).user.id, owner: ownerOf(caller) }, session)
  }

  async #begin(request: Request, incoming: Incoming): Promise<Response> {
    if (isTooLongToKeep(incoming.body)) return tooLong(incoming.body)
    if (!this.#table.makeRoom(signedIn(incoming.caller).user.id)) return tooMany(incoming.body)
    // Added before anything is awaited, so that concurrent requests cannot exceed the limit.
    const entry = this.#create(incoming)
    const { session } = entry
    try {
      const response = await this.#during(entry, incoming, async () => {
        await session.peer.connect(session.transport)
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
    const response = await this.#during(entry, incoming, () =>
      this.#handleMessage(request, incoming, entry.session),
    )
    return this.#trackStream(response, request, incoming, entry)
  }

  /** Counts `work` as a call of the session, during which it is held. */
  async #during<T>(entry: SessionEntry<Session>, incoming: Incoming, work: () => Promise<T>): Promise<T> {
    entry.calls += 1
    let release: (() => void) | undefined
    try {
      release = await entry.session.peer.hold?.(incoming)
      return await work()
    } finally {
      release?.()
      entry.calls -= 1
    }
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
    if (kind === 'notifications') entry.session.peer.listens?.(true)
    return this.#streams.track(response, {
      caller,
      calls,
      kind,
      ended: (how) => {
        entry[counter] -= 1
        entry.usedAt = this.#config.runtime.now()
        if (kind === 'notifications' && entry.listening === 0) entry.session.peer.listens?.(false)
        // A call ends with its grant.
        if (how === 'refused' && kind === 'call') void this.#endSession(entry.session)
      },
    })
  }
}

function tooLong(body: unknown): Response {
  const message = `An initialize message can have at most ${maxKeptLength} characters. Send a shorter one.`
  return failureResponse(400, { code: jsonRpcCode.invalidParams, message }, body)
}

function tooMany(body: unknown): Response {
  const text = 'Too many sessions have running calls. Close one, or try again in a moment.'
  return failureResponse(503, internalError(text), body, { 'retry-after': '5' })
}
