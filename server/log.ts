import { type DestinationStream, type Level, type Logger, pino } from 'pino'
import type { LogLevel } from './setting.ts'

/** Notes that `event` happened. Fields never hold a token, code, cookie or password. */
export type Report = (event: string, fields?: Record<string, unknown>) => void

// What is not listed is `info`. Per-request events are `debug`, so that the hot path writes nothing by default.
const levelByEvent: Readonly<Record<string, Level>> = {
  mcp_request: 'debug',
  caller_refused: 'debug',
  request_refused: 'debug',
  request_aborted: 'debug',
  request_failed: 'error',
  mcp_rejected: 'debug',
  tool_failed: 'error',
  grant_ended: 'warn',
  provider_failed: 'error',
  provider_session_ended: 'warn',
  provider_probe_failed: 'warn',
  provider_refresh_failed: 'error',
  provider_refresh_lost: 'error',
  provider_session_unsaved: 'error',
  provider_sessions_lost: 'error',
  grant_of_other_provider: 'error',
  provider_sign_out_failed: 'warn',
  provider_sign_out_abandoned: 'error',
  store_unavailable: 'error',
  upkeep_failed: 'error',
  key_file_unusable: 'error',
  provider_session_unreadable: 'error',
}

/** The structured log: JSON lines with `time`, `event` and the event's own fields. */
export function createLog(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' },
    destination,
  )
}

/** A {@link Report} into `log`, each line carrying `bindings`, for example a request id. */
export function reportTo(log: Logger, bindings: Record<string, unknown> = {}): Report {
  return (event, fields = {}) => {
    const { error, ...rest } = fields
    log[levelByEvent[event] ?? 'info'](
      { ...bindings, ...rest, ...(error !== undefined && { err: error }) },
      event,
    )
  }
}
