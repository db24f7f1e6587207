import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import type { Child } from './child.ts'
import { median } from './contest.ts'
import { createSite, startDrawbridge } from './drawbridge.ts'
import { atMost, type BarredFigure, reported } from './figure.ts'
import { rivals, startRival } from './rival.ts'

const idleMs = 1000
const metadataPath = '/.well-known/oauth-authorization-server'

/** Measures the time from spawning to the first answer, and idle memory a second later. */
export async function measureStart(bench: Bench): Promise<BarredFigure[]> {
  const site = await createSite(bench.launcher, join(bench.scratch, 'start'))
  const first = await timeStart(
    () => startDrawbridge(site),
    () => site.port,
    metadataPath,
  )
  const systems = [
    { name: 'Drawbridge', path: metadataPath, start: () => startDrawbridge(site), portOf: () => site.port },
    ...rivals.map((rival) => ({
      name: rival.name,
      path: rival.metadataPath ?? '/',
      start: async () => (await startRival(rival, { ...bench, connections: 1 })).child,
      portOf: ({ ready }: Child) => Number(ready['port']),
    })),
  ]
  const measured = new Map<string, Started[]>()
  for (let round = 0; round < bench.startRounds; round += 1) {
    for (const { name, path, start, portOf } of systems) {
      measured.set(name, [...(measured.get(name) ?? []), await timeStart(start, portOf, path)])
    }
  }
  const startOf = (name: string): number => median((measured.get(name) ?? []).map(({ ms }) => ms))
  const memoryOf = (name: string): number =>
    median((measured.get(name) ?? []).map(({ megabytes }) => megabytes))
  const area = 'start'
  const beside = (title: string, unit: string, valueOf: (name: string) => number): BarredFigure[] =>
    rivals.map(({ name: peer }) =>
      reported({
        area,
        name: `${title}, ${peer}`,
        value: valueOf(peer),
        unit,
        peer,
        ratio: valueOf('Drawbridge') / valueOf(peer),
      }),
    )
  return [
    atMost(300, { area, name: 'spawn to first answer', value: startOf('Drawbridge'), unit: 'ms' }),
    reported({ area, name: 'spawn to first answer, empty data folder', value: first.ms, unit: 'ms' }),
    ...beside('spawn to first answer', 'ms', startOf),
    atMost(90, { area, name: 'memory, idle', value: memoryOf('Drawbridge'), unit: 'MB' }),
    ...beside('memory, idle', 'MB', memoryOf),
  ]
}

interface Started {
  ms: number
  megabytes: number
}

async function timeStart(
  start: () => Promise<Child>,
  portOf: (child: Child) => number,
  path: string,
): Promise<Started> {
  const child = await start()
  const asked = performance.now()
  await (await fetch(`http://localhost:${portOf(child)}${path}`)).text()
  const ms = child.startMs + performance.now() - asked
  await sleep(idleMs)
  const megabytes = child.memoryBytes() / 1024 ** 2
  await child.stop()
  return { ms, megabytes }
}
