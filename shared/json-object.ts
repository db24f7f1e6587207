import { isExactNumber, parseExactJson } from './exact-json.ts'

/** A parsed JSON object, not an array or null. Its members are unchecked. */
export type JsonObject = Record<string, unknown>

/** Narrows a parsed JSON value to an object, not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}

/** Parses text that must be a JSON object; `undefined` for anything else. */
export function parseJsonObject(text: string): JsonObject | undefined {
  return objectOf(text, JSON.parse)
}

/** {@link parseJsonObject} with numbers as {@link parseExactJson} keeps them. */
export function parseExactObject(text: string): JsonObject | undefined {
  return objectOf(text, parseExactJson)
}

function objectOf(text: string, parse: (text: string) => unknown): JsonObject | undefined {
  try {
    const value = parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Serializes JSON with sorted members, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
