import type { Child } from './child.ts'
import type { Load } from './load.ts'
import { createRounds, quantile, type Rounds } from './rounds.ts'

/** One server and its load. */
export interface Contender {
  name: string
  child: Pick<Child, 'cpuMs'>
  load: Load
}

/** What all contenders did, round by round. */
export interface Results {
  /** Processor time of the server per request, in microseconds. */
  cpu: Rounds
  /** Requests per second. */
  rate: Rounds
  /** Milliseconds from a request to its answer. */
  p50: Rounds
  p99: Rounds
  /** Wrong answers and broken connections of all contenders, which end their connection's part in a round. */
  errors: number
}

/** Number and length of the rounds. */
export interface Plan {
  rounds: number
  roundMs: number
  warmUpMs: number
}

/**
 * Loads the contenders in turn, round by round, so that other activity on the machine affects all alike. Throws when
 * one of them gives no correct answer in a round.
 */
export async function compete(contenders: readonly Contender[], plan: Plan): Promise<Results> {
  const results = {
    cpu: createRounds(),
    rate: createRounds(),
    p50: createRounds(),
    p99: createRounds(),
    errors: 0,
  }
  const run = async ({ name, child, load }: Contender, milliseconds: number) => {
    const cpuBefore = child.cpuMs()
    const result = await load.run(milliseconds)
    const { completed, errors, wrong } = result
    if (completed === 0) throw new Error(`${name} gave no right answer, but ${wrong?.status} ${wrong?.body}`)
    results.errors += errors
    return { ...result, cpuMicroseconds: ((child.cpuMs() - cpuBefore) * 1000) / completed }
  }
  for (const contender of contenders) await run(contender, plan.warmUpMs)
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const contender of contenders) {
      const { completed, seconds, latencies, cpuMicroseconds } = await run(contender, plan.roundMs)
      results.cpu.add(contender.name, cpuMicroseconds)
      results.rate.add(contender.name, completed / seconds)
      results.p50.add(contender.name, quantile(latencies, 0.5))
      results.p99.add(contender.name, quantile(latencies, 0.99))
    }
    for (const rounds of [results.cpu, results.rate, results.p50, results.p99]) rounds.next()
  }
  return results
}
