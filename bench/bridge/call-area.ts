import type { Bench } from '../bench.ts'
import type { BarredFigure } from '../figure.ts'
import { measureLarge } from './call-large.ts'
import { measureLatency } from './call-latency.ts'
import { measureThroughput } from './call-throughput.ts'
import { type Caller, type CallGroup, directCaller } from './caller.ts'
import { warmUp, withCallers } from './callers.ts'
import { type NodeVersion, pinnedNode } from './node-version.ts'
import { inScene, type Scene } from './scene.ts'
import { ours, reference, signedIn, type Subject } from './subject.ts'

const area = 'bridge calls'

/**
 * Measures the latency a bridge adds to a call, its throughput, and the cost of large results: on every Node, with
 * and without OAuth.
 */
export function measureBridgeCalls(bench: Bench): Promise<BarredFigure[]> {
  return inScene(bench, { area, keys: ['file'] }, async (scene) => {
    const nodes = [pinnedNode]
    const figures: BarredFigure[] = []
    for (const node of nodes) figures.push(...(await measureOn(node, bench, scene)))
    return figures
  })
}

async function measureOn(node: NodeVersion, { plan }: Bench, scene: Scene): Promise<BarredFigure[]> {
  const { open, guarded, remotes, attempt } = scene
  const plain = { area, on: node.name, ours, reference, attempt }
  const behindOAuth = {
    ...plain,
    on: `behind OAuth, ${node.name}`,
    ours: signedIn.file,
    reference: signedIn.reference,
  }
  const small = await withCallers(node, attempt, [...open, ...guarded], async (bridges) => {
    const groups: CallGroup[] = [
      { ...plain, callers: [directCaller(remotes.open), ...of(open, bridges)] },
      { ...behindOAuth, callers: [directCaller(remotes.guarded), ...of(guarded, bridges)] },
    ]
    for (const { callers } of groups) await warmUp(callers, { plan, attempt })
    return [
      ...(await measureLatency(groups, plan.rounds * 4)),
      ...(await measureThroughput(groups, plan.rounds * 2 - 1)),
    ]
  })
  const large = await withCallers(node, attempt, open, (bridges) =>
    measureLarge({ ...plain, callers: [directCaller(remotes.open), ...bridges] }, plan.rounds * 3),
  )
  return [...small, ...large]
}

function of(subjects: readonly Subject[], bridges: readonly Caller[]): Caller[] {
  const names = new Set(subjects.map(({ name }) => name))
  return bridges.filter(({ name }) => names.has(name))
}
