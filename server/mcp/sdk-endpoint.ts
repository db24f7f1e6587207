import { isLegacyRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type JsonRpcMessage, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { eraOfMessage, mcpHeader, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpoint, McpEndpointConfig } from './endpoint-config.ts'
import { authInfoOf, type Incoming } from './incoming.ts'
import type { ListenLimits } from './listen-slots.ts'
import { createModernLeg } from './transport-2026-07-28.ts'
import { createOpenStreams, isEventStream, keepAliveMs, type OpenStreams } from './open-streams.ts'
import { createServerFactory, type ServerFactory } from './sdk-server.ts'
import { createSessionLeg, type SessionLeg } from './sessions/session-transport.ts'
import { type SessionLimits, sessionLimits } from './sessions/session-table.ts'

/** How much may stay open at once. */
export interface EndpointLimits {
  sessions: SessionLimits
  subscriptions: ListenLimits
}

const standardLimits: EndpointLimits = {
  sessions: sessionLimits,
  subscriptions: { total: 1024, perUser: 64 },
}

/** How often open streams are looked at, and so how late one ends whose grant is gone. */
const checkEveryMs = 15_000

/**
 * Creates the endpoint for both protocol eras by the MCP SDK.
 *
 * 2026-07-28 goes through the SDK's handler. Messages of earlier revisions stand alone too: they get a plain JSON answer,
 * unless the caller asked for progress and so for a stream, and need no preceding `initialize`. A module that asks the
 * client gets sessions beside that; clients have one from `initialize` on.
 */
export function createSdkEndpoint(
  config: McpEndpointConfig,
  limits: EndpointLimits = standardLimits,
): McpEndpoint {
  const streams = createOpenStreams(config.runtime)
  const createServer = createServerFactory(config)
  const modern = createModernLeg({ config, limits: limits.subscriptions, createServer, streams })
  const stateless = createStatelessLeg(config, createServer, streams)
  const sessions: SessionLeg | undefined = config.module.asksClient
    ? createSessionLeg({ config, limits: limits.sessions, createServer, streams })
    : undefined
  const stopChecks = repeat(async () => {
    sessions?.sweep()
    await streams.check()
  })

  return {
    methods: sessions ? ['POST', 'GET', 'DELETE'] : ['POST'],
    notify: {
      toolsChanged: () => {
        modern.notify.toolsChanged()
        sessions?.notify.toolsChanged()
      },
      promptsChanged: () => {
        modern.notify.promptsChanged()
        sessions?.notify.promptsChanged()
      },
      resourcesChanged: () => {
        modern.notify.resourcesChanged()
        sessions?.notify.resourcesChanged()
      },
      resourceUpdated: (uri) => {
        modern.notify.resourceUpdated(uri)
        sessions?.notify.resourceUpdated(uri)
      },
    },
    async handle(given, body, caller) {
      const request = withLegacyHeaders(given, body)
      const incoming = { caller, body }
      if (!(await isLegacyRequest(request, body))) return modern.handle(request, incoming)
      if (sessions?.takes(request, body)) return sessions.handle(request, incoming)
      return request.method === 'POST' ? stateless(request, incoming, given.signal) : methodNotAllowed()
    },
    endStreams: () => streams.endNotices(),
    async close() {
      stopChecks()
      streams.close()
      await modern.close()
      await sessions?.close()
    },
  }
}

/** Serves a message of an earlier revision by itself. */
function createStatelessLeg(
  { resourceMetadata }: McpEndpointConfig,
  createServer: ServerFactory,
  streams: OpenStreams,
): (request: Request, incoming: Incoming, gone: AbortSignal) => Promise<Response> {
  return async (request, incoming, gone) => {
    const { caller, body } = incoming
    if (gone.aborted) return new Response(null, { status: 499 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !asksForProgress(body),
      keepAliveMs,
    })
    const server = createServer({ kind: 'stateless', incoming: () => incoming })
    await server.connect(transport)
    // Nobody else could be told to cancel: there is no session to send that to. The transport would never answer then.
    const left = new Promise<Response>((resolve) => {
      const leave = (): void => {
        void server.close()
        resolve(new Response(null, { status: 499 }))
      }
      gone.addEventListener('abort', leave, { once: true })
    })
    const answered = transport.handleRequest(request, {
      parsedBody: body,
      authInfo: authInfoOf(caller, resourceMetadata),
    })
    const response = await Promise.race([answered, left])
    if (!isEventStream(response)) return response
    return streams.keep(response, {
      caller,
      kind: 'call',
      ended: (how) => {
        if (how === 'refused') void server.close()
      },
    })
  }
}

/** Runs `work` every so often and never twice at once, until the function that it answers is called. */
function repeat(work: () => Promise<void>): () => void {
  let running = false
  const timer = setInterval(() => {
    if (running) return
    running = true
    void work().finally(() => (running = false))
  }, checkEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

function asksForProgress(body: unknown): boolean {
  const params = (body as { params?: { _meta?: { progressToken?: unknown } } } | null)?.params
  return params?._meta?.progressToken !== undefined
}

function methodNotAllowed(): Response {
  const error = jsonRpcError(null, -32_000, 'Only POST goes without a session.')
  return Response.json(error, { status: 405, headers: { allow: 'POST' } })
}

/**
 * Clients of the earlier revisions as they are in the field: hosted assistants send the newest version header on an
 * otherwise old message, and hand-written calls send no Accept header or a wildcard. Both are read as they are meant.
 */
function withLegacyHeaders(request: Request, body: unknown): Request {
  if (isModernMessage(request, body)) return request
  const accept = request.headers.get('accept') || '*/*'
  const acceptsJson = /application\/json|\*\/\*/.test(accept)
  const vagueAccept =
    acceptsJson && !(accept.includes('application/json') && accept.includes('text/event-stream'))
  const wrongVersion = request.headers.get(mcpHeader.protocolVersion) === modernRevision
  if (!wrongVersion && !vagueAccept) return request
  const headers = new Headers(request.headers)
  if (wrongVersion) headers.delete(mcpHeader.protocolVersion)
  if (vagueAccept) headers.set('accept', 'application/json, text/event-stream')
  // Without the signal: a request loses it to the garbage collector. Whoever needs to know that the client is gone gets it apart.
  return new Request(request.url, { method: request.method, headers })
}

function isModernMessage(request: Request, body: unknown): boolean {
  if (!isJsonObject(body)) return false
  const message = body as unknown as JsonRpcMessage
  const discovers = 'method' in message && message.method === 'server/discover'
  return discovers || eraOfMessage(message) === 'modern' || request.headers.has(mcpHeader.method)
}
