import { type Load, runLoad } from './load.ts'
import { median, Rounds } from './rounds.ts'

/** The name of Drawbridge in figures. */
export const ours = 'Drawbridge'
/** The same bytes from node:http alone, without any rule: the lower bound for any server. */
export const floor = 'node:http floor'

/** One server and its load. */
export interface Contender extends Load {
  name: string
  child: { cpuMs(): number }
}

/** What all contenders did, round by round. */
export interface Results {
  /** Processor time of the server per request, in microseconds. */
  cpu: Rounds
  /** Requests per second. */
  rate: Rounds
  /** Milliseconds from a request to its answer. */
  p50: Rounds
}

/** Number and length of the rounds. */
export interface Plan {
  rounds: number
  roundMs: number
  warmUpMs: number
}

/**
 * Loads the contenders in turn, round by round, so that other activity on the machine affects all alike. Throws at a
 * wrong answer: earlier measurements prove nothing then.
 */
export async function contest(plan: Plan, contenders: readonly Contender[]): Promise<Results> {
  const run = async (contender: Contender, milliseconds: number) => {
    const cpuBefore = contender.child.cpuMs()
    const result = await runLoad(contender, milliseconds)
    const [wrong] = result.wrong
    if (wrong !== undefined) {
      throw new Error(`${contender.name} answered ${JSON.stringify(wrong).slice(0, 1000)}`)
    }
    return { ...result, cpuMs: contender.child.cpuMs() - cpuBefore }
  }
  for (const contender of contenders) await run(contender, plan.warmUpMs)
  const results = { cpu: new Rounds(), rate: new Rounds(), p50: new Rounds() }
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const contender of contenders) {
      const { completed, seconds, latencies, cpuMs } = await run(contender, plan.roundMs)
      results.cpu.add(contender.name, (cpuMs * 1000) / completed)
      results.rate.add(contender.name, completed / seconds)
      results.p50.add(contender.name, median(latencies))
    }
  }
  return results
}
