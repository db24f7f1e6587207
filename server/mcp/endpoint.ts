import {
  createMcpHandler,
  isLegacyRequest,
  type Implementation,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { JsonRpcMessage } from '@drawbridge/shared/json-rpc.ts'
import { eraOfMessage, mcpHeader, modernRevision } from '@drawbridge/shared/mcp-protocol.ts'
import type { Caller } from '../core/caller.ts'
import { type ToolDefinition, toolError } from './tool.ts'

/** What the MCP endpoint tells about itself and offers. */
export interface McpEndpointConfig {
  serverInfo: Implementation
  instructions: string
  tools: readonly ToolDefinition[]
  report: (event: 'mcp_rejected' | 'tool_failed', error: unknown) => void
}

/** Serves MCP messages to callers who are already proven. */
export interface McpEndpoint {
  /** `body` is the parsed JSON of `request`, a message or a batch; the stream of `request` is not read again. */
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>
  close(): Promise<void>
}

/**
 * Creates the endpoint for both protocol eras, without sessions: every request stands alone.
 *
 * 2026-07-28 goes through the SDK's handler. Earlier revisions get a plain JSON answer, unless the caller asked for
 * progress and so for a stream; a request without a preceding `initialize` is served too.
 */
export function createMcpEndpoint(config: McpEndpointConfig): McpEndpoint {
  const tools = new Map(config.tools.map((tool) => [tool.listing.name, tool]))
  const listing: ListToolsResult = { tools: config.tools.map((tool) => tool.listing) }

  function createServer(caller: Caller): Server {
    const server = new Server(config.serverInfo, {
      capabilities: { tools: {} },
      instructions: config.instructions,
      // The catalogue is the same for everyone here, but a shared cache must not assume so (MCP 2026-07-28, caching).
      cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' } },
    })
    server.setRequestHandler('tools/list', () => listing)
    server.setRequestHandler('tools/call', ({ params }, context: ServerContext) => {
      const tool = tools.get(params.name)
      if (!tool) {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `There is no tool ${JSON.stringify(params.name.slice(0, 100))}. Call tools/list for the names.`,
        )
      }
      const { signal } = context.mcpReq
      return tool.call(params.arguments, { caller, signal }).catch((error: unknown) => {
        config.report('tool_failed', error)
        return toolError('The tool failed on the server. Try again; if it stays, tell the people who run it.')
      })
    })
    return server
  }

  const modern = createMcpHandler((context) => createServer(callerOf(context.authInfo?.extra)), {
    legacy: 'reject',
    onerror: (error) => config.report('mcp_rejected', error),
  })

  async function handleLegacy(request: Request, body: unknown, caller: Caller): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !asksForProgress(body),
      keepAliveMs: 15_000,
    })
    await createServer(caller).connect(transport)
    return transport.handleRequest(request, { parsedBody: body })
  }

  return {
    async handle(given, body, caller) {
      const request = withLegacyHeaders(given, body)
      if (await isLegacyRequest(request, body)) return handleLegacy(request, body, caller)
      const { clientId, scope, expiresAt } = caller
      const scopes = scope.split(' ')
      // The SDK wants a token here; tools get the caller instead, and nothing downstream needs the credential itself.
      const authInfo = { token: '', clientId: clientId ?? '', scopes, expiresAt, extra: { caller } }
      return modern.fetch(request, { parsedBody: body, authInfo })
    },
    close: () => modern.close(),
  }
}

function callerOf(extra: Record<string, unknown> | undefined): Caller {
  if (!extra || !('caller' in extra))
    throw new TypeError('An MCP request reached the endpoint without a caller.')
  return extra['caller'] as Caller
}

function asksForProgress(body: unknown): boolean {
  const params = (body as { params?: { _meta?: { progressToken?: unknown } } } | null)?.params
  return params?._meta?.progressToken !== undefined
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
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}

function isModernMessage(request: Request, body: unknown): boolean {
  if (Array.isArray(body)) return false
  const message = body as JsonRpcMessage
  const discovers = 'method' in message && message.method === 'server/discover'
  return discovers || eraOfMessage(message) === 'modern' || request.headers.has(mcpHeader.method)
}
