import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure } from '../figure.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { measureLatency } from './call-latency.ts'
import { directCaller } from './caller.ts'
import { warmUp, withCallers } from './callers.ts'
import { type NodeVersion, pinnedNode } from './node-version.ts'
import { type BenchRemote, type RemoteKind, startRemote } from './remote.ts'
import { roundFigures } from './round-figures.ts'
import { createRounds } from '../rounds.ts'
import { timeStart } from './start-time.ts'
import { openPrograms, openSubjects, ours, reference, type Subject } from './subject.ts'

const area = 'bridge servers'

/** Common kinds of servers, in addition to the one of the other areas, and their names in figures. */
const kinds: readonly [kind: RemoteKind, name: string][] = [
  ['events', 'answers by events'],
  ['sdk', 'SDK of 2026-07-28'],
]

/** Measures the start, and the latency added to a call, in front of servers that answer differently. */
export async function measureBridgeServers(bench: Bench): Promise<BarredFigure[]> {
  const programs = openPrograms(bench)
  const nodes = [pinnedNode]
  const figures: BarredFigure[] = []
  for (const [kind, kindName] of kinds) {
    const { attempt, failures } = createAttempts(bench.say)
    const remote = await startRemote(bench, kind)
    try {
      const subjects = openSubjects(bench, programs, remote).filter((subject) => subject.kind !== 'floor')
      for (const node of nodes) {
        const on = `${kindName}, ${node.name}`
        // First, since it also fills the caches of files and compiled code that a start uses.
        figures.push(...(await callFigures(bench, node, subjects, { on, attempt, remote })))
        figures.push(...(await startFigures(bench, node, subjects, { on, attempt })))
      }
      figures.push(...failures(`${area}, ${kindName}`))
    } finally {
      await remote.child.stop()
    }
  }
  return figures
}

async function startFigures(
  { startRounds }: Bench,
  node: NodeVersion,
  subjects: readonly Subject[],
  { on, attempt }: { on: string; attempt: Attempts['attempt'] },
): Promise<BarredFigure[]> {
  const wall = createRounds()
  for (let round = 0; round < startRounds; round += 1) {
    for (const subject of subjects) {
      await attempt(subject.name, async () =>
        wall.add(subject.name, (await timeStart(subject, node.path)).wallMs),
      )
    }
    wall.next()
  }
  const title = 'spawn to tools/list'
  return [
    atMost(0.35, {
      area,
      name: `${title}, times ${reference}, ${on}`,
      ...wall.ratio(ours, reference),
      unit: '',
    }),
    ...roundFigures(wall, subjects, { area, title, unit: 'ms', ours, on }),
  ]
}

function callFigures(
  { plan }: Bench,
  node: NodeVersion,
  subjects: readonly Subject[],
  { on, attempt, remote }: { on: string; attempt: Attempts['attempt']; remote: BenchRemote },
): Promise<BarredFigure[]> {
  return withCallers(node, attempt, subjects, async (bridges) => {
    const callers = [directCaller(remote), ...bridges]
    await warmUp(callers, { plan, attempt })
    return measureLatency([{ area, on, callers, ours, reference, attempt }], plan.rounds * 3)
  })
}
