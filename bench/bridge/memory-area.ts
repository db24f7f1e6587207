import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure, quantity, reported } from '../figure.ts'
import { type LineClient, startLineClient } from './line-client.ts'
import { type Caller, closeCallers, openCaller } from './caller.ts'
import { type NodeVersion, pinnedNode } from './node-version.ts'
import { roundFigures } from './round-figures.ts'
import { createRounds, type Rounds } from '../rounds.ts'
import { inScene, type Scene } from './scene.ts'
import { floor, ours, reference, signedIn } from './subject.ts'

const area = 'bridge memory'
const bare = 'bare'
const idleMs = 2000
const calls = 500

interface Measured {
  node: NodeVersion
  /** Two seconds after the tool list, in MB. */
  idle: Rounds
  /** After five hundred more calls. */
  used: Rounds
}

/** Measures the resident memory of idle bridges, next to a Node that does nothing and one that has used node:http. */
export function measureBridgeMemory(bench: Bench): Promise<BarredFigure[]> {
  return inScene(bench, { area, keys: ['keychain', 'file'] }, async (scene) => {
    const nodes = [pinnedNode]
    const measured = nodes.map((node) => ({ node, idle: createRounds(), used: createRounds() }))
    for (let round = 0; round < Math.min(bench.plan.rounds, 2); round += 1) {
      for (const each of measured) await measureRound(each, scene)
    }
    return measured.flatMap((each) => figuresOf(each, scene))
  })
}

/** Starts them one after the other; measures each after the same idle time, whatever the others do. */
async function measureRound({ node, idle, used }: Measured, scene: Scene): Promise<void> {
  const callers: Caller[] = []
  const weighings: Promise<void>[] = []
  const weighLater = async (name: string, client: LineClient): Promise<void> => {
    await sleep(idleMs)
    idle.add(name, client.memoryBytes() / 1e6)
  }
  const doingNothing = startLineClient([node.path, '-e', 'process.stdin.resume()'], {})
  try {
    weighings.push(weighLater(bare, doingNothing))
    for (const subject of [...scene.open, ...scene.guarded]) {
      await scene.attempt(subject.name, async () => {
        const caller = await openCaller(subject, node.path)
        callers.push(caller)
        if (caller.client !== undefined) weighings.push(weighLater(subject.name, caller.client))
      })
    }
    await Promise.all(weighings)
    for (const { name, echo, client } of callers) {
      await scene.attempt(name, async () => {
        for (let call = 0; call < calls; call += 1) await echo()
        used.add(name, (client?.memoryBytes() ?? Number.NaN) / 1e6)
      })
    }
  } finally {
    await Promise.all([doingNothing.close(), closeCallers(callers)])
  }
  idle.next()
  used.next()
}

function figuresOf({ node, idle, used }: Measured, { open, guarded }: Scene): BarredFigure[] {
  const on = node.name
  const name = `memory, idle, ${on}`
  const { value, ...range } = idle.of(ours)
  const ratio = (bar: number, one: string, other: string): BarredFigure =>
    atMost(bar, {
      area,
      name: `memory, idle, ${one}, times ${other}, ${on}`,
      ...idle.ratio(one, other),
      unit: 'x',
      line: {
        path: `${area}, idle, ${one}`,
        ours: quantity(idle.of(one).value, 'MB'),
        floor: quantity(idle.of(floor).value, 'MB'),
        peer: `${quantity(idle.of(other).value, 'MB')} ${other}`,
      },
    })
  const tables = (rounds: Rounds, title: string): BarredFigure[] => [
    ...roundFigures(rounds, open, { area, title, unit: 'MB', ours, on }),
    ...roundFigures(rounds, guarded, { area, title, unit: 'MB', ours: signedIn.keychain, on }),
  ]
  return [
    reported({ area, name: `memory, ${bare}, ${on}`, ...idle.of(bare), unit: 'MB' }),
    reported({ area, name, value, ...range, unit: 'MB' }),
    // The part that we cannot save: newer Nodes use more memory for node:http than older ones.
    reported({
      area,
      name: `memory, idle, above a ${floor}, ${on}`,
      ...idle.difference(ours, floor),
      unit: 'MB',
    }),
    reported({
      area,
      name: `memory, idle, ${ours}, times ${bare}, ${on}`,
      ...idle.ratio(ours, bare),
      unit: '',
    }),
    ratio(0.78, ours, reference),
    ratio(0.78, signedIn.keychain, signedIn.reference),
    ...tables(idle, 'memory, idle'),
    ...tables(used, `memory after ${calls} calls`),
  ]
}
