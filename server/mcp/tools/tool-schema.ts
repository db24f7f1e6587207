import { fromJsonSchema, type StandardSchemaWithJSON, type Tool } from '@modelcontextprotocol/server'
import { z } from 'zod/v4'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ToolSchema } from './tool-module.ts'

/** A prepared schema: its JSON form for clients, and a compiled check. */
export interface PreparedSchema {
  json: Tool['inputSchema']
  check(value: unknown): Promise<SchemaResult> | SchemaResult
}

/** `value` is the parsed input, for example with defaults filled in. */
type SchemaResult = { kind: 'fits'; value: Record<string, unknown> } | { kind: 'unfit'; reason: string }

const maxReasonLength = 1000

export const emptySchema: ToolSchema = z.strictObject({})

/**
 * Prepares a schema for the input or the output of a tool. Throws an `Error` that names its fault: it has to
 * describe an object, and a `$ref` may not lead out of it (nothing is ever fetched for one).
 */
export function prepareSchema(schema: unknown, side: 'input' | 'output'): PreparedSchema {
  const standard = isStandardSchema(schema) ? schema : fromJson(schema)
  const json = standard['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })
  if (json['type'] !== 'object') throw new Error('must describe an object: it needs "type": "object"')
  return {
    // The type first, as the SDK has it.
    json: { type: 'object', ...json },
    check(value) {
      const validation = standard['~standard'].validate(value)
      const read = (given: Validation): SchemaResult => resultOf(given, value, json)
      return validation instanceof Promise ? validation.then(read) : read(validation)
    },
  }
}

function fromJson(schema: unknown): StandardSchemaWithJSON {
  if (!isJsonObject(schema)) {
    throw new Error('must be a JSON Schema object, or a schema that speaks Standard Schema')
  }
  return fromJsonSchema(schema)
}

function isStandardSchema(schema: unknown): schema is StandardSchemaWithJSON {
  if (schema === null || (typeof schema !== 'object' && typeof schema !== 'function')) return false
  const standard = (schema as Partial<StandardSchemaWithJSON>)['~standard']
  if (standard === undefined) return false
  if (typeof standard.jsonSchema?.input !== 'function') {
    throw new TypeError(
      'its library cannot say it as JSON Schema: use a newer one (zod 4.2), or give JSON Schema',
    )
  }
  return true
}

type Validation = Awaited<ReturnType<StandardSchemaWithJSON['~standard']['validate']>>
type Issues = Extract<Validation, { issues?: unknown }>

function resultOf(validation: Validation, value: unknown, json: Record<string, unknown>): SchemaResult {
  if (validation.issues)
    return { kind: 'unfit', reason: describeIssues(validation.issues, strangersIn(value, json)) }
  // The root is an object, as was checked when the schema was prepared.
  return { kind: 'fits', value: validation.value as Record<string, unknown> }
}

/** The members that a closed schema does not have, which a checker may refuse without a name. */
function strangersIn(
  value: unknown,
  { properties, additionalProperties }: Record<string, unknown>,
): string[] {
  if (additionalProperties !== false || !isJsonObject(value) || !isJsonObject(properties)) return []
  return Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
}

function describeIssues(issues: NonNullable<Issues['issues']>, strangers: readonly string[]): string {
  const texts = issues.map(({ message, path }) => {
    if (strangers.length > 0 && message.endsWith('must NOT have additional properties') && !path?.length) {
      return `there is no ${strangers.join(', ')}`
    }
    const keys = path?.map((key) => String(typeof key === 'object' ? key.key : key)) ?? []
    return keys.length > 0 ? `${keys.join('.')}: ${message}` : message
  })
  const text = texts.join('; ')
  return text.length > maxReasonLength ? `${text.slice(0, maxReasonLength)}...` : text
}
