import { assert, asyncProperty, integer, noShrink } from 'fast-check'
import { it as test } from 'vitest'
import { type Chance, createChance } from './chance.ts'

/** Number of cases per parser; releases are tested with ten times as many. */
const parserRuns = Number(process.env['FUZZ_CASES'] ?? 10_000)

// A hundred times what the slowest parser needs for its longest case: only backtracking takes more.
const maxCpuMs = 1000

/** A test of many cases, which may take minutes. */
export function it(title: string, work: () => Promise<void>): void {
  test(title, work, 300_000)
}

/** A fuzz test: `make` creates a case, `work` throws when it is handled incorrectly. */
export interface Fuzzing<Case> {
  make: (chance: Chance) => Case
  work: (given: Case) => Promise<void> | void
  runs?: number
}

/**
 * Runs the cases. Fails when one is handled incorrectly, or takes a second of processor time twice, and reports it.
 */
export async function fuzz<Case>({ make, work, runs = parserRuns }: Fuzzing<Case>): Promise<void> {
  // A case is one number: generating it from many would take longer than testing it.
  const cases = noShrink(integer().map((number) => make(createChance(number))))
  const attempt = async (given: Case): Promise<void> => {
    const cpuMs = await cpuMsOf(given, work)
    // The first time may have been a garbage collection.
    if (cpuMs > maxCpuMs && (await cpuMsOf(given, work)) > maxCpuMs) {
      throw new Error(`This case takes ${Math.round(cpuMs)} ms.`)
    }
  }
  await assert(asyncProperty(cases, attempt), { numRuns: runs })
}

async function cpuMsOf<Case>(given: Case, work: Fuzzing<Case>['work']): Promise<number> {
  const before = process.cpuUsage()
  await work(given)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
