import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, ours, startFilledDrawbridge } from './bench.ts'
import { type Connection, openConnection } from './connection.ts'
import { compete } from './contest.ts'
import { connect, type Connected } from './drawbridge.ts'
import { atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { openLoad } from './load.ts'
import { median, quantile } from './rounds.ts'
import { createRepeatingWalker, mcpRequest } from './walkers.ts'

/** Nine rules that match no user here, and one that matches everyone. */
const rules = [
  ...['*@one.example', '*@two.example', '*@three.example'].map((email) => ({ allow: { email: [email] } })),
  ...['one', 'two', 'three'].map((role) => ({ allow: { claim: { 'app_metadata.role': [role] } } })),
  ...['one', 'two', 'three'].map((sub) => ({ deny: { sub: [sub] } })),
  { allow: {}, tools: { allow: ['who*', 'list_*'] } },
]

const bare = 'no rules, no record'
/** Settings without limits of calls, which a load would reach. */
export const unlimited = { CALL_LIMIT: 'off', CALLS_AT_ONCE: 'off' }

/** Formats a call of a tool that does nothing. */
export function callRequest(host: string, { accessToken }: Connected, name: string = 'whoami'): string {
  const params = { name, arguments: {} }
  return mcpRequest(
    host,
    accessToken,
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  )
}

/** Measures what access rules and the record of every call add to a call of a tool that does nothing. */
export async function measureCallCost(bench: Bench): Promise<BarredFigure[]> {
  const area = 'call cost'
  const contenders = []
  const children = []
  for (const [name, settings] of Object.entries({
    [bare]: { ...unlimited, LOG: 'silent' },
    [ours]: { ...unlimited, ACCESS: 'access.json', AUDIT: 'audit.jsonl' },
  })) {
    const folder = `call-${name.replaceAll(/\W+/g, '-')}`
    const { site, child, connected } = await startFilledDrawbridge(bench, folder, 0, {
      settings,
      prepare: ({ directory }) => writeFileSync(join(directory, 'access.json'), JSON.stringify({ rules })),
    })
    const request = callRequest(new URL(site.baseUrl).host, connected)
    const walkers = Array.from({ length: bench.connections }, () =>
      createRepeatingWalker(request, ({ status, body }) => status === 200 && body.includes('You are')),
    )
    contenders.push({ name, child, load: await openLoad(site.port, walkers) })
    children.push(child)
  }
  const { cpu, rate, errors } = await compete(contenders, bench.plan)
  for (const { load } of contenders) load.close()
  for (const child of children) await child.stop()
  return [
    atMost(1.12, {
      area,
      name: 'CPU of a call with ten rules, log and audit file, times that without',
      ...cpu.ratio(ours, bare),
      unit: 'x',
      line: {
        path: 'rules, log and audit of a call',
        ours: quantity(cpu.of(ours).value, 'us'),
        floor: quantity(cpu.of(bare).value, 'us'),
      },
    }),
    reported({ area, name: 'CPU of a call with them', ...cpu.of(ours), unit: 'us' }),
    reported({ area, name: 'CPU of a call without', ...cpu.of(bare), unit: 'us' }),
    reported({ area, name: 'calls with them', ...rate.of(ours), unit: '/s' }),
    reported({ area, name: 'calls without', ...rate.of(bare), unit: '/s' }),
    atMost(0, { area, name: 'errors', value: errors, unit: '' }),
  ]
}

const neighbourClients = 8
const neighbourPauseMs = 10
const ownPauseMs = 5

/** Measures the calls of one user, alone and while another user keeps calling beyond the limit. */
export async function measureNeighbour(bench: Bench): Promise<BarredFigure[]> {
  const area = 'neighbour'
  const { site, child, connected } = await startFilledDrawbridge(bench, 'neighbour', 0, {
    settings: { CALL_LIMIT: '6000/m' },
  })
  const other = await connect(site, 'eve@example.com')
  const host = new URL(site.baseUrl).host
  const milliseconds = bench.plan.roundMs * bench.plan.rounds
  await repeat(site.port, callRequest(host, connected), {
    pauseMs: ownPauseMs,
    milliseconds: bench.plan.warmUpMs,
  })
  // Uses up the limit, and slightly more than is restored.
  const exhausting = await openLoad(
    site.port,
    Array.from({ length: neighbourClients }, () =>
      createRepeatingWalker(callRequest(host, other), ({ status }) => status === 200),
    ),
  )
  const [alone, beside, refused]: [number[], number[], number[]] = [[], [], []]
  alone.push(
    ...(await repeat(site.port, callRequest(host, connected), { pauseMs: ownPauseMs, milliseconds }))
      .latencies,
  )
  await exhausting.run(60_000)
  exhausting.close()
  const neighbours = Array.from({ length: neighbourClients }, () =>
    repeat(site.port, callRequest(host, other), {
      pauseMs: neighbourPauseMs,
      milliseconds: milliseconds + 500,
    }),
  )
  await sleep(250)
  beside.push(
    ...(await repeat(site.port, callRequest(host, connected), { pauseMs: ownPauseMs, milliseconds }))
      .latencies,
  )
  for (const { statuses } of await Promise.all(neighbours)) refused.push(statuses.get(429) ?? 0)
  await child.stop()
  const refusedPerSecond = refused.reduce((sum, count) => sum + count, 0) / (milliseconds / 1000)
  return [
    atMost(1.5, {
      area,
      name: 'p99 of a user while another is at the limit, times alone',
      value: p99(beside) / p99(alone),
      unit: 'x',
      line: {
        path: 'beside somebody at the limit',
        ours: quantity(p99(beside), 'ms'),
        floor: quantity(p99(alone), 'ms'),
      },
    }),
    reported({ area, name: 'p99 alone', value: p99(alone), unit: 'ms' }),
    reported({ area, name: 'p99 with the other', value: p99(beside), unit: 'ms' }),
    reported({ area, name: 'p50 alone', value: median(alone), unit: 'ms' }),
    reported({ area, name: 'p50 with the other', value: median(beside), unit: 'ms' }),
    reported({ area, name: 'refused calls of the other', value: refusedPerSecond, unit: '/s' }),
  ]
}

function p99(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.99)
}

/** Sends a request, waits for the answer, pauses and repeats. */
async function repeat(
  port: number,
  request: string,
  { pauseMs, milliseconds }: { pauseMs: number; milliseconds: number },
): Promise<{ latencies: number[]; statuses: Map<number, number> }> {
  const connection = await openConnection(port)
  const latencies: number[] = []
  const statuses = new Map<number, number>()
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    const sent = performance.now()
    const status = await ask(connection, request)
    latencies.push(performance.now() - sent)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    await sleep(pauseMs)
  }
  connection.close()
  return { latencies, statuses }
}

function ask(connection: Connection, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    connection.send(request, (answer) =>
      answer ? resolve(answer.status) : reject(new Error('The connection broke.')),
    )
  })
}
