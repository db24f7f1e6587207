import type { Bench } from '../bench.ts'
import type { BarredFigure } from '../figure.ts'
import { measureLarge } from './call-large.ts'
import { measureLatency, measureWarmLatency } from './call-latency.ts'
import { measureThroughput } from './call-throughput.ts'
import { type Caller, type CallGroup, closeCallers, directCaller, openCaller } from './caller.ts'
import { findNodes, missingNodes, type NodeVersion } from './node-version.ts'
import { inScene, type Scene } from './scene.ts'
import { ours, reference, signedIn, type Subject } from './subject.ts'

const area = 'bridge calls'
const warmUpCalls = 300

/** What a bridge adds to a call, how many it carries, and what large results cost: on every Node, with and without OAuth. */
export function measureBridgeCalls(bench: Bench): Promise<BarredFigure[]> {
  return inScene(bench, { area, keys: ['file'] }, async (scene) => {
    const nodes = findNodes(process.env)
    const figures: BarredFigure[] = []
    for (const node of nodes) figures.push(...(await measureOn(node, bench, scene)))
    return [...figures, ...missingNodes(area, nodes)]
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
  const small = await withCallers(node, scene, [...open, ...guarded], async (bridges) => {
    const groups: CallGroup[] = [
      { ...plain, callers: [directCaller(remotes.open), ...of(open, bridges)] },
      { ...behindOAuth, callers: [directCaller(remotes.guarded), ...of(guarded, bridges)] },
    ]
    for (const { name, echo } of groups.flatMap(({ callers }) => callers)) {
      await attempt(name, async () => {
        for (let call = 0; call < warmUpCalls; call += 1) await echo()
      })
    }
    return [
      ...(await measureLatency(groups, plan.rounds * 4)),
      ...(await measureThroughput(groups, plan.rounds * 2 - 1)),
      ...(await measureWarmLatency(groups, plan.rounds * 2)),
    ]
  })
  const large = await withCallers(node, scene, open, (bridges) =>
    measureLarge({ ...plain, callers: [directCaller(remotes.open), ...bridges] }, plan.rounds * 2 - 1),
  )
  return [...small, ...large]
}

/** Does `measure` with new bridges of `subjects`; one that does not start is not among them. */
async function withCallers(
  node: NodeVersion,
  { attempt }: Scene,
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

function of(subjects: readonly Subject[], bridges: readonly Caller[]): Caller[] {
  const names = new Set(subjects.map(({ name }) => name))
  return bridges.filter(({ name }) => names.has(name))
}
