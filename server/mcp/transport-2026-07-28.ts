import { createMcpHandler } from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpoint, McpEndpointConfig } from './endpoint-config.ts'
import { authInfoOf, type Incoming } from './incoming.ts'
import { isTooLongToKeep, longestKept } from './kept-message.ts'
import { createListenPlaces, type ListenLimits } from './listen-slots.ts'
import { isEventStream, keepAliveMs, type OpenStreams } from './open-streams.ts'
import type { ServerFactory } from './sdk-server.ts'

/** Serves revision 2026-07-28, where nothing outlasts a request. */
export interface ModernLeg extends Pick<McpEndpoint, 'notify' | 'close'> {
  handle(request: Request, incoming: Incoming): Promise<Response>
}

/** What {@link createModernLeg} needs. */
export interface ModernLegPorts {
  config: Pick<McpEndpointConfig, 'serverInfo' | 'resourceMetadata' | 'report'>
  limits: ListenLimits
  createServer: ServerFactory
  streams: OpenStreams
}

type Id = string | number

/** Creates the {@link ModernLeg}, by the SDK's handler. */
export function createModernLeg({ config, limits, createServer, streams }: ModernLegPorts): ModernLeg {
  const { serverInfo, resourceMetadata } = config
  const places = createListenPlaces(limits)
  // The handler makes the server of a request while it is handed over, so that nothing is between the two.
  const handler = createMcpHandler(
    ({ authInfo }) => createServer({ kind: 'modern', incoming: () => incomingOf(authInfo?.extra) }),
    {
      legacy: 'reject',
      onerror: (error) => config.report('mcp_rejected', error),
      // How many there may be is for the places to say.
      maxSubscriptions: Infinity,
      keepAliveMs,
    },
  )

  function serve(request: Request, { caller, body }: Incoming): Promise<Response> {
    const authInfo = authInfoOf(caller, resourceMetadata)
    return handler.fetch(request, {
      parsedBody: body,
      authInfo: { ...authInfo, extra: { ...authInfo.extra, body } },
    })
  }

  async function listen(id: Id, request: Request, incoming: Incoming): Promise<Response> {
    const { caller, body } = incoming
    // Its filter, and with it the message, stay for as long as the stream does.
    if (isTooLongToKeep(body)) {
      const text = `A subscriptions/listen message has at most ${longestKept} characters.`
      return Response.json(jsonRpcError(id, jsonRpcCode.invalidParams, text), { status: 400 })
    }
    const place = places.take(caller.user.id)
    if (!place) {
      return Response.json(jsonRpcError(id, jsonRpcCode.internalError, 'Subscription limit reached'))
    }
    const response = await serve(request, incoming).catch((error: unknown) => {
      place.leave()
      throw error
    })
    if (!isEventStream(response)) {
      place.leave()
      return response
    }
    return streams.keep(response, {
      caller,
      kind: 'notices',
      until: place.taken,
      farewell: farewellOf(id),
      ended: place.leave,
    })
  }

  function farewellOf(id: Id): string {
    const _meta = { [mcpMetaKey.subscriptionId]: id, [mcpMetaKey.serverInfo]: serverInfo }
    const farewell = { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } }
    return `event: message\ndata: ${JSON.stringify(farewell)}\n\n`
  }

  return {
    notify: handler.notify,
    close: () => handler.close(),
    async handle(request, incoming) {
      const listenId = listenIdOf(incoming.body)
      if (listenId !== undefined) return listen(listenId, request, incoming)
      const response = await serve(request, incoming)
      return isEventStream(response)
        ? streams.keep(response, { caller: incoming.caller, kind: 'call' })
        : response
    },
  }
}

function incomingOf(extra: Record<string, unknown> | undefined): Incoming {
  if (!extra || !('caller' in extra))
    throw new TypeError('An MCP request reached the endpoint without a caller.')
  return extra as unknown as Incoming
}

function listenIdOf(body: unknown): Id | undefined {
  if (!isJsonObject(body) || body['method'] !== 'subscriptions/listen') return undefined
  return body['id'] as Id | undefined
}
