import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { endOfString } from '@drawbridge/shared/json-structure.ts'
import { isMcpMethod } from '@drawbridge/shared/mcp/methods.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'

/** The members of `_meta` that carry a W3C trace context (SEP-414), and the headers of the same names. */
export type TraceCarrier = Readonly<Record<string, string>>

/** The name of the spans of a message, and the attributes that name it. */
export interface McpOperation {
  name: string
  attributes: Readonly<Record<string, string>>
}

const maxNameLength = 200

/**
 * Names a message by the semantic conventions of OpenTelemetry for MCP: of its parameters, by the name of the tool or prompt alone. A
 * method that no revision has is `_OTHER`.
 */
export function mcpOperation(given: string, called: unknown): McpOperation {
  // Clients may send any text, and each would become a metric series of its own.
  const method = isMcpMethod(given) ? given : '_OTHER'
  const kind = { 'tools/call': 'tool', 'prompts/get': 'prompt' }[method]
  const attributes = { 'mcp.method.name': method }
  if (kind === undefined || typeof called !== 'string') return { name: method, attributes }
  const target = called.slice(0, maxNameLength)
  return {
    name: `${method} ${target}`,
    attributes: {
      ...attributes,
      [`gen_ai.${kind}.name`]: target,
      ...(kind === 'tool' && { 'gen_ai.operation.name': 'execute_tool' }),
    },
  }
}

/** Returns a copy of a request with `carrier` in its `_meta`. */
export function withTrace(message: JsonObject, carrier: TraceCarrier): JsonObject {
  const params = paramsOf(message)
  return { ...message, params: { ...params, _meta: { ...metaOf(params), ...carrier } } }
}

/**
 * {@link withTrace} for the JSON text of a request, without parsing, which would change large numbers. Returns the text unchanged if
 * it, its `params` or its `_meta` is not an object.
 */
export function withTraceText(text: string, carrier: TraceCarrier): string {
  const members = memberTexts(carrier)
  const params = valueOf(text, text.search(/\S/), 'params')
  if (params === 'not_object') return text
  if (params.kind === 'missing') return inserted(text, params.at, `"params":{"_meta":{${members}}}`)
  const meta = valueOf(text, params.at, '_meta')
  if (meta === 'not_object') return text
  if (meta.kind === 'missing') return inserted(text, meta.at, `"_meta":{${members}}`)
  let changed = text
  for (const [name, value] of Object.entries(carrier)) changed = withMember(changed, meta.at, name, value)
  return changed
}

/** Sets a member of the object that begins at `start`, if its value so far is text. */
function withMember(text: string, start: number, name: string, value: string): string {
  const found = valueOf(text, start, name)
  if (found === 'not_object') return text
  if (found.kind === 'missing') return inserted(text, found.at, memberTexts({ [name]: value }))
  if (text[found.at] !== '"') return text
  return text.slice(0, found.at) + JSON.stringify(value) + text.slice(endOfString(text, found.at) + 1)
}

function memberTexts(carrier: TraceCarrier): string {
  return JSON.stringify(carrier).slice(1, -1)
}

/** `at` is right behind the brace of an object. */
function inserted(text: string, at: number, members: string): string {
  const isEmpty = matchAt(/\s*\}/y, text, at) !== undefined
  return `${text.slice(0, at)}${members}${isEmpty ? '' : ','}${text.slice(at)}`
}

type Found = { kind: 'found' | 'missing'; at: number }

/** Finds the value of a member of the object that begins at `start`; if there is none, `at` is where its members begin. */
function valueOf(text: string, start: number, name: string): Found | 'not_object' {
  if (text[start] !== '{') return 'not_object'
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]
    if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === '"') {
      const end = endOfString(text, at)
      const value = depth === 1 ? matchAt(/\s*:\s*/y, text, end + 1) : undefined
      if (value !== undefined && nameAt(text, at, end) === name) return { kind: 'found', at: value }
      at = end
    }
    if (depth === 0) break
  }
  return { kind: 'missing', at: start + 1 }
}

/** Returns where the match of `sticky` at `start` ends. */
function matchAt(sticky: RegExp, text: string, start: number): number | undefined {
  sticky.lastIndex = start
  return sticky.test(text) ? sticky.lastIndex : undefined
}

function nameAt(text: string, start: number, end: number): unknown {
  return JSON.parse(text.slice(start, end + 1)) as unknown
}
