import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp-header-value.ts'
import { mcpHeader } from '@drawbridge/shared/mcp-protocol.ts'

/** What a list of tools says about `Mcp-Param-*` headers. */
export interface ToolHeaders {
  /** Tools with a faulty `x-mcp-header` by name, with what is wrong. A client has to hide them (MCP 2026-07-28 transports). */
  offending: ReadonlyMap<string, string>
  /**
   * Headers of a call by whole name, encoded. Arguments that are absent, null or fit no header bring none. Empty for a tool
   * that is not in the list. Whether an argument has the declared type is not checked: the server will.
   */
  headersFor(toolName: string, args: unknown): Record<string, string>
}

interface HeaderParameter {
  path: readonly string[]
  header: string
}

interface Place {
  node: unknown
  path: readonly string[]
  /** Reached from the root through `properties` alone. */
  reachable: boolean
}

const marker = 'x-mcp-header'
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** What is in these is data, not schema. */
const dataKeywords: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'dependentRequired',
])
/** The members of these are named by the author: a member called `x-mcp-header` is no marker. */
const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
])
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
/** A schema is the server's: copying longer and longer paths must not become work for minutes. */
const mostDepth = 100

/** Reads the `x-mcp-header` markers of tools as `tools/list` has them. Of two tools with one name the later counts. */
export function readParameterHeaders(tools: readonly JsonObject[]): ToolHeaders {
  const offending = new Map<string, string>()
  const parameters = new Map<string, HeaderParameter[]>()
  for (const { name, inputSchema } of tools) {
    if (typeof name !== 'string') continue
    const read = readSchema(inputSchema)
    offending.delete(name)
    parameters.delete(name)
    if (typeof read === 'string') offending.set(name, read)
    else if (read.length > 0) parameters.set(name, read)
  }
  return {
    offending,
    headersFor(toolName, args) {
      const headers: Record<string, string> = {}
      for (const { path, header } of parameters.get(toolName) ?? []) {
        const value = headerForm(valueAt(args, path))
        if (value !== undefined) headers[header] = encodeMcpHeaderValue(value)
      }
      return headers
    },
  }
}

/** The parameters, or what is wrong. Works through a list instead of calling itself: schemas may be nested without end. */
function readSchema(schema: unknown): HeaderParameter[] | string {
  const found: HeaderParameter[] = []
  const names = new Set<string>()
  const open: Place[] = [{ node: schema, path: [], reachable: true }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (Array.isArray(place.node)) {
      for (const node of place.node) open.push({ node, path: place.path, reachable: false })
    }
    if (!isJsonObject(place.node)) continue
    if (Object.hasOwn(place.node, marker)) {
      const parameter = readMarker(place.node, place)
      if (typeof parameter === 'string') return `${place.path.join('.') || 'the root'}: ${parameter}`
      const name = parameter.header.toLowerCase()
      if (names.has(name)) return `two properties have the ${marker} ${JSON.stringify(name)}`
      names.add(name)
      found.push(parameter)
    }
    for (const below of placesBelow(place.node, place)) open.push(below)
  }
  return found
}

function* placesBelow(node: JsonObject, { path, reachable }: Place): Generator<Place> {
  for (const [keyword, value] of Object.entries(node)) {
    if (dataKeywords.has(keyword) || typeof value !== 'object') continue
    if (!mapKeywords.has(keyword) || !isJsonObject(value)) yield { node: value, path, reachable: false }
    else if (keyword !== 'properties' || path.length >= mostDepth) {
      for (const each of Object.values(value)) yield { node: each, path, reachable: false }
    } else {
      for (const [name, each] of Object.entries(value)) yield { node: each, path: [...path, name], reachable }
    }
  }
}

function readMarker(node: JsonObject, { path, reachable }: Place): HeaderParameter | string {
  const { [marker]: name, type } = node
  if (!reachable || path.length === 0) return `${marker} is for properties, reached through properties alone`
  if (typeof name !== 'string' || !headerToken.test(name)) return `${marker} is no header name`
  if (!types.has(type)) return `${marker} needs the type string, integer or boolean`
  return { path, header: mcpHeader.paramPrefix + name }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, key) => (isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    args,
  )
}

function headerForm(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  // An integer beyond the safe range was rounded when it was parsed: a header would say what the body does not.
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return Number.isFinite(value) ? String(value === 0 ? 0 : value) : undefined
}
