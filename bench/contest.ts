import type { Child } from './child.ts'
import type { Load } from './load.ts'

/** One server and its load. */
export interface Contender {
  name: string
  child: Pick<Child, 'cpuMs'>
  load: Load
}

/** Results of all rounds of one contender. */
export interface Summary {
  bestPerSecond: number
  medianPerSecond: number
  /** Processor time of the server per request, in microseconds: the median of the rounds. */
  cpuMicroseconds: number
  /** Processor time of the load generator per request, in microseconds. */
  generatorMicroseconds: number
  p50Milliseconds: number
  p99Milliseconds: number
  errors: number
}

/** Number and length of the rounds. */
export interface Plan {
  rounds: number
  roundMs: number
  warmUpMs: number
}

interface Round {
  perSecond: number
  cpuMicroseconds: number
  generatorMicroseconds: number
  p50: number
  p99: number
}

/**
 * Loads the contenders in turn, round by round, so that other activity on the machine affects all alike. Throws when
 * one of them gives no correct answer in a round.
 */
export async function compete(contenders: readonly Contender[], plan: Plan): Promise<Map<string, Summary>> {
  const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]))
  const errors = new Map<string, number>()
  const run = async ({ name, child, load }: Contender, milliseconds: number): Promise<Round> => {
    const cpuBefore = child.cpuMs()
    const generatorBefore = process.cpuUsage()
    const { completed, errors: failed, seconds, latencies, wrong } = await load.run(milliseconds)
    if (completed === 0) throw new Error(`${name} gave no right answer, but ${wrong?.status} ${wrong?.body}`)
    const { user, system } = process.cpuUsage(generatorBefore)
    errors.set(name, (errors.get(name) ?? 0) + failed)
    return {
      perSecond: completed / seconds,
      cpuMicroseconds: ((child.cpuMs() - cpuBefore) * 1000) / completed,
      generatorMicroseconds: (user + system) / completed,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
    }
  }
  for (const contender of contenders) await run(contender, plan.warmUpMs)
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const contender of contenders) rounds.get(contender.name)?.push(await run(contender, plan.roundMs))
  }
  return new Map(
    [...rounds].map(([name, measured]) => [name, summarize(measured, errors.get(name) ?? 0)] as const),
  )
}

export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5)
}

function summarize(rounds: readonly Round[], errors: number): Summary {
  const medianOf = (pick: (round: Round) => number): number => median(rounds.map(pick))
  return {
    bestPerSecond: Math.max(...rounds.map(({ perSecond }) => perSecond)),
    medianPerSecond: medianOf(({ perSecond }) => perSecond),
    cpuMicroseconds: medianOf(({ cpuMicroseconds }) => cpuMicroseconds),
    generatorMicroseconds: medianOf(({ generatorMicroseconds }) => generatorMicroseconds),
    p50Milliseconds: medianOf(({ p50 }) => p50),
    p99Milliseconds: medianOf(({ p99 }) => p99),
    errors,
  }
}

/** Returns the value that `share` of `ascending` do not exceed. */
export function quantile(ascending: Float64Array, share: number): number {
  const index = Math.min(ascending.length - 1, Math.floor(ascending.length * share))
  return ascending[index] ?? Number.NaN
}
