import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'

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
