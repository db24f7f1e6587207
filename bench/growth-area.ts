import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Bench,
  refreshedGrants,
  refreshTokenLife,
  type RunningDrawbridge,
  startFilledDrawbridge,
} from './bench.ts'
import { callRequest, unlimited } from './call-area.ts'
import type { Answer } from './connection.ts'
import { compete, type Contender, type Results } from './contest.ts'
import { atMost, type BarredFigure, quantity, reported } from './figure.ts'
import { openLoad } from './load.ts'
import { refreshTarget } from './refresh-area.ts'
import type { Rounds } from './rounds.ts'
import { filledRefreshToken } from './store-fill.ts'
import { createRefreshWalker, createRepeatingWalker, toolsListRequest } from './walkers.ts'

const isOk = ({ status }: Answer): boolean => status === 200

/** Measures `tools/list` and `tools/call` of modules with ten, a hundred and a thousand tools. */
export async function measureTools(bench: Bench): Promise<BarredFigure[]> {
  const area = 'growth tools'
  const servers: { name: string; running: RunningDrawbridge }[] = []
  for (const count of [10, 100, 1000]) {
    const prepare = ({ directory }: { directory: string }): void =>
      writeFileSync(join(directory, 'tools.mjs'), moduleOf(count))
    const running = await startFilledDrawbridge(bench, `tools-${count}`, 0, {
      settings: { ...unlimited, TOOLS: './tools.mjs' },
      prepare,
    })
    servers.push({ name: `${count} tools`, running })
  }
  const list = await contend(
    bench,
    servers.map((server) => ({
      ...server,
      request: toolsListRequest(hostOf(server), server.running.connected),
    })),
  )
  const call = await contend(
    bench,
    servers.map((server) => ({
      ...server,
      request: callRequest(hostOf(server), server.running.connected, 'tool_1'),
    })),
  )
  for (const { running } of servers) await running.child.stop()
  const names = servers.map(({ name }) => name)
  return [
    ...growthFigures(list, { area, title: 'CPU of tools/list', names, from: '10 tools', bar: 1.5 }),
    ...growthFigures(call, { area, title: 'CPU of a call', names, from: '10 tools', bar: 1.1 }),
  ]
}

function moduleOf(count: number): string {
  return `const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
export const tools = Array.from({ length: ${count} }, (_, index) => ({
  name: \`tool_\${index}\`, description: 'Repeats nothing.', inputSchema, call: () => 'ok',
}))
`
}

/** Measures a call with one, ten, a hundred and a thousand access rules, of which the last decides. */
export async function measureRules(bench: Bench): Promise<BarredFigure[]> {
  const area = 'growth rules'
  const servers = []
  for (const count of [1, 10, 100, 1000]) {
    const others = Array.from({ length: count - 1 }, (_, index) => ({
      allow: { email: [`*@${index}.example.net`] },
    }))
    const running = await startFilledDrawbridge(bench, `rules-${count}`, 0, {
      settings: { ...unlimited, ACCESS: 'access.json' },
      prepare: ({ directory }) =>
        writeFileSync(join(directory, 'access.json'), JSON.stringify({ rules: [...others, { allow: {} }] })),
    })
    servers.push({ name: `${count} rules`, running })
  }
  const results = await contend(
    bench,
    servers.map((server) => ({ ...server, request: callRequest(hostOf(server), server.running.connected) })),
  )
  for (const { running } of servers) await running.child.stop()
  const names = servers.map(({ name }) => name)
  return growthFigures(results, { area, title: 'CPU of a call', names, from: '10 rules', bar: 1.1 })
}

/** Measures a refresh with few and with many live grants in the store. */
export async function measureGrants(bench: Bench): Promise<BarredFigure[]> {
  const area = 'growth grants'
  const stores = []
  for (const grants of bench.storeSizes) {
    const name = `${grants.toLocaleString('en')} grants`
    bench.say(`filling a store with ${name}`)
    stores.push({
      name,
      grants,
      ...(await startFilledDrawbridge(bench, `store-${grants}`, grants, refreshTokenLife)),
    })
  }
  const contenders: Contender[] = []
  // Only now: filling takes longer than a server keeps an idle connection.
  for (const { name, grants, site, child, connected } of stores) {
    const target = refreshTarget(site, connected.clientId)
    const seen = new Set<string>()
    const walkers = Array.from({ length: bench.connections }, (_, connection) =>
      createRefreshWalker(target, spreadTokens(connection, bench.connections, grants), seen),
    )
    contenders.push({ name, child, load: await openLoad(site.port, walkers) })
  }
  const results = await compete(contenders, bench.plan)
  const sizes = stores.flatMap(({ name, child, fillSeconds }) => [
    reported({
      area,
      name: `memory under load, ${name}`,
      value: child.memoryBytes() / 1024 ** 2,
      unit: 'MB',
    }),
    reported({ area, name: `filling the store, ${name}`, value: fillSeconds, unit: 's' }),
  ])
  for (const { load } of contenders) load.close()
  for (const { child } of stores) await child.stop()
  const names = stores.map(({ name }) => name)
  return [
    ...growthFigures(results, { area, title: 'CPU of a refresh', names, from: names[0] ?? '', bar: 1.3 }),
    ...sizes,
  ]
}

/** Returns refresh tokens for one of `connections`, spread over a store of `grants` and not shared with another. */
function spreadTokens(connection: number, connections: number, grants: number): string[] {
  const chains = Math.max(1, Math.floor(Math.min(refreshedGrants, grants) / connections))
  return Array.from({ length: chains }, (_, chain) =>
    filledRefreshToken(Math.floor(((chain * connections + connection) / (chains * connections)) * grants)),
  )
}

/** Returns the growth of processor time from `from` to the last of `names`, and the time of each. */
export function growthFigures(
  { cpu, errors }: Results,
  {
    area,
    title,
    names,
    from,
    bar,
  }: { area: string; title: string; names: readonly string[]; from: string; bar: number },
): BarredFigure[] {
  const most = names.at(-1) ?? ''
  return [
    atMost(bar, {
      area,
      name: `${title}, ${most}, times ${from}`,
      ...cpu.ratio(most, from),
      unit: 'x',
      line: { path: `${title}, ${most}`, ours: timeOf(cpu, most), floor: `${timeOf(cpu, from)} ${from}` },
    }),
    ...names.map((name) => reported({ area, name: `${title}, ${name}`, ...cpu.of(name), unit: 'us' })),
    atMost(0, { area, name: `errors, ${title}`, value: errors, unit: '' }),
  ]
}

function timeOf(cpu: Rounds, name: string): string {
  return quantity(cpu.of(name).value, 'us')
}

function hostOf({ running }: { running: RunningDrawbridge }): string {
  return new URL(running.site.baseUrl).host
}

async function contend(
  bench: Bench,
  servers: readonly { name: string; running: RunningDrawbridge; request: string }[],
): Promise<Results> {
  const contenders: Contender[] = []
  for (const { name, running, request } of servers) {
    const walkers = Array.from({ length: bench.connections }, () => createRepeatingWalker(request, isOk))
    contenders.push({ name, child: running.child, load: await openLoad(running.site.port, walkers) })
  }
  const results = await compete(contenders, bench.plan)
  for (const { load } of contenders) load.close()
  return results
}
