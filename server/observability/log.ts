import { type DestinationStream, pino } from 'pino'
import { logEvents } from './log-event.ts'
import { redactLine } from './log-redaction.ts'
import type { Metrics } from './metrics.ts'
import type { LogLevel } from '../config/setting.ts'

/** Logs `event`. Fields never hold a token, code, cookie or password. */
export type Report = (event: string, fields?: Record<string, unknown>) => void

/** Where events go: log lines, metrics if they are collected, and the audit file if there is one. */
export interface Log {
  metrics: Metrics | undefined
  /** Writes one line to the log, the audit file, or both. */
  write(to: { log: boolean; audit: boolean }, level: Level, fields: object, event: string): void
  isLogged(level: Level): boolean
  hasAudit: boolean
}

type Level = 'debug' | 'info' | 'warn' | 'error'

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
  // Made into text once, whoever gets it: that takes most of the time of a line.
  let line = ''
  const lines = pino(
    { level: 'trace', base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' },
    { write: (text: string) => void (line = redactLine(text)) },
  )
  const least = level === 'silent' ? Infinity : pino.levels.values[level]
  return {
    metrics,
    hasAudit: audit !== undefined,
    isLogged: (given) => (pino.levels.values[given] ?? 0) >= (least ?? 0),
    write(to, given, fields, event) {
      lines[given](fields, event)
      if (to.log) destination.write(line)
      if (to.audit) audit?.write(line)
    },
  }
}

/**
 * A {@link Report} into `log`, each line carrying `bindings` as they are at that moment. Level and audit mark are those of
 * {@link logEvents}.
 */
export function reportTo(log: Log, bindings: LogBindings = {}): Report {
  return (event, fields = {}) => {
    log.metrics?.event(event, fields)
    const { level, audit } = logEvents[event] ?? unknownEvent
    const to = { log: log.isLogged(level), audit: audit && log.hasAudit }
    if (!to.log && !to.audit) return
    const { error, ...rest } = fields
    const { address, ...common } = bindings
    const line = {
      ...(audit && { audit, address }),
      ...common,
      ...rest,
      ...(error !== undefined && { err: error }),
    }
    log.write(to, level, line, event)
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
