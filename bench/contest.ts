import { type Answer, type Load, repeating, runLoad } from './load.ts'
import { inTurn, median } from './rounds.ts'

/** The name of Drawbridge in figures. */
export const ours = 'Drawbridge'
/** The same bytes from node:http alone, without any rule: the lower bound for any server. */
export const floor = 'node:http floor'

/** A process that serves on a port of this machine. */
export interface Served {
  port: number
  cpuMs(): number
}

/** One server and its load. */
export interface Contender extends Load {
  name: string
  cpuMs(): number
}

/** What all contenders did, round by round. */
export type Results = Awaited<ReturnType<typeof contest>>

/** Number and length of the rounds. */
export interface Plan {
  rounds: number
  roundMs: number
}

/** Returns a contender that repeats one request on each of `connections`; `isRight` checks the answers. */
export function contender(
  { connections }: { connections: number },
  name: string,
  { port, cpuMs }: Served,
  request: string,
  isRight?: (answer: Answer) => boolean,
): Contender {
  return { name, cpuMs, ports: [port], walkers: repeating(connections, request, isRight) }
}

/** Loads the contenders in turn. Throws at a wrong answer: earlier measurements prove nothing then. */
export function contest(plan: Plan, contenders: readonly Contender[]) {
  return inTurn(plan.rounds, contenders, async (contender) => {
    const cpuBefore = contender.cpuMs()
    const { completed, seconds, latencies, wrong } = await runLoad(contender, plan.roundMs)
    if (wrong.length > 0)
      throw new Error(`${contender.name} answered ${JSON.stringify(wrong[0]).slice(0, 1000)}`)
    return {
      // Processor time of the server per request, in microseconds.
      cpu: ((contender.cpuMs() - cpuBefore) * 1000) / completed,
      // Requests per second.
      rate: completed / seconds,
      // Milliseconds from a request to its answer.
      p50: median(latencies),
    }
  })
}
