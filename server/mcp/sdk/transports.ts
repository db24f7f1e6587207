import { WebStandardStreamableHTTPServerTransport, isLegacyRequest } from '@modelcontextprotocol/server'
import { type Incoming, asksForProgress, authInfoOf, opensSession, withLenientHeaders } from '../incoming.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader, transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CreatePeer, McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { keepAliveMs } from '../event-stream.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { isEarlierRequest } from '../plain/plain-check.ts'
import { type OpenStreams, repeatChecks } from '../open-streams.ts'
import { Sessions, type SessionLimits } from './sessions.ts'

/** Serves revision 2026-07-28, where nothing outlasts a request. */
export interface Transport2026 {
  handle(request: Request, incoming: Incoming): Promise<Reply>
  close(): Promise<void>
}

export interface TransportPorts {
  config: Pick<McpEndpointConfig, 'runtime' | 'resourceMetadata' | 'report'>
  limits: SessionLimits
  streams: OpenStreams
  transport2026: Transport2026
  /** Creates the server for a session, or for a single message of a revision up to 2025-11-25. */
  createPeer: CreatePeer
  /** True when clients of the revisions up to 2025-11-25 can open sessions. */
  hasSessions: boolean
}

/** Serves all revisions over Streamable HTTP: finds the revision and the session of each message. */
export function serveOnTransports({
  config,
  limits,
  streams,
  transport2026,
  createPeer,
  hasSessions,
}: TransportPorts): Pick<McpEndpoint, 'methods' | 'handle' | 'endStreams' | 'close'> {
  const sessions = hasSessions ? new Sessions({ config, limits, createPeer, streams }) : undefined
  const stopChecks = repeatChecks(async () => {
    sessions?.sweep()
    await streams.check()
    await sessions?.check()
  })

  /** Serves a message of an earlier revision without a session. */
  async function serveAlone(request: Request, incoming: Incoming, gone: AbortSignal): Promise<Reply> {
    const { caller, body, calls } = incoming
    const peer = createPeer({ kind: 'stateless', incoming: () => incoming })
    const release = await peer.hold?.(incoming)
    try {
      if (gone.aborted) return new Response(null, { status: 499 })
      const transport = new WebStandardStreamableHTTPServerTransport({
        enableJsonResponse: !asksForProgress(body),
        keepAliveMs,
      })
      await peer.connect(transport)
      // Without a session the client cannot send a cancellation, and the transport would never respond.
      const left = new Promise<Response>((resolve) => {
        const leave = (): void => {
          void peer.close()
          resolve(new Response(null, { status: 499 }))
        }
        gone.addEventListener('abort', leave, { once: true })
      })
      const authInfo = authInfoOf(caller, config.resourceMetadata)
      const answered = transport.handleRequest(request, { parsedBody: body, authInfo })
      return streams.track(await Promise.race([answered, left]), {
        caller,
        calls,
        kind: 'call',
        ended: (how) => {
          if (how === 'refused') void peer.close()
        },
      })
    } finally {
      release?.()
    }
  }

  return {
    methods: sessions ? ['POST', 'GET', 'DELETE'] : ['POST'],
    async handle(given, body, caller, calls) {
      const request = withLenientHeaders(given, body)
      const incoming = { caller, body, calls }
      const isEarlier = isEarlierRequest(request.headers, body) || (await isLegacyRequest(request, body))
      // As it came: its signal ends the call.
      if (!isEarlier) return transport2026.handle(given, incoming)
      // A session belongs to a user.
      const isOfSession = request.headers.has(mcpHeader.sessionId) || opensSession(body)
      if (caller.user && sessions && isOfSession) return sessions.handle(request, incoming)
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

function methodNotAllowed(): Response {
  const error = jsonRpcError(null, transportErrorCode.refused, 'Without a session only POST is allowed.')
  return Response.json(error, { status: 405, headers: { allow: 'POST' } })
}
