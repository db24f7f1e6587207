import { type DestinationStream, type Logger, pino } from 'pino'
import { logEvents } from './log-event.ts'
import { redactLine } from './log-redaction.ts'
import type { Metrics } from './metrics.ts'
import type { LogLevel } from '../config/setting.ts'

/** Logs `event`. Fields never hold a token, code, cookie or password. */
export type Report = (event: string, fields?: Record<string, unknown>) => void

/** Where events go: log lines, and metrics if they are collected. */
export interface Log {
  lines: Logger
  metrics: Metrics | undefined
}

/** What all lines of one request have in common. */
export interface LogBindings {
  request_id?: string
  /** Of the client; on audit lines only. */
  address?: string | undefined
}

/**
 * The structured log: JSON lines with `time`, `event` and the event's own fields. Anything that looks like a secret is
 * redacted from each line.
 */
export function createLog(level: LogLevel, destination: DestinationStream, metrics?: Metrics): Log {
  const lines = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' },
    { write: (line: string) => destination.write(redactLine(line)) },
  )
  return { lines, metrics }
}

/** A {@link Report} into `log`, each line carrying `bindings`. Level and audit mark are those of {@link logEvents}. */
export function reportTo({ lines, metrics }: Log, { address, ...bindings }: LogBindings = {}): Report {
  return (event, fields = {}) => {
    metrics?.event(event, fields)
    const { level, audit } = logEvents[event] ?? unknownEvent
    if (!lines.isLevelEnabled(level)) return
    const { error, ...rest } = fields
    lines[level](
      {
        ...(audit && { audit, address }),
        ...bindings,
        ...rest,
        ...(error !== undefined && { err: error }),
      },
      event,
    )
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
