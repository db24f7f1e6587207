import { isJsonObject } from '../../json-object.ts'
import type { JsonObject } from '../../json-object.ts'

/** The `_meta` of parameters or of a result; empty if there is none. */
export function metaOf(holder: JsonObject | undefined): JsonObject {
  const meta = holder?.['_meta']
  return isJsonObject(meta) ? meta : {}
}

/** A copy whose `_meta` lacks these keys, and is gone when nothing is left in it. */
export function withoutMeta(holder: JsonObject, keys: readonly string[]): JsonObject {
  const { _meta: _, ...rest } = holder
  const kept = Object.entries(metaOf(holder)).filter(([key]) => !keys.includes(key))
  return kept.length > 0 ? { ...rest, _meta: Object.fromEntries(kept) } : rest
}

/** RFC 5424 severities as MCP names them, the chattiest first. */
const levels: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** How severe a level is, 0 for `debug`; undefined for an unknown level. */
export function logSeverity(level: unknown): number | undefined {
  const severity = levels.indexOf(level)
  return severity < 0 ? undefined : severity
}

/** JSON text with sorted members: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
