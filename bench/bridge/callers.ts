import type { Plan } from '../contest.ts'
import type { BarredFigure } from '../figure.ts'
import type { Attempts } from './attempts.ts'
import { type Caller, closeCallers, openCaller } from './caller.ts'
import type { NodeVersion } from './node-version.ts'
import type { Subject } from './subject.ts'

/** Makes calls that are not measured: 300 by each caller in a whole run. */
export async function warmUp(
  callers: readonly Caller[],
  { plan, attempt }: { plan: Plan; attempt: Attempts['attempt'] },
): Promise<void> {
  for (const { name, echo } of callers) {
    await attempt(name, async () => {
      for (let call = 0; call < plan.rounds * 60; call += 1) await echo()
    })
  }
}

/** Runs `measure` with new bridges of `subjects`, without those that fail to start. */
export async function withCallers(
  node: NodeVersion,
  attempt: Attempts['attempt'],
  subjects: readonly Subject[],
  measure: (bridges: readonly Caller[]) => Promise<BarredFigure[]>,
): Promise<BarredFigure[]> {
  const bridges: Caller[] = []
  try {
    for (const subject of subjects) {
      await attempt(subject.name, async () => void bridges.push(await openCaller(subject, node.path)))
    }
    return await measure(bridges)
  } finally {
    await closeCallers(bridges)
  }
}
