import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { jsonRpcCode, type JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { honouredFilter } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type { McpEndpointConfig, ModuleEndpoint } from '../endpoint-config.ts'
import { asksForProgress, type Incoming } from '../incoming.ts'
import { OpenStreams, repeatChecks } from '../open-streams.ts'
import { answerInJson, answerRequest, errorResponse, type PlainCall } from './plain-answer.ts'
import { paramsFault, dropNulls } from '../request-params.ts'
import { checkMessage } from './plain-check.ts'
import { createPlainMethods } from './plain-methods.ts'
import {
  type ChangeListener,
  type ChangeSource,
  createSubscribe,
  openSubscription,
  type SubscriptionLimits,
  subscriptionLimits,
} from '../subscriptions.ts'

const methodNotFound: JsonRpcErrorObject = { code: jsonRpcCode.methodNotFound, message: 'Method not found' }

/**
 * Creates the endpoint for a module that offers only plain tools: a closed set of methods, for all revisions, without the
 * SDK's servers and sessions. The SDK's classifier and schemas still find the faults of a message.
 */
export function createPlainEndpoint(
  config: McpEndpointConfig,
  limits: SubscriptionLimits = subscriptionLimits,
): ModuleEndpoint {
  const streams = new OpenStreams(config.runtime)
  const stopChecks = repeatChecks(() => streams.check())
  const subscribe = createSubscribe(limits, streams)
  const methods = createPlainMethods(config)
  const changes = new ToolChanges(config)
  const tools = new Map(config.tools.map((tool) => [tool.listing.name, tool]))

  async function serve2026(message: JSONRPCRequest, request: Request, incoming: Incoming): Promise<Reply> {
    const { id, method } = message
    const fault = method === 'subscriptions/listen' ? paramsFault(message) : undefined
    if (fault !== undefined)
      return errorResponse(200, { code: jsonRpcCode.invalidParams, message: fault }, id)
    if (method === 'subscriptions/listen')
      return subscribe(id, incoming, config.serverInfo, () =>
        openSubscription(message, config.serverInfo, changes),
      )
    const serve = methods.revision2026.get(method)
    return serve
      ? answer({ method: serve, message, request, incoming }, false)
      : errorResponse(404, methodNotFound, id)
  }

  async function serveEarlier(
    requests: readonly JSONRPCRequest[],
    request: Request,
    incoming: Incoming,
  ): Promise<Reply> {
    const { body } = incoming
    const callOf = (message: JSONRPCRequest): PlainCall => {
      const method = methods.earlier.get(message.method) ?? (() => ({ error: methodNotFound }))
      return { method, message, request, incoming }
    }
    const [first] = requests
    if (first && asksForProgress(body)) return answer(callOf(first), true)
    return answerInJson(requests.map(callOf))
  }

  async function answer(call: PlainCall, isStream: boolean): Promise<Reply> {
    const { caller, calls } = call.incoming
    return streams.track(await answerRequest(call, isStream), { caller, calls, kind: 'call' })
  }

  return {
    methods: ['POST'],
    notify: {
      toolsChanged: () => changes.report(),
      // It has nothing but tools.
      promptsChanged() {},
      resourcesChanged() {},
      resourceUpdated() {},
    },
    has: ({ event, name }) => event === 'tool_called' && tools.has(name),
    scopeOf: (name) => tools.get(name)?.scope,
    async handle(request, given, caller, calls) {
      const body = dropNulls(given)
      const checked = checkMessage(request.headers, body, tools)
      switch (checked.kind) {
        case 'refused':
          config.report('mcp_rejected', new Error(checked.error.message))
          return errorResponse(checked.status, checked.error, checked.id)
        case 'accepted':
          return { status: 202, headers: {}, body: null }
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

/** Reports changes of the tools, if the module announces them. */
class ToolChanges implements ChangeSource {
  readonly #offered: JsonObject
  readonly #listeners = new Set<ChangeListener>()

  constructor({ notifies, tools }: McpEndpointConfig) {
    this.#offered = notifies && tools.length > 0 ? { tools: { listChanged: true } } : {}
  }

  async listen(wanted: ChangeListener): Promise<ChangeListener> {
    const listener = { ...wanted, filter: honouredFilter(wanted.filter, this.#offered) }
    this.#listeners.add(listener)
    return listener
  }

  remove(listener: ChangeListener): void {
    this.#listeners.delete(listener)
  }

  report(): void {
    for (const { send } of this.#listeners) send({ method: 'notifications/tools/list_changed' })
  }
}
