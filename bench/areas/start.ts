import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, startScript } from '../bench.ts'
import { ours } from '../contest.ts'
import { createSite, startSite } from '../drawbridge.ts'
import { atMost, compared, type Figure, listed } from '../figure.ts'
import { inTurn } from '../rounds.ts'
import { sdk } from './read.ts'

const idleMs = 1000

/** Measures the time from spawning to the first answer, and idle memory a second later. */
export async function measureStart(bench: Bench): Promise<Figure[]> {
  const site = await createSite(bench, 'start')
  const systems = [
    { name: ours, start: async () => ({ ...(await startSite(bench, site)), port: site.port }) },
    { name: sdk, start: () => startScript(bench, 'sdk-server.ts') },
  ]
  const { ms, megabytes } = await inTurn(bench.isQuick ? 1 : 5, systems, async ({ start }) => {
    const { port, startMs, memoryBytes } = await start()
    const asked = performance.now()
    await (await fetch(`http://localhost:${port}/.well-known/oauth-authorization-server`)).text()
    const ms = startMs + performance.now() - asked
    await sleep(idleMs)
    const megabytes = memoryBytes() / 1024 ** 2
    await bench.endings.pop()?.()
    return { ms, megabytes }
  })
  return [
    ...compared(ms, 'spawn to first answer', 'ms', { ours, peer: sdk, bar: 0.75 }),
    atMost(100, 'memory, idle', megabytes.of(ours), 'MB'),
    ...listed(megabytes, 'memory, idle', 'MB', [ours, sdk]),
  ]
}
