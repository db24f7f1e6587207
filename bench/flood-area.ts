import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Bench, startFilledDrawbridge } from './bench.ts'
import type { Child } from './child.ts'
import { openConnection } from './connection.ts'
import { median } from './contest.ts'
import { atLeast, atMost, type BarredFigure, reported } from './figure.ts'
import { postRequest } from './walkers.ts'

const clients = 200
const pauseMs = 100
const floodPerSecond = 10_000
const floodConnections = 50
const floodAddress = '127.0.0.2'
const settleMs = 3000
const calmMs = 10_000
const sampleMs = 1000
// V8 delays garbage collection while there is room, so memory grows for minutes. In a small heap it grows only by
// what is kept.
const heapMegabytes = 96

/** Requests and answers of a flood, as counted by the process that made it. */
interface FloodReport {
  sent: number
  skipped: number
  seconds: number
  answers: Readonly<Record<string, number>>
}

/** Measures two hundred active clients, before and during a flood of all kinds of bad requests from another address. */
export async function measureFlood(bench: Bench): Promise<BarredFigure[]> {
  const { site, child, connected } = await startFilledDrawbridge(bench, 'flood', 0, {
    nodeOptions: `--max-old-space-size=${heapMegabytes}`,
  })
  const host = new URL(site.baseUrl).host
  const request = postRequest(
    { host, path: '/mcp' },
    'application/json',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    ['Accept: application/json, text/event-stream', `Authorization: Bearer ${connected.accessToken}`],
  )
  const work = await startClients(site.port, request)
  await sleep(settleMs)
  work.take()
  await sleep(calmMs)
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
  await sleep(settleMs)
  work.take()
  const { cpu, megabytes } = await watch(child, bench.floodSeconds)
  const beside = work.take()
  const report = await endFlood(flood)
  work.stop()
  await child.stop()
  const area = 'flood'
  const answered = Object.values(report.answers).reduce((sum, count) => sum + count, 0)
  const middle = Math.floor(megabytes.length / 2)
  const growth = median(megabytes.slice(middle)) / median(megabytes.slice(0, middle))
  return [
    atMost(2, {
      area,
      name: 'p50 of good clients, times of what it was',
      value: median(beside.latencies) / median(calm.latencies),
      unit: '',
    }),
    atMost(0, { area, name: 'wrong answers to good clients', value: beside.wrong, unit: '' }),
    atMost(1.1, { area, name: 'memory of the second half, times of the first', value: growth, unit: '' }),
    reported({ area, name: 'p50 of good clients before', value: median(calm.latencies), unit: 'ms' }),
    reported({
      area,
      name: 'p50 of good clients during the flood',
      value: median(beside.latencies),
      unit: 'ms',
    }),
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
    reported({ area, name: 'processors in use', value: cpu, unit: '' }),
    reported({ area, name: 'memory at the end', value: megabytes.at(-1) ?? Number.NaN, unit: 'MB' }),
  ]
}

interface Clients {
  /** Returns the measurements since the last call. */
  take(): { latencies: number[]; wrong: number }
  stop(): void
}

/** Starts clients that send a request, wait for the answer, pause and repeat. */
async function startClients(port: number, request: string): Promise<Clients> {
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
