/** What a check came to: fine, worth knowing, or broken. */
export type FindingState = 'ok' | 'warn' | 'fail'

/** One line of `doctor`. Nothing secret is in it. */
export interface Finding {
  /** Stable, for scripts. */
  name: string
  state: FindingState
  message: string
  /** What to do about it. */
  fix?: string
}

/** All is well. */
export function ok(name: string, message: string): Finding {
  return { name, state: 'ok', message }
}

/** It works, or may work, and somebody should know. */
export function warn(name: string, message: string, fix?: string): Finding {
  return { name, state: 'warn', message, ...(fix !== undefined && { fix }) }
}

/** Something does not work; every such finding says what to do. */
export function fail(name: string, message: string, fix: string): Finding {
  return { name, state: 'fail', message, fix }
}
