import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { atLeast, atMost, type Figure, listed } from '../figure.ts'
import { inTurn, median } from '../rounds.ts'
import { type Bridges, openBridges, openSignedIn } from './bridges.ts'
import { openConnection } from './line-client.ts'

const direct = 'direct'
const megabytes = 10
const width = 64
const callsAtOnce = 100
const callsPerRound = 1500
/** For garbage collectors of the previous bridge, where processors are few. */
const settleMs = 100

/** Calls a tool of a server, through a bridge or without one, and returns the length of the answer. */
interface Caller {
  name: string
  call(tool: 'echo' | 'large', args: object): Promise<number>
  peakMemoryBytes(): number
}

/** Measures the latency a bridge adds to a call, its throughput, and the cost of large results. */
export async function measureBridgeCalls(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  const open = await openBridges(bench)
  for (const bridges of [open, await openSignedIn(bench, 'file')]) {
    const callers = await openCallers(bench, bridges)
    figures.push(...(await measureLatency(bridges, callers, bench.isQuick ? 4 : 20)))
    figures.push(...(await measureThroughput(bridges, callers, bench.isQuick ? 1 : 9)))
  }
  return [...figures, ...(await measureLarge(open, await openCallers(bench, open), bench.isQuick ? 3 : 15))]
}

async function openCallers(bench: Bench, bridges: Bridges): Promise<Caller[]> {
  const callers = [directCaller(bridges)]
  for (const { name, start } of [bridges.ours, bridges.reference]) {
    const client = start()
    bench.endings.push(() => client.close())
    await openConnection(client)
    callers.push({
      name,
      call: (tool, args) => client.request('tools/call', { name: tool, arguments: args }),
      peakMemoryBytes: () => client.peakMemoryBytes(),
    })
  }
  return callers
}

async function repeat({ call }: Caller, times: number): Promise<number[]> {
  const latencies: number[] = []
  for (let count = 0; count < times; count += 1) {
    const begin = performance.now()
    await call('echo', { text: 'hello' })
    latencies.push(performance.now() - begin)
  }
  return latencies
}

/** Measures single calls, over the first thousands of a bridge. */
async function measureLatency(bridges: Bridges, callers: Caller[], rounds: number): Promise<Figure[]> {
  const [ours, reference] = [bridges.ours.name, bridges.reference.name]
  const { p50 } = await inTurn(rounds, callers, async (caller) => ({
    p50: median(await repeat(caller, callsAtOnce)),
  }))
  const added = (name: string): number => p50.difference(name, direct).value
  return [
    atMost(0.35, `added to a call, p50, ${ours}, times ${reference}`, added(ours) / added(reference), 'x'),
    ...listed(p50, 'a call, p50', 'ms', [ours, reference, direct]),
  ]
}

/** Measures calls per second with 64 always in flight. */
async function measureThroughput(bridges: Bridges, callers: Caller[], rounds: number): Promise<Figure[]> {
  const [ours, reference] = [bridges.ours.name, bridges.reference.name]
  const { rate } = await inTurn(rounds, callers, async (caller) => {
    const begin = performance.now()
    await Promise.all(Array.from({ length: width }, () => repeat(caller, callsPerRound / width)))
    return { rate: (callsPerRound / (performance.now() - begin)) * 1000 }
  })
  return [
    atLeast(3, `${width} in flight, ${ours}, times ${reference}`, rate.ratio(ours, reference), 'x'),
    ...listed(rate, `${width} in flight`, '/s', [ours, reference, direct]),
  ]
}

/** Measures large results, and the peak memory up to then of bridges that have done nothing else. */
async function measureLarge({ ours }: Bridges, callers: Caller[], rounds: number): Promise<Figure[]> {
  const { times } = await inTurn(rounds, callers, async ({ name, call }) => {
    await pause(settleMs)
    const begin = performance.now()
    const bytes = await call('large', { megabytes })
    if (bytes < megabytes * 1024 * 1024) throw new Error(`${name} lost some of a large result.`)
    return { times: performance.now() - begin }
  })
  const title = `${megabytes} MB result`
  const peak = callers.find(({ name }) => name === ours.name)?.peakMemoryBytes() ?? Number.NaN
  return [
    atMost(1.5, `${title}, times direct`, times.ratio(ours.name, direct), 'x'),
    atMost(150, `${title}, peak memory`, peak / 1e6, 'MB'),
    ...listed(times, title, 'ms', [ours.name, direct]),
  ]
}

/** Makes the same calls over keep-alive HTTP. */
function directCaller({ url, accessToken }: Bridges): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: width })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
  }
  return {
    name: direct,
    peakMemoryBytes: () => Number.NaN,
    async call(tool, args) {
      const params = { name: tool, arguments: args }
      const sent = request(url, { method: 'POST', agent, headers })
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      let bytes = 0
      response.on('data', (chunk: Buffer) => (bytes += chunk.length))
      await once(response, 'end')
      if (response.statusCode !== 200) throw new Error(`The server answered ${response.statusCode}.`)
      return bytes
    },
  }
}
