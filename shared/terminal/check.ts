import type { Finding } from './finding.ts'

/** The result of one check, without its name. */
export type Outcome = Omit<Finding, 'name'>

/** Outcomes of a check; none if it does not apply. */
export type Said = Outcome | undefined | readonly (Outcome | undefined)[]

/**
 * The checks of a doctor, in the order in which they run: a name, stable for scripts, and a function that judges `Facts`. Each failure
 * has a next step.
 */
export type Checks<Facts> = Readonly<Record<string, (facts: Facts) => Said>>

/** Runs every row. */
export function findingsOf<Facts>(checks: Checks<Facts>, facts: Facts): Finding[] {
  return Object.entries(checks).flatMap(([name, check]) =>
    [check(facts)].flat().flatMap((outcome) => (outcome === undefined ? [] : [{ name, ...outcome }])),
  )
}

/** Creates the outcome of a passed check. */
export function ok(message: string): Outcome {
  return { state: 'ok', message }
}

/** Creates an outcome for the user to check, because no request can. Not a warning: warnings can be resolved. */
export function note(message: string, fix: string): Outcome {
  return { state: 'note', message, fix }
}

/** Creates an outcome about something that works, or may work, and needs attention. */
export function warn(message: string, fix?: string): Outcome {
  return { state: 'warn', message, ...(fix !== undefined && { fix }) }
}

/** Creates the outcome of a failed check, always with a next step. */
export function fail(message: string, fix: string, exit?: number): Outcome {
  return { state: 'fail', message, fix, ...(exit !== undefined && { exit }) }
}
