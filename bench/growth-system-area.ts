import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../tests/support/server/postgres-server.ts'
import { type Bench, startFilledDrawbridge } from './bench.ts'
import { startRemote } from './bridge/remote.ts'
import { callRequest, unlimited } from './call-area.ts'
import type { Child } from './child.ts'
import { compete } from './contest.ts'
import { connect, type Connected, createSite, startDrawbridge } from './drawbridge.ts'
import { atLeast, atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { growthFigures } from './growth-area.ts'
import { type Load, openLoad } from './load.ts'
import { createRepeatingWalker, mcpRequest } from './walkers.ts'

const sessionsOfUser = 50

/** Measures calls and memory of the gateway with each number of sessions, each with its GET stream. */
export async function measureSessions(bench: Bench): Promise<BarredFigure[]> {
  const area = 'growth sessions'
  const upstream = await startRemote(bench, 'open')
  const doors = []
  for (const count of bench.sessionCounts) {
    const { site, child, connected } = await startFilledDrawbridge(bench, `sessions-${count}`, 0, {
      settings: { ...unlimited, UPSTREAM: upstream.url, SIGN_IN_LIMIT: '1000' },
    })
    const users = [connected]
    while (users.length * sessionsOfUser < count)
      users.push(await connect(site, `user${users.length}@example.com`))
    const streams = new AbortController()
    const open = (user: Connected) => openSession(`${site.baseUrl}/mcp`, user, streams.signal)
    await open(connected)
    // After the sign-ins: hashing the passwords of twenty people leaves 64 MB with the allocator.
    const memoryBefore = child.memoryBytes()
    for (let index = 1; index < count; index += 1) {
      await open(users[Math.floor(index / sessionsOfUser)] ?? connected)
    }
    const kilobytes = (child.memoryBytes() - memoryBefore) / (count - 1) / 1024
    const message = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}'
    const request = mcpRequest(new URL(site.baseUrl).host, connected.accessToken, message)
    doors.push({ name: `${count} sessions`, kilobytes, child, port: site.port, request, streams })
  }
  const contenders = []
  // Only now: opening sessions takes longer than a server keeps an idle connection.
  for (const { name, child, port, request } of doors) {
    const walkers = Array.from({ length: bench.connections }, () =>
      createRepeatingWalker(request, ({ status }) => status === 200),
    )
    contenders.push({ name, child, load: await openLoad(port, walkers) })
  }
  const results = await compete(contenders, bench.plan)
  for (const { load } of contenders) load.close()
  for (const { streams, child } of doors) {
    streams.abort()
    await child.stop()
  }
  await upstream.child.stop()
  const names = doors.map(({ name }) => name)
  const [first = '', last = ''] = [names[0], names.at(-1)]
  const kilobytes = doors.at(-1)?.kilobytes ?? Number.NaN
  return [
    ...growthFigures(results, { area, title: 'CPU of a call', names, from: first, bar: 1.3 }),
    atMost(128, {
      area,
      name: `memory of a session with its stream, ${last}`,
      value: kilobytes,
      unit: 'KB',
      line: { path: `a gateway session, ${last}`, ours: quantity(kilobytes, 'KB') },
    }),
  ]
}

/** Opens a session and a GET stream that stays open until `signal`. */
async function openSession(url: string, { accessToken }: Connected, signal: AbortSignal): Promise<void> {
  const authorization = `Bearer ${accessToken}`
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  }
  const opened = await fetch(url, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  await opened.text()
  const session = opened.headers.get('mcp-session-id')
  if (session === null) throw new Error(`${url} answered ${opened.status} and opened no session.`)
  const stream = await fetch(url, {
    headers: { authorization, accept: 'text/event-stream', 'mcp-session-id': session },
    signal,
  })
  if (!stream.ok) throw new Error(`${url} answered ${stream.status} and opened no stream.`)
  stream.body
    ?.getReader()
    .read()
    .catch(() => {})
}

/** The processors that two instances, Postgres and the load need to run beside each other. */
const processorsOfTwo = 6

/** Measures calls at one instance and at two that share a Postgres. */
export async function measureInstances(bench: Bench): Promise<BarredFigure[]> {
  const area = 'growth instances'
  const postgres = await startPostgres({ durable: true })
  const children: Child[] = []
  try {
    const provider = await createSite(bench.launcher, join(bench.scratch, 'instances-provider'))
    children.push(await startDrawbridge(provider))
    const settings = {
      ...unlimited,
      PROVIDER: 'supabase',
      PROVIDER_URL: `${provider.appUrl}/auth/v1`,
      PROVIDER_KEY: 'sb_publishable_bench',
      SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
      STORE: await postgres.createDatabase(),
    }
    const one = {
      ...(await createSite(bench.launcher, join(bench.scratch, 'instance-1'))),
      appUrl: provider.appUrl,
    }
    const two = {
      ...(await createSite(bench.launcher, join(bench.scratch, 'instance-2'))),
      baseUrl: one.baseUrl,
      appUrl: provider.appUrl,
    }
    for (const site of [one, two]) children.push(await startDrawbridge(site, { settings }))
    const request = callRequest(new URL(one.baseUrl).host, await connect(one))
    const loadOf = (port: number, connections: number): Promise<Load> =>
      openLoad(
        port,
        Array.from({ length: connections }, () =>
          createRepeatingWalker(request, ({ status }) => status === 200),
        ),
      )
    const half = bench.connections / 2
    const servers = children.slice(1)
    const cpuOf = (some: readonly Child[]) => ({
      cpuMs: () => some.reduce((sum, child) => sum + child.cpuMs(), 0),
    })
    const contenders = [
      { name: 'one', child: cpuOf(servers.slice(0, 1)), load: await loadOf(one.port, bench.connections) },
      {
        name: 'two',
        child: cpuOf(servers),
        load: together(await loadOf(one.port, half), await loadOf(two.port, half)),
      },
    ]
    const { rate, cpu, errors } = await compete(contenders, bench.plan)
    for (const { load } of contenders) load.close()
    const bar = {
      area,
      name: 'calls at two instances, times one',
      ...rate.ratio('two', 'one'),
      unit: 'x',
      line: {
        path: 'two instances on one Postgres',
        ours: quantity(rate.of('two').value, '/s'),
        floor: `${quantity(rate.of('one').value, '/s')} one`,
      },
    }
    return [
      availableParallelism() >= processorsOfTwo ? atLeast(1.7, bar) : reported(bar),
      reported({ area, name: 'calls at one instance', ...rate.of('one'), unit: '/s' }),
      reported({ area, name: 'calls at two instances', ...rate.of('two'), unit: '/s' }),
      atMost(1.1, {
        area,
        name: 'CPU of a call at two instances, times one',
        ...cpu.ratio('two', 'one'),
        unit: 'x',
      }),
      atMost(0, { area, name: 'errors', value: errors, unit: '' }),
    ]
  } finally {
    for (const child of children.toReversed()) await child.stop()
    await postgres.close()
  }
}

/** Joins two loads into one. */
function together(one: Load, other: Load): Load {
  return {
    async run(milliseconds) {
      const [left, right] = await Promise.all([one.run(milliseconds), other.run(milliseconds)])
      return {
        completed: left.completed + right.completed,
        errors: left.errors + right.errors,
        seconds: Math.max(left.seconds, right.seconds),
        latencies: Float64Array.from([...left.latencies, ...right.latencies]).sort(),
        wrong: left.wrong ?? right.wrong,
      }
    },
    close() {
      one.close()
      other.close()
    },
  }
}
