import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, besideFigures, ours } from './bench.ts'
import type { Child } from './child.ts'
import { createSite, startDrawbridge } from './drawbridge.ts'
import { atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { floor, rivals, sdkRouter, startRival } from './rival.ts'
import { createRounds, type Rounds } from './rounds.ts'

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
    { name: ours, path: metadataPath, start: () => startDrawbridge(site), portOf: () => site.port },
    ...rivals.map((rival) => ({
      name: rival.name,
      path: rival.metadataPath ?? '/',
      start: async () => (await startRival(rival, { ...bench, connections: 1 })).child,
      portOf: ({ ready }: Child) => Number(ready['port']),
    })),
  ]
  const [starts, memory] = [createRounds(), createRounds()]
  for (let round = 0; round < bench.startRounds; round += 1) {
    for (const { name, path, start, portOf } of systems) {
      const { ms, megabytes } = await timeStart(start, portOf, path)
      starts.add(name, ms)
      memory.add(name, megabytes)
    }
    starts.next()
    memory.next()
  }
  const area = 'start'
  const peers = rivals.map(({ name }) => name)
  const lineOf = (path: string, unit: string, rounds: Rounds) => ({
    path,
    ours: quantity(rounds.of(ours).value, unit),
    floor: quantity(rounds.of(floor).value, unit),
    peer: `${quantity(rounds.of(sdkRouter).value, unit)} ${sdkRouter}`,
  })
  return [
    atMost(0.75, {
      area,
      name: `spawn to first answer, times ${sdkRouter}`,
      ...starts.ratio(ours, sdkRouter),
      unit: 'x',
      line: lineOf('start', 'ms', starts),
    }),
    ...besideFigures(starts, { area, title: 'spawn to first answer', unit: 'ms', peers }),
    reported({ area, name: 'spawn to first answer, empty data folder', value: first.ms, unit: 'ms' }),
    atMost(100, {
      area,
      name: 'memory, idle, after the first answer',
      ...memory.of(ours),
      unit: 'MB',
      line: lineOf('idle memory', 'MB', memory),
    }),
    ...besideFigures(memory, { area, title: 'memory, idle', unit: 'MB', peers }),
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
