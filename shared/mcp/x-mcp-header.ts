import { plainNumber } from '../exact-json.ts'
import { isJsonObject, type JsonObject } from '../json-object.ts'
import { mcpHeader } from './mcp-protocol.ts'

/** An argument that clients repeat in a header, so that a proxy can route by it (`x-mcp-header`, MCP 2026-07-28 transports). */
export interface HeaderParameter {
  /** Where the argument is, from the root of the arguments. */
  path: readonly string[]
  header: string
  type: 'string' | 'integer' | 'boolean'
}

interface SchemaNode {
  node: unknown
  path: readonly string[]
  /** Reached from the root through `properties` alone. */
  reachable: boolean
}

const marker = 'x-mcp-header'
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** These contain data, not schemas. */
const dataKeywords: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'dependentRequired',
])
/** The author names the members of these, so a member called `x-mcp-header` is not a marker. */
const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
])
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
/** Stops a hostile schema from making us copy ever longer paths for minutes. */
const maxDepth = 100

/**
 * The header parameters of a tool's input schema, or the fault in their declarations. They are allowed on properties
 * that are reached through `properties` alone; a marker anywhere else makes clients drop the tool. Schemas can be nested
 * without limit. Does not check that the schema is valid.
 */
export function readHeaderParameters(
  schema: unknown,
): { kind: 'read'; parameters: HeaderParameter[] } | { kind: 'faulty'; fault: string } {
  const parameters: HeaderParameter[] = []
  const names = new Set<string>()
  // A list instead of recursion, because of the nesting.
  const open: SchemaNode[] = [{ node: schema, path: [], reachable: true }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (Array.isArray(place.node)) {
      for (const node of place.node) open.push({ node, path: place.path, reachable: false })
    }
    if (!isJsonObject(place.node)) continue
    if (Object.hasOwn(place.node, marker)) {
      const parameter = readMarker(place.node, place)
      if (typeof parameter === 'string') return faulty(`${place.path.join('.') || 'the root'}: ${parameter}`)
      const name = parameter.header.toLowerCase()
      if (names.has(name)) return faulty(`two properties have the ${marker} ${JSON.stringify(name)}`)
      names.add(name)
      parameters.push(parameter)
    }
    for (const below of childNodes(place.node, place)) open.push(below)
  }
  return { kind: 'read', parameters }
}

/** Returns the header text of an argument; undefined if it is absent, null, or does not fit in a header. */
export function headerParameterText(
  args: unknown,
  { path }: Pick<HeaderParameter, 'path'>,
): string | undefined {
  const value = headerParameterValue(args, { path })
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  // An integer beyond the safe range was rounded when parsed, so a header would contradict the body.
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return Number.isFinite(value) ? String(value === 0 ? 0 : value) : undefined
}

/** The argument itself. */
export function headerParameterValue(args: unknown, { path }: Pick<HeaderParameter, 'path'>): unknown {
  const value = path.reduce<unknown>(
    (node, key) => (isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    args,
  )
  return plainNumber(value)
}

function faulty(fault: string): { kind: 'faulty'; fault: string } {
  return { kind: 'faulty', fault }
}

function* childNodes(node: JsonObject, { path, reachable }: SchemaNode): Generator<SchemaNode> {
  for (const [keyword, value] of Object.entries(node)) {
    if (dataKeywords.has(keyword) || typeof value !== 'object') continue
    if (!mapKeywords.has(keyword) || !isJsonObject(value)) yield { node: value, path, reachable: false }
    else if (keyword !== 'properties' || path.length >= maxDepth) {
      for (const each of Object.values(value)) yield { node: each, path, reachable: false }
    } else {
      for (const [name, each] of Object.entries(value)) yield { node: each, path: [...path, name], reachable }
    }
  }
}

function readMarker(node: JsonObject, { path, reachable }: SchemaNode): HeaderParameter | string {
  const { [marker]: name, type } = node
  if (!reachable || path.length === 0) return `${marker} is for properties, reached through properties alone`
  if (typeof name !== 'string' || !headerToken.test(name)) return `${marker} is not a header name`
  if (!isParameterType(type)) return `${marker} needs the type string, integer or boolean`
  return { path, header: mcpHeader.paramPrefix + name, type }
}

function isParameterType(type: unknown): type is HeaderParameter['type'] {
  return types.has(type)
}
