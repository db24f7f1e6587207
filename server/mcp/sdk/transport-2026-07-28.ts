import { createMcpHandler } from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { authInfoOf, type Incoming } from '../incoming.ts'
import { isEventStream, keepAliveMs } from '../event-stream.ts'
import type { OpenStreams } from '../open-streams.ts'
import type { ServerFactory } from './sdk-server.ts'
import type { Transport2026 } from './transports.ts'
import { createSubscribe, type SubscriptionLimits } from '../subscriptions.ts'

export interface Transport2026Ports {
  config: Pick<McpEndpointConfig, 'serverInfo' | 'resourceMetadata' | 'report'>
  limits: SubscriptionLimits
  servers: ServerFactory
  streams: OpenStreams
}

/** Creates the {@link Transport2026} on the SDK's handler, which tells subscribers of changes by `notify`. */
export function createTransport2026({
  config,
  limits,
  servers,
  streams,
}: Transport2026Ports): Transport2026 & Pick<McpEndpoint, 'notify'> {
  const { resourceMetadata } = config
  const subscribe = createSubscribe(limits, streams)
  // The handler creates the server synchronously with the request, so the two belong together.
  const handler = createMcpHandler(
    ({ authInfo }) => servers.create({ kind: '2026-07-28', incoming: () => incomingOf(authInfo?.extra) }),
    {
      legacy: 'reject',
      onerror: (error) => config.report('mcp_rejected', error),
      // Bounded by the subscription slots.
      maxSubscriptions: Infinity,
      keepAliveMs,
    },
  )

  function serve(request: Request, { caller, body, calls }: Incoming): Promise<Response> {
    const authInfo = authInfoOf(caller, resourceMetadata)
    return handler.fetch(request, {
      parsedBody: body,
      authInfo: { ...authInfo, extra: { ...authInfo.extra, body, calls } },
    })
  }

  return {
    notify: handler.notify,
    close: () => handler.close(),
    async handle(request, incoming) {
      const listenId = listenIdOf(incoming.body)
      if (listenId !== undefined)
        return subscribe(listenId, incoming, config.serverInfo, () => serve(request, incoming))
      const response = await serve(request, incoming)
      return isEventStream(response)
        ? streams.track(response, { caller: incoming.caller, calls: incoming.calls, kind: 'call' })
        : response
    },
  }
}

function incomingOf(extra: Record<string, unknown> | undefined): Incoming {
  if (!extra || !('caller' in extra))
    throw new TypeError('An MCP request reached the endpoint without a caller.')
  return extra as unknown as Incoming
}

function listenIdOf(body: unknown): JsonRpcId | undefined {
  if (!isJsonObject(body) || body['method'] !== 'subscriptions/listen') return undefined
  return body['id'] as JsonRpcId | undefined
}
