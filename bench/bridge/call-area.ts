import { Agent, request } from 'node:http'
import type { Bench } from '../bench.ts'
import { median } from '../contest.ts'
import { atLeast, atMost, type BarredFigure, reported } from '../figure.ts'
import { type LineClient, openConnection } from './line-client.ts'
import { startRemote } from './remote.ts'
import { openSubjects, ours, reference } from './subject.ts'

const warmUpCalls = 300
const callsAtOnce = 100
const width = 64
const callsPerRound = 1500
const megabytes = 10

type Call = () => Promise<number>

interface Caller {
  name: string
  echo: Call
  large: Call
  client: LineClient | undefined
}

/** What a bridge adds to a call, how many it carries, and what large results cost, beside a direct connection. */
export async function measureBridgeCalls(bench: Bench): Promise<BarredFigure[]> {
  const remote = await startRemote(bench)
  const callers: Caller[] = [directCaller(remote.url)]
  try {
    for (const subject of openSubjects(bench)) {
      const client = subject.start(remote.url, process.execPath)
      await openConnection(client)
      callers.push({
        name: subject.name,
        echo: () => client.request('tools/call', { name: 'echo', arguments: { text: 'hello' } }),
        large: () => client.request('tools/call', { name: 'large', arguments: { megabytes } }),
        client,
      })
    }
    for (const { echo } of callers) for (let call = 0; call < warmUpCalls; call += 1) await echo()
    return [
      ...(await measureLatency(callers, bench.plan.rounds * 4)),
      ...(await measureThroughput(callers, bench.plan.rounds)),
      ...(await measureLarge(callers, bench.plan.rounds)),
    ]
  } finally {
    await Promise.all(callers.map(async ({ client }) => client?.close()))
    await remote.child.stop()
  }
}

async function measureLatency(callers: readonly Caller[], rounds: number): Promise<BarredFigure[]> {
  const times = new Map<string, number[]>(callers.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, echo } of callers) {
      for (let call = 0; call < callsAtOnce; call += 1) {
        const begin = performance.now()
        await echo()
        times.get(name)?.push(performance.now() - begin)
      }
    }
  }
  const added = (name: string, part: number): number =>
    quantile(times.get(name) ?? [], part) - quantile(times.get(direct) ?? [], part)
  const area = 'bridge calls'
  return [
    reported({
      area,
      name: 'a call, direct, p50',
      value: quantile(times.get(direct) ?? [], 0.5),
      unit: 'ms',
    }),
    atMost(0.15, { area, name: 'added to a call, p50', value: added(ours, 0.5), unit: 'ms' }),
    atMost(1, { area, name: 'added to a call, p99', value: added(ours, 0.99), unit: 'ms' }),
    atMost(0.15, {
      area,
      name: `added to a call, p50, times ${reference}`,
      value: added(ours, 0.5) / added(reference, 0.5),
      unit: '',
    }),
    ...bridgesBeside(callers).map((peer) =>
      reported({ area, name: `added to a call, p50, ${peer}`, value: added(peer, 0.5), unit: 'ms' }),
    ),
  ]
}

async function measureThroughput(callers: readonly Caller[], rounds: number): Promise<BarredFigure[]> {
  const perSecond = new Map<string, number[]>(callers.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, echo } of callers) {
      const begin = performance.now()
      let left = callsPerRound
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1
          await echo()
        }
      }
      await Promise.all(Array.from({ length: width }, lane))
      perSecond.get(name)?.push((callsPerRound / (performance.now() - begin)) * 1000)
    }
  }
  const best = (name: string): number => Math.max(...(perSecond.get(name) ?? []))
  const area = 'bridge calls'
  return [
    reported({ area, name: `${width} in flight, direct`, value: best(direct), unit: '/s' }),
    atLeast(12_000, { area, name: `${width} in flight`, value: best(ours), unit: '/s' }),
    atLeast(5, {
      area,
      name: `${width} in flight, times ${reference}`,
      value: best(ours) / best(reference),
      unit: '',
    }),
    ...bridgesBeside(callers).map((peer) =>
      reported({
        area,
        name: `${width} in flight, ${peer}`,
        value: best(peer),
        unit: '/s',
        peer,
        ratio: best(ours) / best(peer),
      }),
    ),
  ]
}

async function measureLarge(callers: readonly Caller[], rounds: number): Promise<BarredFigure[]> {
  const times = new Map<string, number[]>(callers.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, large } of callers) {
      const begin = performance.now()
      const bytes = await large()
      if (bytes < megabytes * 1024 * 1024) throw new Error(`${name} lost some of a large result.`)
      if (round > 0) times.get(name)?.push(performance.now() - begin)
    }
  }
  const area = 'bridge calls'
  const ms = (name: string): number => median(times.get(name) ?? [])
  const peak = (name: string): number =>
    (callers.find((caller) => caller.name === name)?.client?.peakMemoryBytes() ?? Number.NaN) / 1e6
  return [
    reported({ area, name: `${megabytes} MB result, direct`, value: ms(direct), unit: 'ms' }),
    atMost(1.3, {
      area,
      name: `${megabytes} MB result, times direct`,
      value: ms(ours) / ms(direct),
      unit: '',
    }),
    atMost(120, { area, name: `${megabytes} MB result, peak memory`, value: peak(ours), unit: 'MB' }),
    ...bridgesBeside(callers).flatMap((peer) => [
      reported({
        area,
        name: `${megabytes} MB result, ${peer}`,
        value: ms(peer),
        unit: 'ms',
        peer,
        ratio: ms(ours) / ms(peer),
      }),
      reported({ area, name: `${megabytes} MB result, peak memory, ${peer}`, value: peak(peer), unit: 'MB' }),
    ]),
  ]
}

const direct = 'direct'

function bridgesBeside(callers: readonly Caller[]): string[] {
  return callers.map(({ name }) => name).filter((name) => name !== ours && name !== direct)
}

/** The same calls over keep-alive HTTP, with nothing between. */
function directCaller(url: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: width })
  const call = (name: string, args: object): Promise<number> => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    })
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => (bytes += chunk.length))
        response.on('end', () => resolve(bytes))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
  return {
    name: direct,
    echo: () => call('echo', { text: 'hello' }),
    large: () => call('large', { megabytes }),
    client: undefined,
  }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
