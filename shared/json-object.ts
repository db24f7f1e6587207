declare global {
  // In V8 since 11.4, but not in the types of ECMAScript 2023. Node 20 and some browsers lack it.
  interface JSON {
    isRawJSON?(value: unknown): boolean
  }
}

/** A parsed JSON object, not an array or null. Its members are unchecked. */
export type JsonObject = Record<string, unknown>

/** Narrows a parsed JSON value to an object, not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}

/** True for a number that `parseExactJson` has kept as it came. */
export function isExactNumber(value: unknown): boolean {
  return JSON.isRawJSON?.(value) === true
}

/** Parses text that must be a JSON object; `undefined` for anything else. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) ? value : undefined
}

/** Parses JSON text; `undefined` for anything else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
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
