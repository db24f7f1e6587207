import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp-header-value.ts'
import { mcpHeader } from '@drawbridge/shared/mcp-protocol.ts'

/** An argument that clients repeat in a header, so that a proxy can route by it (`x-mcp-header`, MCP 2026-07-28 transports). */
export interface HeaderParameter {
  /** Where the argument is, from the root of the arguments. */
  path: readonly string[]
  /** The whole name of the header. */
  header: string
  type: 'string' | 'integer' | 'boolean'
}

const marker = 'x-mcp-header'
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** What is in these is data, not schema. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/**
 * The header parameters of a tool's input schema, or what is wrong with their declarations. They are allowed on properties
 * that are reached through `properties` alone; a marker anywhere else makes clients drop the tool.
 */
export function readHeaderParameters(
  schema: unknown,
): { kind: 'read'; parameters: HeaderParameter[] } | { kind: 'faulty'; fault: string } {
  const parameters: HeaderParameter[] = []
  const fault = visit(schema, [], true, parameters)
  if (fault !== undefined) return { kind: 'faulty', fault }
  const names = parameters.map(({ header }) => header.toLowerCase())
  return new Set(names).size < names.length
    ? { kind: 'faulty', fault: `two properties have the same ${marker}` }
    : { kind: 'read', parameters }
}

function visit(
  node: unknown,
  path: readonly string[],
  reachable: boolean,
  found: HeaderParameter[],
): string | undefined {
  if (Array.isArray(node)) return first(node.map((each) => () => visit(each, path, false, found)))
  if (!isJsonObject(node)) return undefined
  const own = marker in node ? readOwn(node, path, reachable, found) : undefined
  if (own !== undefined) return own
  return first(
    Object.entries(node).map(([keyword, value]) => () => {
      if (dataKeywords.has(keyword)) return undefined
      if (keyword !== 'properties' || !isJsonObject(value)) return visit(value, path, false, found)
      return first(
        Object.entries(value).map(
          ([name, property]) =>
            () =>
              visit(property, [...path, name], reachable, found),
        ),
      )
    }),
  )
}

function readOwn(
  node: Record<string, unknown>,
  path: readonly string[],
  reachable: boolean,
  found: HeaderParameter[],
): string | undefined {
  const { [marker]: name, type } = node
  const where = path.join('.') || 'the root'
  if (!reachable || path.length === 0)
    return `${where}: ${marker} is for properties, reached through properties`
  if (typeof name !== 'string' || !headerToken.test(name)) return `${where}: ${marker} is no header name`
  if (!isParameterType(type)) return `${where}: ${marker} needs the type string, integer or boolean`
  found.push({ path, header: mcpHeader.paramPrefix + name, type })
  return undefined
}

function isParameterType(type: unknown): type is HeaderParameter['type'] {
  return types.has(type)
}

function first(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const fault = check()
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Whether a header of `parameters` does not say what the arguments say. A header is needed when its argument is there; one
 * whose argument is absent or null is ignored. Integers are compared as numbers.
 */
export function headerMismatch(
  parameters: readonly HeaderParameter[],
  input: unknown,
  headers: Headers,
): boolean {
  return parameters.some(({ path, header, type }) => {
    const value = path.reduce<unknown>((node, key) => (isJsonObject(node) ? node[key] : undefined), input)
    const expected = headerForm(value)
    if (expected === undefined) return false
    const given = headers.get(header)
    const decoded = given === null ? undefined : decodeMcpHeaderValue(given)
    if (decoded === undefined) return true
    const asNumber = type === 'integer' && typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(decoded)
    return asNumber ? Number(decoded) !== value : decoded !== expected
  })
}

/** Undefined for what no header can carry: the schema will refuse it. */
function headerForm(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return Number.isFinite(value) ? String(value) : undefined
}
