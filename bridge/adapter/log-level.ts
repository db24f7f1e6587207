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

/** How severe a level is, 0 for `debug`; undefined for what is no level. */
export function logSeverity(level: unknown): number | undefined {
  const severity = levels.indexOf(level)
  return severity < 0 ? undefined : severity
}
