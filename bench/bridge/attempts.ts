import { type BarredFigure, notMeasured } from '../figure.ts'

/** Work about several subjects, any of which may fail without ending the run. */
export interface Attempts {
  /** Does `work`, which is about the subject of that name; nothing at all once that has failed. Never rejects. */
  attempt(name: string, work: () => Promise<void>): Promise<void>
  /** A figure for each that has failed, with the reason. */
  failures(area: string): BarredFigure[]
}

/** None yet. `say` tells of a failure when it happens. */
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
