import { type DestinationStream, pino } from 'pino'
import { logEvents } from './log-event.ts'
import { redactLine } from './log-redaction.ts'
import type { Metrics } from './metrics.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

/** How much is logged; `silent` logs nothing. */
export type LogLevel = 'silent' | 'error' | 'info' | 'debug'

/** Logs `event`. Fields never hold a token, code, cookie or password. */
export type Report = (event: string, fields?: Record<string, unknown>) => void

/** Writes events: log lines, metrics if they are collected, and the audit file if there is one. */
export interface Log {
  metrics: Metrics | undefined
  telemetry: Telemetry | undefined
  /** Writes one line to the log, the audit file, or both. */
  write(to: { log: boolean; audit: boolean }, level: Level, fields: object, event: string): void
  isLogged(level: Level): boolean
  hasAudit: boolean
}

type Level = 'debug' | 'info' | 'warn' | 'error'

/** Fields common to all lines of one request. */
export interface LogBindings {
  request_id?: string
  /** From the request's W3C trace context. */
  trace_id?: string | undefined
  /** The client's address; on audit lines only. */
  address?: string | undefined
}

/**
 * Creates the structured log: JSON lines with `time`, `event` and the event's own fields. Redacts anything that looks like a secret
 * from each line. `audit` gets the events of the audit trail, whatever the level.
 */
export function createLog(
  level: LogLevel,
  destination: DestinationStream,
  {
    metrics,
    telemetry,
    audit,
  }: {
    metrics?: Metrics | undefined
    telemetry?: Telemetry | undefined
    audit?: DestinationStream | undefined
  } = {},
): Log {
  // Serialized once for all destinations: that takes most of the time of a line.
  let line = ''
  const lines = pino(
    {
      level: 'trace',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'event',
      serializers: { err: errorFields },
    },
    { write: (text: string) => void (line = redactLine(text)) },
  )
  const minLevel = level === 'silent' ? Infinity : pino.levels.values[level]
  return {
    metrics,
    telemetry,
    hasAudit: audit !== undefined,
    isLogged: (given) => (pino.levels.values[given] ?? 0) >= (minLevel ?? 0),
    write(to, given, fields, event) {
      lines[given](fields, event)
      if (to.log) destination.write(line)
      if (to.audit) audit?.write(line)
    },
  }
}

/**
 * Returns an error's safe fields only: errors of libraries contain what they could not read, as undici's parser does with a
 * server's response.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? {} : error
  const { type, stack } = pino.stdSerializers.err(error)
  return { type, message: messageOf(error), ...('code' in error && { code: error.code }), stack }
}

/** Returns the error's message, and the messages of its causes that it does not repeat. */
function messageOf({ message, cause }: Error): string {
  const reason = cause instanceof Error ? messageOf(cause) : ''
  return message.includes(reason) ? message : `${message}: ${reason}`
}

/** Creates a {@link Report} into `log`; each line has the `bindings` of that moment. {@link logEvents} defines level and audit mark. */
export function reportTo(log: Log, bindings: LogBindings = {}): Report {
  return (event, fields = {}) => {
    log.metrics?.event(event, fields)
    const { level, audit, nextStep } = logEvents[event] ?? unknownEvent
    const to = { log: log.isLogged(level), audit: audit && log.hasAudit }
    if (!to.log && !to.audit) return
    const { error, ...rest } = fields
    const { address, ...common } = bindings
    const line = {
      ...(audit && { audit, address }),
      ...common,
      ...(nextStep !== undefined && { next_step: nextStep }),
      ...rest,
      ...(error !== undefined && { err: error }),
    }
    log.write(to, level, line, event)
  }
}

/**
 * Wraps `report` for a request to `url`, so that a refusal at the token endpoint becomes its own event, which belongs to the audit
 * trail. `tokenPaths` include the path of the base URL.
 */
export function nameTokenRefusals(report: Report, url: string, tokenPaths: readonly string[]): Report {
  return (event, fields) => {
    const isTokenRefusal = event === 'request_refused' && tokenPaths.includes(new URL(url).pathname)
    report(isTokenRefusal ? 'token_refused' : event, fields)
  }
}

const unknownEvent = { level: 'info', audit: false, nextStep: undefined } as const
