import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Bench, ours, startFilledDrawbridge } from './bench.ts'
import { unlimited } from './call-area.ts'
import type { Child } from './child.ts'
import { type Answer, openConnection } from './connection.ts'
import { compete } from './contest.ts'
import { atLeast, atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { type Load, openLoad } from './load.ts'
import { floor, floorServer, type RunningRival, startRival } from './rival.ts'
import { median } from './rounds.ts'
import { createRepeatingWalker, mcpRequest, toolsListRequest } from './walkers.ts'

const area = 'flood'
const pauseMs = 100
/** Shares of what the floor answers on this machine: the flood, and the clients at work beside it. */
const floodShare = 1 / 5
const clientShare = 1 / 50
const floodConnections = 50
const floodAddress = '127.0.0.2'
const sampleMs = 1000
// V8 delays garbage collection while there is room, so memory grows for minutes. In a small heap it grows only by
// what is kept.
const heapMegabytes = 96
const isOk = ({ status }: Answer): boolean => status === 200

/** Requests and answers of a flood, as counted by the process that made it. */
interface FloodReport {
  sent: number
  skipped: number
  seconds: number
  answers: Readonly<Record<string, number>>
}

/**
 * Measures active clients, before and during a flood of all kinds of bad requests from another address, both scaled to
 * the machine; and what a request costs that is shed unread, beside one that the floor answers.
 */
export async function measureFlood(bench: Bench): Promise<BarredFigure[]> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'flood', 0, {
    settings: unlimited,
    nodeOptions: `--max-old-space-size=${heapMegabytes}`,
  })
  const request = toolsListRequest(new URL(site.baseUrl).host, connected)
  const raw = await startRival(floorServer, bench, { toolsList: '{}' })
  const floorRequest = toolsListRequest(raw.host, raw)
  const floorPerSecond = await answersPerSecond(raw.port, floorRequest, bench)
  const floodPerSecond = Math.round(floorPerSecond * floodShare)
  const clients = Math.max(10, Math.round((floorPerSecond * clientShare * pauseMs) / 1000))
  const work = await startClients(site.port, request, clients)
  await sleep(bench.plan.warmUpMs * 3)
  work.take()
  await sleep((bench.floodSeconds * 1000) / 3)
  const calm = work.take()
  const flood = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('flood-source.ts', import.meta.url)),
      String(site.port),
      floodAddress,
      String(floodPerSecond),
      String(floodConnections),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  await sleep(bench.plan.warmUpMs * 3)
  work.take()
  const { cpu, megabytes } = await watch(child, bench.floodSeconds)
  const beside = work.take()
  const report = await endFlood(flood)
  work.stop()
  const shed = await measureShedding(bench, { child, port: site.port }, raw)
  await child.stop()
  await raw.child.stop()
  const answered = Object.values(report.answers).reduce((sum, count) => sum + count, 0)
  const middle = Math.floor(megabytes.length / 2)
  const growth = median(megabytes.slice(middle)) / median(megabytes.slice(0, middle))
  const [calmP50, besideP50] = [median(calm.latencies), median(beside.latencies)]
  return [
    atMost(2, {
      area,
      name: 'p50 of good clients, times before the flood',
      value: besideP50 / calmP50,
      unit: 'x',
      line: {
        path: 'beside a flood',
        ours: quantity(besideP50, 'ms'),
        floor: `${quantity(calmP50, 'ms')} before`,
      },
    }),
    ...shed,
    atMost(0, { area, name: 'wrong answers to good clients', value: beside.wrong, unit: '' }),
    atMost(1.1, { area, name: 'memory of the second half, times the first', value: growth, unit: 'x' }),
    // Below this there was no flood, and the other figures mean nothing.
    atLeast(0.9 * floodPerSecond, {
      area,
      name: 'bad requests',
      value: answered / report.seconds,
      unit: '/s',
    }),
    reported({
      area,
      name: 'bad requests that were looked at',
      value: (answered - (report.answers['429'] ?? 0)) / report.seconds,
      unit: '/s',
    }),
    reported({ area, name: 'good clients', value: clients, unit: '' }),
    reported({ area, name: 'requests that the floor answers', value: floorPerSecond, unit: '/s' }),
    reported({ area, name: 'processors in use', value: cpu, unit: '' }),
    reported({ area, name: 'memory at the end', value: megabytes.at(-1) ?? Number.NaN, unit: 'MB' }),
  ]
}

async function answersPerSecond(
  port: number,
  request: string,
  { plan, connections }: Bench,
): Promise<number> {
  const walkers = Array.from({ length: connections }, () => createRepeatingWalker(request, () => true))
  const load = await openLoad(port, walkers)
  await load.run(plan.warmUpMs)
  const { completed, seconds } = await load.run(plan.roundMs)
  load.close()
  return completed / seconds
}

/** Measures requests from an address that is being shed, beside answered ones of the floor. */
async function measureShedding(
  bench: Bench,
  server: { child: Child; port: number },
  raw: RunningRival,
): Promise<BarredFigure[]> {
  const loadOf = (port: number, request: string, isRight: (answer: Answer) => boolean): Promise<Load> =>
    openLoad(
      port,
      Array.from({ length: bench.connections }, () => createRepeatingWalker(request, isRight)),
      floodAddress,
    )
  const bad = mcpRequest(`localhost:${server.port}`, 'mcpa_none', '{"jsonrpc":"2.0","id":1,"method":"ping"}')
  const contenders = [
    {
      name: ours,
      child: server.child,
      load: await loadOf(server.port, bad, ({ status }) => status === 429 || status === 401),
    },
    { name: floor, child: raw.child, load: await loadOf(raw.port, toolsListRequest(raw.host, raw), isOk) },
  ]
  const { cpu } = await compete(contenders, bench.plan)
  for (const { load } of contenders) load.close()
  return [
    atMost(1.2, {
      area,
      name: 'CPU of a request that is shed, times the floor',
      ...cpu.ratio(ours, floor),
      unit: 'x',
      line: {
        path: 'a request that is shed',
        ours: quantity(cpu.of(ours).value, 'us'),
        floor: quantity(cpu.of(floor).value, 'us'),
      },
    }),
  ]
}

interface Clients {
  /** Returns the measurements since the last call. */
  take(): { latencies: number[]; wrong: number }
  stop(): void
}

/** Starts clients that send a request, wait for the answer, pause and repeat. */
async function startClients(port: number, request: string, clients: number): Promise<Clients> {
  let latencies: number[] = []
  let wrong = 0
  let stopped = false
  for (let index = 0; index < clients; index += 1) {
    const connection = await openConnection(port)
    const ask = (): void => {
      if (stopped) {
        connection.close()
        return
      }
      const begin = performance.now()
      connection.send(request, (answer) => {
        if (answer?.status === 200) latencies.push(performance.now() - begin)
        else wrong += 1
        if (answer) setTimeout(ask, pauseMs)
      })
    }
    setTimeout(ask, (index / clients) * pauseMs)
  }
  return {
    take() {
      const taken = { latencies, wrong }
      latencies = []
      wrong = 0
      return taken
    },
    stop() {
      stopped = true
    },
  }
}

async function watch(child: Child, seconds: number): Promise<{ cpu: number; megabytes: number[] }> {
  const megabytes: number[] = []
  const before = child.cpuMs()
  const begin = performance.now()
  while (performance.now() - begin < seconds * 1000) {
    await sleep(sampleMs)
    megabytes.push(child.memoryBytes() / 1e6)
  }
  return { cpu: (child.cpuMs() - before) / (performance.now() - begin), megabytes }
}

async function endFlood(flood: ChildProcess): Promise<FloodReport> {
  let said = ''
  flood.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  flood.stdin?.write('stop\n')
  await new Promise((resolve) => flood.once('close', resolve))
  return JSON.parse(said.trim().split('\n').at(-1) ?? '') as FloodReport
}
