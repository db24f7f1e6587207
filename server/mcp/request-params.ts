import { type JSONRPCRequest, specTypeSchemas } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'

/** The schemas of clients' requests, by their methods. */
const schemas: Readonly<Record<string, keyof typeof specTypeSchemas | undefined>> = {
  initialize: 'InitializeRequest',
  ping: 'PingRequest',
  'server/discover': 'DiscoverRequest',
  'tools/list': 'ListToolsRequest',
  'tools/call': 'CallToolRequest',
  'prompts/list': 'ListPromptsRequest',
  'prompts/get': 'GetPromptRequest',
  'resources/list': 'ListResourcesRequest',
  'resources/templates/list': 'ListResourceTemplatesRequest',
  'resources/read': 'ReadResourceRequest',
  'resources/subscribe': 'SubscribeRequest',
  'resources/unsubscribe': 'UnsubscribeRequest',
  'subscriptions/listen': 'SubscriptionsListenRequest',
  'completion/complete': 'CompleteRequest',
  'logging/setLevel': 'SetLevelRequest',
}

/** Describes the fault in the parameters of a request. Undefined without one, and for methods that MCP does not define. */
export function paramsFault(message: Pick<JSONRPCRequest, 'method' | 'params'>): string | undefined {
  const schema = Object.hasOwn(schemas, message.method) ? schemas[message.method] : undefined
  const { issues = [] } = schema === undefined ? {} : specTypeSchemas[schema]['~standard'].validate(message)
  if (issues.length === 0) return undefined
  const faults = issues.map(({ path = [], message: text }) => {
    const names = path.map((key) => String(typeof key === 'object' ? key.key : key))
    return `${names.slice(1).join('.') || 'params'}: ${text.replace(/^Invalid input: /, '')}`
  })
  return `The parameters of ${message.method} are wrong. ${[...new Set(faults)].join('; ')}.`
}

/** Members with a tool's input or output, where null is a value. */
const toolValues: ReadonlySet<string> = new Set(['input', 'structuredContent'])

/**
 * Returns a message or batch without members that are null: some clients' JSON libraries write null for unset members. Keeps the
 * arguments of tools unchanged.
 */
export function dropNulls(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(dropNulls)
  if (!isJsonObject(body)) return body
  const { params, result, error, ...message } = body
  const input = body['method'] === 'tools/call' ? paramsOf(body)?.['arguments'] : undefined
  return {
    ...message,
    ...membersOf({ params, result, error }),
    ...(isJsonObject(input) && { params: { ...membersOf(paramsOf(body) ?? {}), arguments: input } }),
  }
}

function membersOf(object: JsonObject): JsonObject {
  const given = Object.entries(object).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, toolValues.has(name) ? value : withoutNullMembers(value)]),
  )
}

function withoutNullMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullMembers)
  return isJsonObject(value) ? membersOf(value) : value
}
