import { spawn } from 'node:child_process'
import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure, quantity, reported } from '../figure.ts'
import { type NodeVersion, pinnedNode } from './node-version.ts'
import { roundFigures } from './round-figures.ts'
import { createRounds, type Rounds } from '../rounds.ts'
import { inScene, type Scene } from './scene.ts'
import { timeStart } from './start-time.ts'
import { floor, ours, reference, signedIn } from './subject.ts'

const area = 'bridge start'
const bare = 'bare'

interface Measured {
  node: NodeVersion
  /** Milliseconds from spawning to the tool list. */
  wall: Rounds
  /** Milliseconds of processor time until then. */
  cpu: Rounds
}

/**
 * Measures the time from spawning a bridge to the answer of `tools/list`, with and without sign-in, next to a Node
 * that does nothing.
 */
export function measureBridgeStart(bench: Bench): Promise<BarredFigure[]> {
  return inScene(bench, { area, keys: ['keychain', 'file'] }, async (scene) => {
    const nodes = [pinnedNode]
    const startAll = async (measured: readonly Measured[]): Promise<void> => {
      for (const each of measured) await startRound(each, scene)
    }
    const empty = (): Measured[] => nodes.map((node) => ({ node, wall: createRounds(), cpu: createRounds() }))
    // The first round fills the caches of files and compiled code.
    await startAll(empty())
    const measured = empty()
    for (let round = 0; round < bench.startRounds * 2 - 1; round += 1) await startAll(measured)
    return measured.flatMap((each) => figuresOf(each, scene))
  })
}

async function startRound({ node, wall, cpu }: Measured, scene: Scene): Promise<void> {
  wall.add(bare, await timeBare(node.path))
  for (const subject of [...scene.open, ...scene.guarded]) {
    await scene.attempt(subject.name, async () => {
      const { wallMs, cpuMs } = await timeStart(subject, node.path)
      wall.add(subject.name, wallMs)
      cpu.add(subject.name, cpuMs)
    })
  }
  wall.next()
  cpu.next()
}

async function timeBare(node: string): Promise<number> {
  const begin = performance.now()
  const child = spawn(node, ['-e', '0'], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('close', resolve))
  return performance.now() - begin
}

function figuresOf({ node, wall, cpu }: Measured, { open, guarded }: Scene): BarredFigure[] {
  const on = node.name
  const title = 'spawn to tools/list'
  const ratio = (bar: number, one: string, other: string): BarredFigure =>
    atMost(bar, {
      area,
      name: `${title}, ${one}, times ${other}, ${on}`,
      ...wall.ratio(one, other),
      unit: 'x',
      line: {
        path: `${area}, ${one}`,
        ours: quantity(wall.of(one).value, 'ms'),
        floor: quantity(wall.of(floor).value, 'ms'),
        peer: `${quantity(wall.of(other).value, 'ms')} ${other}`,
      },
    })
  const aboveOpen = (name: string): BarredFigure =>
    reported({
      area,
      name: `${title}, ${name}, above without sign-in, ${on}`,
      ...wall.difference(name, ours),
      unit: 'ms',
    })
  const tables = (rounds: Rounds, title: string): BarredFigure[] => [
    ...roundFigures(rounds, open, { area, title, unit: 'ms', ours, on }),
    ...roundFigures(rounds, guarded, { area, title, unit: 'ms', ours: signedIn.keychain, on }),
  ]
  return [
    reported({ area, name: `${bare}, ${on}`, ...wall.of(bare), unit: 'ms' }),
    reported({
      area,
      name: `${title}, ${floor}, times ${bare}, ${on}`,
      ...wall.ratio(floor, bare),
      unit: '',
    }),
    reported({ area, name: `${title}, ${ours}, times ${bare}, ${on}`, ...wall.ratio(ours, bare), unit: '' }),
    ratio(0.35, ours, reference),
    aboveOpen(signedIn.keychain),
    aboveOpen(signedIn.file),
    ratio(0.4, signedIn.keychain, signedIn.reference),
    ...tables(wall, title),
    ...tables(cpu, 'CPU to tools/list'),
  ]
}
