import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { AuthError } from '../auth-error.ts'

/** The members of a JSON request body, read one by one with a type. */
export interface JsonBody {
  /** The text, or an empty one when it is missing. */
  text(name: string): string
  /** False when it is missing. */
  flag(name: string): boolean
  /** The object, or undefined when it is missing. */
  object(name: string): Record<string, unknown> | undefined
}

/** Reads a body that must be a JSON object; an empty body is an empty object. Throws `bad_json`. */
export async function readJsonBody(request: Request): Promise<JsonBody> {
  const members = parseObject(await request.text())
  return {
    text(name) {
      const value = members.get(name)
      if (value === undefined || value === null) return ''
      if (typeof value !== 'string') throw badJson(`${name} must be a string`)
      return value
    },
    flag(name) {
      const value = members.get(name) ?? false
      if (typeof value !== 'boolean') throw badJson(`${name} must be a boolean`)
      return value
    },
    object(name) {
      const value = members.get(name)
      if (value === undefined || value === null) return undefined
      if (!isJsonObject(value)) throw badJson(`${name} must be an object`)
      return value
    },
  }
}

function parseObject(text: string): Map<string, unknown> {
  if (text.trim() === '') return new Map()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badJson('it is not JSON')
  }
  if (!isJsonObject(value)) throw badJson('it is not an object')
  return new Map(Object.entries(value))
}

function badJson(reason: string): AuthError {
  return new AuthError(400, 'bad_json', `Could not parse request body as JSON: ${reason}`)
}
