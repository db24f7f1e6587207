import { isJsonObject } from '@drawbridge/shared/json-object.ts'

/** JSON text that is the same for equal values, whatever the order of their members. Throws `RangeError` on nesting without end. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
