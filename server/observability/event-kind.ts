import type { EventMeaning } from '../core/attempts/attempt.ts'

/** Defines how one kind of event is logged, and what its listeners read from it. */
export interface LogEvent extends EventMeaning {
  /** Per-request events are `debug`, so that the hot path writes nothing by default. */
  level: 'debug' | 'info' | 'warn' | 'error'
  /** Part of the audit trail: its lines carry `"audit": true` and, where known, the client's address. */
  audit: boolean
  /** In addition to `time`, `level`, `event` and `request_id`. `err` is an error with its message, code, stack and cause. */
  fields: readonly string[]
  meaning: string
  /** Logged as `next_step`, where the next step is always the same. */
  nextStep?: string
  /** The field used as the metric's `detail` label: one of a closed set of words. */
  detail?: string
}

/** Deviations from the defaults of an event. */
type Options = Partial<Pick<LogEvent, 'fields' | 'detail' | 'level' | 'nextStep' | 'shows' | 'refusal'>>

/** Defines an event of the audit trail; `info` by default. */
export const audit = (meaning: string, options: Options = {}): LogEvent => ({
  level: 'info',
  fields: [],
  ...options,
  audit: true,
  meaning,
})

/** Defines any other event. */
export const event = (level: LogEvent['level'], meaning: string, options: Options = {}): LogEvent => ({
  fields: [],
  ...options,
  level,
  audit: false,
  meaning,
})
