import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { type Bench, start, startScript } from '../bench.ts'
import { contender, contest, floor, ours } from '../contest.ts'
import { startDrawbridge, unlimited } from '../drawbridge.ts'
import { atLeast, atMost, compared, type Figure, reported } from '../figure.ts'
import { type Answer, repeating, runLoad } from '../load.ts'
import { median } from '../rounds.ts'
import { listRequest, mcpRequest } from '../requests.ts'

const pauseMs = 100
/** Shares of the requests that the floor answers on this machine: the flood, and the clients at work beside it. */
const floodShare = 1 / 5
const clientShare = 1 / 50
const floodAddress = '127.0.0.2'

/** Requests and answers of a flood, as counted by the process that made it. */
interface FloodReport {
  seconds: number
  answers: Readonly<Record<string, number>>
}

/**
 * Measures active clients, before and during a flood of all kinds of bad requests from another address, both scaled to
 * the machine; and the cost of a request that is shed unread, beside one that the floor answers.
 */
export async function measureFlood(bench: Bench): Promise<Figure[]> {
  const { plan } = bench
  const running = await startDrawbridge(bench, 'flood', { settings: unlimited })
  const { site, connected } = running
  const raw = await startScript(bench, 'floor-server.ts')
  const rawUrl = `http://localhost:${raw.port}/mcp`
  const floorRequest = listRequest(rawUrl, raw.ready as { accessToken: string })
  const atFloor = { ...contender(bench, floor, raw, floorRequest), from: floodAddress }
  await runLoad(atFloor, plan.roundMs)
  const { completed, seconds } = await runLoad(atFloor, plan.roundMs)
  const floorPerSecond = completed / seconds
  const clients = Math.max(10, Math.round((floorPerSecond * clientShare * pauseMs) / 1000))
  const atWork = {
    ports: [site.port],
    walkers: repeating(clients, listRequest(site.mcpUrl, connected)),
    pauseMs,
  }
  const floodMs = bench.isQuick ? 3000 : 20_000
  await runLoad(atWork, plan.roundMs * 3)
  const calm = await runLoad(atWork, floodMs / 3)
  const floodPerSecond = Math.round(floorPerSecond * floodShare)
  const flood = await start(bench, {
    name: 'flood',
    script: fileURLToPath(new URL('../programs/flood-source.ts', import.meta.url)),
    argv: [String(site.port), floodAddress, String(floodPerSecond)],
    directory: bench.scratch,
    logFile: join(bench.scratch, 'flood.log'),
  })
  await runLoad(atWork, plan.roundMs * 3)
  const beside = await runLoad(atWork, floodMs)
  await bench.endings.pop()?.()
  const report = JSON.parse(flood.output().trim().split('\n').at(-1) ?? '') as FloodReport
  const answered = Object.values(report.answers).reduce((sum, count) => sum + count, 0)
  const [calmP50, besideP50] = [median(calm.latencies), median(beside.latencies)]
  const bad = mcpRequest(site.mcpUrl, { method: 'ping' }, { Authorization: 'Bearer mcpa_none' })
  const isRefused = ({ status }: Answer): boolean => status === 429 || status === 401
  const shed = { ...contender(bench, ours, running, bad, isRefused), from: floodAddress }
  const { cpu } = await contest(plan, [shed, atFloor])
  return [
    atMost(2, 'p50 of good clients, times before the flood', besideP50 / calmP50, 'x'),
    atMost(0, 'wrong answers to good clients', beside.wrong.length),
    ...compared(cpu, 'CPU of a request that is shed', 'us', { ours, peer: floor, bar: 1.2 }),
    // Below this there was no flood, and the other figures mean nothing.
    atLeast(0.9 * floodPerSecond, 'bad requests', answered / report.seconds, '/s'),
    reported('p50 of good clients before the flood', calmP50, 'ms'),
    reported('p50 of good clients beside it', besideP50, 'ms'),
    reported('good clients', clients),
  ]
}
