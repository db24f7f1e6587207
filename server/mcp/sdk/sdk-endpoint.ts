import { createMcpHandler, isJSONRPCRequest } from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type JsonRpcId, jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { IncomingCalls } from '../../core/access/call-record.ts'
import type { McpEndpointConfig, ModuleEndpoint } from '../endpoint-config.ts'
import { keepAliveMs } from '../event-stream.ts'
import { authInfoOf, type Incoming } from '../incoming.ts'
import { dropNulls } from '../request-params.ts'
import { errorResponse } from '../plain/plain-answer.ts'
import { checkMessage } from '../plain/plain-check.ts'
import { OpenStreams } from '../open-streams.ts'
import { createSubscribe, type SubscriptionLimits, subscriptionLimits } from '../subscriptions.ts'
import { createServerFactory, invalidParams, type ServerFactory } from './sdk-server.ts'
import { SessionChanges } from './session-changes.ts'
import { type SessionLimits, sessionLimits } from './sessions.ts'
import { serveOnTransports, type Transport2026 } from './transports.ts'

/**
 * Creates the endpoint for all revisions on the MCP SDK.
 *
 * 2026-07-28 goes through the SDK's handler. Messages of earlier revisions are served independently: they get a plain
 * JSON response, or a stream if the caller asked for progress, and need no preceding `initialize`. A module that asks
 * the client gets sessions as well, which begin with `initialize`.
 */
export function createSdkEndpoint(
  config: McpEndpointConfig,
  limits: { sessions: SessionLimits; subscriptions: SubscriptionLimits } = {
    sessions: sessionLimits,
    subscriptions: subscriptionLimits,
  },
): ModuleEndpoint {
  const streams = new OpenStreams(config.runtime)
  const servers = createServerFactory(config)
  const transport2026 = createTransport2026(config, limits.subscriptions, servers, streams)
  const sessions = new SessionChanges()
  const all = [transport2026.notify, sessions.notify]
  const served = serveOnTransports({
    config,
    limits: limits.sessions,
    streams,
    transport2026,
    createPeer(serving) {
      const server = servers.create(serving)
      if (serving.kind === 'session') sessions.join(server.server)
      return server
    },
    hasSessions: config.module.asksClient === true,
  })
  return {
    ...served,
    async handle(request, given, caller, calls) {
      const body = dropNulls(given)
      return (
        refuseParams(request.headers, body, { calls, has: servers.has }) ??
        served.handle(request, body, caller, calls)
      )
    },
    notify: {
      toolsChanged: () => all.forEach((each) => each.toolsChanged()),
      promptsChanged: () => all.forEach((each) => each.promptsChanged()),
      resourcesChanged: () => all.forEach((each) => each.resourcesChanged()),
      resourceUpdated: (uri) => all.forEach((each) => each.resourceUpdated(uri)),
    },
    has: (call) => servers.has(call),
    scopeOf: (tool) => servers.scopeOf(tool),
    async learn(_request, incoming) {
      servers.learn(incoming)
      return undefined
    },
  }
}

/** Refuses a single request with wrong parameters. Those of a batch are refused one by one, by {@link ServerFactory}. */
function refuseParams(
  headers: Headers,
  body: unknown,
  ports: { calls: IncomingCalls; has: ServerFactory['has'] },
): Reply | undefined {
  const checked = checkMessage(headers, body, new Map())
  if (checked.kind === 'refused' && checked.error.code === jsonRpcCode.invalidParams)
    return errorResponse(checked.status, checked.error, checked.id)
  if (!isJSONRPCRequest(body) || (checked.kind !== 'revision_2026' && checked.kind !== 'earlier'))
    return undefined
  const error = invalidParams(body, checked.kind, ports)
  return error && errorResponse(200, error, body.id)
}

/** Creates the {@link Transport2026} on the SDK's handler, which tells subscribers of changes by `notify`. */
function createTransport2026(
  config: McpEndpointConfig,
  limits: SubscriptionLimits,
  servers: ServerFactory,
  streams: OpenStreams,
): Transport2026 & Pick<ModuleEndpoint, 'notify'> {
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
      const { caller, calls } = incoming
      return streams.track(await serve(request, incoming), { caller, calls, kind: 'call' })
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
