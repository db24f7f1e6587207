import { assert, asyncProperty, integer, noShrink } from 'fast-check'
import { type Chance, createChance } from './chance.ts'

/** How many cases each parser is given. */
const parserRuns = 100_000

/** Another one each time; FUZZ_SEED replays a run that failed. */
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

// A hundred times of what the slowest parser takes for its longest case: only what backtracks takes more.
const maxCpuMs = 1000

/** What is tried: `make` makes a case, `work` throws when it is handled wrongly. */
export interface Fuzzing<Case> {
  name: string
  make: (chance: Chance) => Case
  work: (given: Case) => Promise<void> | void
  runs?: number
}

/**
 * Tries so many cases. Fails when one is handled wrongly, or takes a second of processor time twice, and says which. The
 * seed is printed: `FUZZ_SEED=... npx vitest run tests/fuzz` is the same run again.
 */
export async function fuzz<Case>({ name, make, work, runs = parserRuns }: Fuzzing<Case>): Promise<void> {
  process.stdout.write(`fuzz ${name}: ${runs} cases, FUZZ_SEED=${seed}\n`)
  // A case is one number: making it of many would take longer than trying it.
  const cases = noShrink(integer().map((number) => make(createChance(number))))
  const attempt = async (given: Case): Promise<void> => {
    const cpuMs = await cpuMsOf(given, work)
    // Once may have been a collection of garbage.
    if (cpuMs > maxCpuMs && (await cpuMsOf(given, work)) > maxCpuMs) {
      throw new Error(`This case takes ${Math.round(cpuMs)} ms.`)
    }
  }
  await assert(asyncProperty(cases, attempt), { seed, numRuns: runs })
}

async function cpuMsOf<Case>(given: Case, work: Fuzzing<Case>['work']): Promise<number> {
  const before = process.cpuUsage()
  await work(given)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
