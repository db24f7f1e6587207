import { type BarredFigure, notMeasured } from '../figure.ts'

/** Runs work on several subjects, any of which may fail without ending the run. */
export interface Attempts {
  /** Runs `work` on the named subject, unless an earlier attempt on it failed. Never rejects. */
  attempt(name: string, work: () => Promise<void>): Promise<void>
  /** Returns a figure with the reason for each failed subject. */
  failures(area: string): BarredFigure[]
}

/** Creates an empty list. `say` reports each failure when it happens. */
export function createAttempts(say: (text: string) => void): Attempts {
  const reasons = new Map<string, string>()
  return {
    async attempt(name, work) {
      if (reasons.has(name)) return
      try {
        await work()
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        reasons.set(name, reason)
        say(`${name}: ${reason}`)
      }
    },
    failures: (area) => [...reasons].map(([name, reason]) => notMeasured({ area, name, reason })),
  }
}
