import { type JSONRPCRequest, specTypeSchemas } from '@modelcontextprotocol/server'
import { jsonRpcCode, type JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { isEventStream, openEventStream } from '../event-stream.ts'
import { asksForProgress, type Incoming } from '../incoming.ts'
import { OpenStreams, repeatChecks } from '../open-streams.ts'
import {
  answerRequest,
  answerSilently,
  errorResponse,
  jsonResponse,
  type PlainMethod,
} from './plain-answer.ts'
import { checkMessage } from './plain-check.ts'
import { createPlainMethods } from './plain-methods.ts'
import {
  createSubscribe,
  type SubscriptionLimits,
  subscriptionLimits,
  subscriptionResult,
} from '../subscriptions.ts'

const methodNotFound: JsonRpcErrorObject = { code: jsonRpcCode.methodNotFound, message: 'Method not found' }

/**
 * Creates the endpoint for a module that offers plain tools alone: a closed set of methods, for all revisions, without the
 * SDK's servers and sessions. The SDK's classifier and schemas still say what is wrong with a message.
 */
export function createPlainEndpoint(
  config: McpEndpointConfig,
  limits: SubscriptionLimits = subscriptionLimits,
): McpEndpoint {
  const streams = new OpenStreams(config.runtime)
  const stopChecks = repeatChecks(() => streams.check())
  const subscribe = createSubscribe(config, limits, streams)
  const methods = createPlainMethods(config)
  const notifications = createToolNotifications(config)
  const tools = new Map(config.tools.map((tool) => [tool.listing.name, tool]))

  async function serve2026(message: JSONRPCRequest, request: Request, incoming: Incoming): Promise<Response> {
    const { id, method } = message
    if (method === 'subscriptions/listen') return subscribe(id, incoming, () => notifications.open(message))
    const serve = methods.revision2026.get(method)
    return serve ? answer(serve, message, request, incoming, false) : errorResponse(404, methodNotFound, id)
  }

  async function serveEarlier(
    requests: readonly JSONRPCRequest[],
    request: Request,
    incoming: Incoming,
  ): Promise<Response> {
    const { body } = incoming
    const find = ({ method }: JSONRPCRequest): PlainMethod =>
      methods.earlier.get(method) ?? (() => ({ error: methodNotFound }))
    const [first] = requests
    if (first && asksForProgress(body)) return answer(find(first), first, request, incoming, true)
    const answers = await Promise.all(
      requests.map((message) => answerSilently(find(message), message, request, incoming)),
    )
    return jsonResponse(answers.length === 1 ? (answers[0] ?? '') : `[${answers.join(',')}]`)
  }

  async function answer(
    method: PlainMethod,
    message: JSONRPCRequest,
    request: Request,
    incoming: Incoming,
    isStream: boolean,
  ): Promise<Response> {
    const response = await answerRequest(method, message, request, incoming, isStream)
    const { caller, calls } = incoming
    return isEventStream(response) ? streams.track(response, { caller, calls, kind: 'call' }) : response
  }

  return {
    methods: ['POST'],
    notify: {
      toolsChanged: notifications.toolsChanged,
      promptsChanged() {},
      resourcesChanged() {},
      resourceUpdated() {},
    },
    has: ({ event, name }) => event === 'tool_called' && tools.has(name),
    async handle(request, body, caller, calls) {
      const checked = checkMessage(request.headers, body, tools)
      switch (checked.kind) {
        case 'refused':
          config.report('mcp_rejected', new Error(checked.error.message))
          return errorResponse(checked.status, checked.error, checked.id)
        case 'accepted':
          return new Response(null, { status: 202 })
        case 'revision_2026':
          return serve2026(checked.message, request, { caller, body, calls })
        case 'earlier':
          return serveEarlier(checked.requests, request, { caller, body, calls })
      }
    },
    endStreams: () => streams.endNotificationStreams(),
    async close() {
      stopChecks()
      streams.close()
    },
  }
}

/** The streams of clients that listen for changes of the tools. */
interface ToolNotifications {
  /** Serves `subscriptions/listen`. Only tool changes are offered, and only if the module reports them. */
  open(message: JSONRPCRequest): Response
  toolsChanged(): void
}

function createToolNotifications({ notifies, tools, serverInfo }: McpEndpointConfig): ToolNotifications {
  const listeners = new Set<() => void>()
  return {
    open(message) {
      const { id, params } = message
      if (specTypeSchemas.SubscriptionsListenRequest['~standard'].validate(message).issues) {
        const text = "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter"
        return errorResponse(200, { code: jsonRpcCode.invalidParams, message: text }, id)
      }
      const filter = params?.['notifications'] as { toolsListChanged?: boolean }
      const listens = notifies && tools.length > 0 && filter.toolsListChanged === true
      const notifications = listens ? { toolsListChanged: true } : {}
      const _meta = { [mcpMetaKey.subscriptionId]: id }
      const send = (method: string, more: object): void =>
        stream.send({ jsonrpc: '2.0', method, params: { ...more, _meta } })
      const listener = (): void => send('notifications/tools/list_changed', {})
      const stream = openEventStream(() => listeners.delete(listener))
      send('notifications/subscriptions/acknowledged', { notifications })
      if (listens) {
        listeners.add(listener)
      } else {
        stream.send(subscriptionResult(id, serverInfo))
        stream.end()
      }
      return stream.response
    },
    toolsChanged() {
      for (const listener of listeners) listener()
    },
  }
}
