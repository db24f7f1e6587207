import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { type AreaFigure, atMost, listed } from '../figure.ts'
import { Rounds } from '../rounds.ts'
import { type Bridge, type Bridges, openBridges, openSignedIn } from './bridges.ts'
import { openConnection } from './line-client.ts'

const idleMs = 2000

/** Measures the time from spawning a bridge to the answer of `tools/list`, with and without sign-in. */
export async function measureBridgeStart(bench: Bench): Promise<AreaFigure[]> {
  return [
    ...(await measure(bench, await openBridges(bench), 0.35)),
    ...(await measure(bench, await openSignedIn(bench, 'file'), 0.35)),
  ]
}

/** Measures the same with the key of the login in the system's keychain. */
export async function measureKeychainStart(bench: Bench): Promise<AreaFigure[]> {
  return measure(bench, await openSignedIn(bench, 'keychain'), 0.4)
}

async function measure(bench: Bench, { ours, reference }: Bridges, bar: number): Promise<AreaFigure[]> {
  const [wall, cpu] = [new Rounds(), new Rounds()]
  // The first round fills the caches of files and compiled code.
  for (let round = -1; round < (bench.isQuick ? 1 : 9); round += 1) {
    for (const { name, start } of [ours, reference]) {
      const begin = performance.now()
      const client = start()
      await openConnection(client)
      if (round >= 0) {
        wall.add(name, performance.now() - begin)
        cpu.add(name, client.cpuMs())
      }
      await client.close()
    }
  }
  const names = [ours.name, reference.name]
  const title = 'spawn to tools/list'
  return [
    atMost(bar, `${title}, ${names.join(', times ')}`, wall.ratio(ours.name, reference.name), 'x'),
    ...listed(wall, title, 'ms', names),
    ...listed(cpu, 'CPU to tools/list', 'ms', names),
  ]
}

/** Measures the resident memory of idle bridges, two seconds after they have listed the tools. */
export async function measureBridgeMemory(bench: Bench): Promise<AreaFigure[]> {
  const open = await openBridges(bench)
  const signedIn = await openSignedIn(bench, 'file')
  const memory = new Rounds()
  for (let round = 0; round < (bench.isQuick ? 1 : 3); round += 1) {
    await Promise.all(
      [open, signedIn].flatMap(({ ours, reference }) =>
        [ours, reference].map(async (bridge) => memory.add(bridge.name, await idleMegabytes(bridge))),
      ),
    )
  }
  const figuresOf = ({ ours: { name }, reference }: Bridges): AreaFigure[] => [
    atMost(0.78, `memory, idle, ${name}, times ${reference.name}`, memory.ratio(name, reference.name), 'x'),
    ...listed(memory, 'memory, idle', 'MB', [name, reference.name]),
  ]
  return [...figuresOf(open), ...figuresOf(signedIn)]
}

async function idleMegabytes({ start }: Bridge): Promise<number> {
  const client = start()
  try {
    await openConnection(client)
    await sleep(idleMs)
    return client.memoryBytes() / 1e6
  } finally {
    await client.close()
  }
}
