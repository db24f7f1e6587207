import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, startScript } from '../bench.ts'
import type { ReadyChild } from '../child.ts'
import { ours } from '../contest.ts'
import { createSite, startSite } from '../drawbridge.ts'
import { type AreaFigure, atMost, listed } from '../figure.ts'
import { Rounds } from '../rounds.ts'
import { sdk } from './read.ts'

const idleMs = 1000

/** Measures the time from spawning to the first answer, and idle memory a second later. */
export async function measureStart(bench: Bench): Promise<AreaFigure[]> {
  const site = await createSite(bench, 'start')
  const systems: [string, () => Promise<ReadyChild & { port: number }>][] = [
    [ours, async () => ({ ...(await startSite(bench, site)), port: site.port })],
    [sdk, () => startScript(bench, 'sdk-server.ts')],
  ]
  const [times, memory] = [new Rounds(), new Rounds()]
  // The first round fills the caches of files, and ours fills its data folder.
  for (let round = -1; round < (bench.isQuick ? 1 : 5); round += 1) {
    for (const [name, start] of systems) {
      const { ms, megabytes } = await timeStart(bench, start)
      if (round < 0) continue
      times.add(name, ms)
      memory.add(name, megabytes)
    }
  }
  return [
    atMost(0.75, `spawn to first answer, times ${sdk}`, times.ratio(ours, sdk), 'x'),
    atMost(100, 'memory, idle', memory.of(ours), 'MB'),
    ...listed(times, 'spawn to first answer', 'ms', [ours, sdk]),
    ...listed(memory, 'memory, idle', 'MB', [ours, sdk]),
  ]
}

async function timeStart(
  bench: Bench,
  start: () => Promise<ReadyChild & { port: number }>,
): Promise<{ ms: number; megabytes: number }> {
  const child = await start()
  const asked = performance.now()
  await (await fetch(`http://localhost:${child.port}/.well-known/oauth-authorization-server`)).text()
  const ms = child.startMs + performance.now() - asked
  await sleep(idleMs)
  const megabytes = child.memoryBytes() / 1024 ** 2
  await bench.endings.pop()?.()
  return { ms, megabytes }
}
