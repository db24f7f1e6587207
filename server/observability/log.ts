import { type DestinationStream, type Logger, pino } from 'pino'
import { logEvents } from './log-event.ts'
import { redactLine } from './log-redaction.ts'
import type { Metrics } from './metrics.ts'
import type { LogLevel } from '../config/setting.ts'

/** Logs `event`. Fields never hold a token, code, cookie or password. */
export type Report = (event: string, fields?: Record<string, unknown>) => void

/** Where events go: log lines, metrics if they are collected, and the audit file if there is one. */
export interface Log {
  lines: Logger
  metrics: Metrics | undefined
  audit: Logger | undefined
}

/** What all lines of one request have in common. */
export interface LogBindings {
  request_id?: string
  /** Of the W3C trace context that the request came with. */
  trace_id?: string | undefined
  /** Of the client; on audit lines only. */
  address?: string | undefined
}

/**
 * The structured log: JSON lines with `time`, `event` and the event's own fields. Anything that looks like a secret is
 * redacted from each line. `audit` gets the events of the audit trail, whatever the level.
 */
export function createLog(
  level: LogLevel,
  destination: DestinationStream,
  { metrics, audit }: { metrics?: Metrics | undefined; audit?: DestinationStream | undefined } = {},
): Log {
  return {
    lines: createLogger(level, destination),
    metrics,
    audit: audit && createLogger('info', audit),
  }
}

function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' },
    { write: (line: string) => destination.write(redactLine(line)) },
  )
}

/**
 * A {@link Report} into `log`, each line carrying `bindings` as they are at that moment. Level and audit mark are those of
 * {@link logEvents}.
 */
export function reportTo({ lines, metrics, audit }: Log, bindings: LogBindings = {}): Report {
  return (event, fields = {}) => {
    metrics?.event(event, fields)
    const { level, audit: isAudit } = logEvents[event] ?? unknownEvent
    const isLogged = lines.isLevelEnabled(level)
    if (!isLogged && !(isAudit && audit)) return
    const { error, ...rest } = fields
    const { address, ...common } = bindings
    const line = {
      ...(isAudit && { audit: true, address }),
      ...common,
      ...rest,
      ...(error !== undefined && { err: error }),
    }
    if (isLogged) lines[level](line, event)
    if (isAudit) audit?.[level](line, event)
  }
}

/**
 * `report` for a request to `url`, whose refusal at the token endpoint is an event of its own: that belongs to the
 * record of who was let in. `tokenPaths` have the path of the base URL.
 */
export function nameTokenRefusals(report: Report, url: string, tokenPaths: readonly string[]): Report {
  return (event, fields) => {
    const isTokenRefusal = event === 'request_refused' && tokenPaths.includes(new URL(url).pathname)
    report(isTokenRefusal ? 'token_refused' : event, fields)
  }
}

const unknownEvent = { level: 'info', audit: false } as const
