import { isLegacyRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { asksForProgress, authInfoOf, type Incoming, withLenientHeaders } from '../incoming.ts'
import { createTransport2026 } from './transport-2026-07-28.ts'
import { isEventStream, keepAliveMs } from '../event-stream.ts'
import { OpenStreams, repeatChecks } from '../open-streams.ts'
import { createServerFactory, type ServerFactory } from './sdk-server.ts'
import { SessionTransport } from './sessions/session-transport.ts'
import { type SubscriptionLimits, subscriptionLimits } from '../subscriptions.ts'
import { type SessionLimits, sessionLimits } from './sessions/session-table.ts'

/** How many sessions and subscriptions may be open. */
export interface EndpointLimits {
  sessions: SessionLimits
  subscriptions: SubscriptionLimits
}

const standardLimits: EndpointLimits = {
  sessions: sessionLimits,
  subscriptions: subscriptionLimits,
}

/**
 * Creates the endpoint for all revisions on the MCP SDK.
 *
 * 2026-07-28 goes through the SDK's handler. Messages of earlier revisions are served independently: they get a plain
 * JSON response, or a stream if the caller asked for progress, and need no preceding `initialize`. A module that asks
 * the client gets sessions as well, which begin with `initialize`.
 */
export function createSdkEndpoint(
  config: McpEndpointConfig,
  limits: EndpointLimits = standardLimits,
): McpEndpoint {
  return serveWith({
    config,
    limits,
    servers: createServerFactory(config),
    hasSessions: config.module.asksClient === true,
  })
}

/** What {@link serveWith} needs. */
export interface ServingPorts {
  config: Pick<McpEndpointConfig, 'serverInfo' | 'runtime' | 'resourceMetadata' | 'report'>
  limits?: EndpointLimits
  servers: ServerFactory
  /** Whether a client of the revisions up to 2025-11-25 can open a session. */
  hasSessions: boolean
}

/** As {@link createSdkEndpoint}, with any SDK servers. */
export function serveWith({
  config,
  limits = standardLimits,
  servers,
  hasSessions,
}: ServingPorts): McpEndpoint {
  const streams = new OpenStreams(config.runtime)
  const transport2026 = createTransport2026({ config, limits: limits.subscriptions, servers, streams })
  const serveAlone = createStatelessTransport(config, servers, streams)
  const sessions: SessionTransport | undefined = hasSessions
    ? new SessionTransport({ config, limits: limits.sessions, servers, streams })
    : undefined
  const stopChecks = repeatChecks(async () => {
    sessions?.sweep()
    await streams.check()
  })

  return {
    methods: sessions ? ['POST', 'GET', 'DELETE'] : ['POST'],
    notify: {
      toolsChanged: () => {
        transport2026.notify.toolsChanged()
        sessions?.notify.toolsChanged()
      },
      promptsChanged: () => {
        transport2026.notify.promptsChanged()
        sessions?.notify.promptsChanged()
      },
      resourcesChanged: () => {
        transport2026.notify.resourcesChanged()
        sessions?.notify.resourcesChanged()
      },
      resourceUpdated: (uri) => {
        transport2026.notify.resourceUpdated(uri)
        sessions?.notify.resourceUpdated(uri)
      },
    },
    has: (call) => servers.has(call),
    async handle(given, body, caller, calls) {
      const request = withLenientHeaders(given, body)
      const incoming = { caller, body, calls }
      if (!(await isLegacyRequest(request, body))) return transport2026.handle(request, incoming)
      // A session belongs to somebody.
      if (caller.user && sessions?.accepts(request, body)) return sessions.handle(request, incoming)
      return request.method === 'POST' ? serveAlone(request, incoming, given.signal) : methodNotAllowed()
    },
    endStreams: () => streams.endNotificationStreams(),
    async close() {
      stopChecks()
      streams.close()
      await transport2026.close()
      await sessions?.close()
    },
  }
}

/** Serves a message of an earlier revision without a session. */
function createStatelessTransport(
  { resourceMetadata }: Pick<McpEndpointConfig, 'resourceMetadata'>,
  servers: ServerFactory,
  streams: OpenStreams,
): (request: Request, incoming: Incoming, gone: AbortSignal) => Promise<Response> {
  return async (request, incoming, gone) => {
    const { caller, body, calls } = incoming
    if (gone.aborted) return new Response(null, { status: 499 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !asksForProgress(body),
      keepAliveMs,
    })
    const server = servers.create({ kind: 'stateless', incoming: () => incoming })
    await server.connect(transport)
    // Without a session the client cannot send a cancellation, and the transport would never respond.
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
    return streams.track(response, {
      caller,
      calls,
      kind: 'call',
      ended: (how) => {
        if (how === 'refused') void server.close()
      },
    })
  }
}

/** The answer to a GET or DELETE that belongs to no session. */
export function methodNotAllowed(): Response {
  const error = jsonRpcError(null, transportErrorCode.refused, 'Without a session only POST is allowed.')
  return Response.json(error, { status: 405, headers: { allow: 'POST' } })
}
