import { type JSONRPCRequest, specTypeSchemas } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'

/** The schemas of requests, by their methods. */
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

/** The methods above that 2026-07-28 does not have, and those that it alone has. */
const earlierMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])
const laterMethods: ReadonlySet<string> = new Set(['server/discover', 'subscriptions/listen'])

/** Returns whether MCP defines a method at 2026-07-28, or before. */
export function isOfRevision(method: string, revision: 'revision_2026' | 'earlier'): boolean {
  const others = revision === 'earlier' ? laterMethods : earlierMethods
  return Object.hasOwn(schemas, method) && !others.has(method)
}

/** Returns what is wrong with the parameters of a request, in words. Undefined if nothing is, and for methods that MCP does not define. */
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

/** Members that hold what a person or a tool said, where null is a value. */
const contents: ReadonlySet<string> = new Set(['arguments', 'inputResponses', 'content', 'structuredContent'])

/**
 * Returns a message or batch without the members that are null: clients whose JSON library writes null for what they do not set mean
 * that it is not there. What a person or a tool said stays as it is.
 */
export function withoutNulls(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withoutNulls)
  if (!isJsonObject(body)) return body
  const parts: JsonObject = {}
  for (const name of ['params', 'result', 'error'])
    if (isJsonObject(body[name])) parts[name] = membersOf(body[name])
  const { params, ...rest } = { ...body, ...parts }
  return params === null || params === undefined ? rest : { ...rest, params }
}

function membersOf(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      if (value === null) return []
      return [[name, isJsonObject(value) && !contents.has(name) ? membersOf(value) : value]]
    }),
  )
}
