import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { compared, type Figure, listed } from '../figure.ts'
import { inTurn, Rounds } from '../rounds.ts'
import { type Bridge, type Bridges, openBridges, openSignedIn } from './bridges.ts'
import { openConnection } from './line-client.ts'

const idleMs = 2000

/** Measures the time from spawning a bridge to the answer of `tools/list`, with and without sign-in. */
export async function measureBridgeStart(bench: Bench): Promise<Figure[]> {
  return [
    ...(await measure(bench, await openBridges(bench), 0.35)),
    ...(await measure(bench, await openSignedIn(bench, 'file'), 0.35)),
  ]
}

/** Measures the same with the key of the login in the system's keychain. */
export async function measureKeychainStart(bench: Bench): Promise<Figure[]> {
  return measure(bench, await openSignedIn(bench, 'keychain'), 0.4)
}

async function measure(bench: Bench, { ours, reference }: Bridges, bar: number): Promise<Figure[]> {
  const { wall, cpu } = await inTurn(bench.isQuick ? 1 : 9, [ours, reference], async ({ start }) => {
    const begin = performance.now()
    const client = start()
    await openConnection(client)
    const taken = { wall: performance.now() - begin, cpu: client.cpuMs() }
    await client.close()
    return taken
  })
  return [
    ...compared(wall, 'spawn to tools/list', 'ms', { ours: ours.name, peer: reference.name, bar }),
    ...listed(cpu, 'CPU to tools/list', 'ms', [ours.name, reference.name]),
  ]
}

/** Measures the resident memory of idle bridges, two seconds after they have listed the tools. */
export async function measureBridgeMemory(bench: Bench): Promise<Figure[]> {
  const pairs = [await openBridges(bench), await openSignedIn(bench, 'file')]
  const memory = new Rounds()
  for (let round = 0; round < (bench.isQuick ? 1 : 3); round += 1) {
    const bridges = pairs.flatMap(({ ours, reference }) => [ours, reference])
    await Promise.all(bridges.map(async (bridge) => memory.add(bridge.name, await idleMegabytes(bridge))))
  }
  return pairs.flatMap(({ ours, reference }) =>
    compared(memory, 'memory, idle', 'MB', { ours: ours.name, peer: reference.name, bar: 0.78 }),
  )
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
