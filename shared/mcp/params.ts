import { isJsonObject, type JsonObject } from '../json-object.ts'

/** The `params` of a message; undefined if there are none. */
export function paramsOf(message: unknown): JsonObject | undefined {
  const params = isJsonObject(message) ? message['params'] : undefined
  return isJsonObject(params) ? params : undefined
}

/** The `_meta` of parameters or of a result; empty if there is none. */
export function metaOf(holder: JsonObject | undefined): JsonObject {
  const meta = holder?.['_meta']
  return isJsonObject(meta) ? meta : {}
}

/** Log levels (RFC 5424 severities as MCP names them), least severe first. */
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

/** The severity of a log level, 0 for `debug`; undefined for an unknown level. */
export function logSeverity(level: unknown): number | undefined {
  const severity = levels.indexOf(level)
  return severity < 0 ? undefined : severity
}
