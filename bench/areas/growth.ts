import type { Bench } from '../bench.ts'
import { type Contender, contest, ours, type Results } from '../contest.ts'
import { type Connected, type RunningSite, startDrawbridge, unlimited } from '../drawbridge.ts'
import { type AreaFigure, atMost, listed } from '../figure.ts'
import {
  callRequest,
  listRequest,
  refreshContender,
  refreshedGrants,
  refreshSettings,
  repeating,
} from '../requests.ts'

/** Measures what ten access rules and the record of every call add to a call of a tool that does nothing. */
export async function measureCallCost(bench: Bench): Promise<AreaFigure[]> {
  const bare = 'no rules, no record'
  const rules = [
    ...['*@one.example', '*@two.example', '*@three.example'].map((email) => ({ allow: { email: [email] } })),
    ...['one', 'two', 'three'].map((role) => ({ allow: { claim: { 'app_metadata.role': [role] } } })),
    ...['one', 'two', 'three'].map((sub) => ({ deny: { sub: [sub] } })),
    { allow: {}, tools: { allow: ['who*', 'list_*'] } },
  ]
  const servers = {
    [bare]: await startDrawbridge(bench, 'calls-bare', { settings: { ...unlimited, LOG: 'silent' } }),
    [ours]: await startDrawbridge(bench, 'calls', {
      settings: { ...unlimited, ACCESS: 'access.json', AUDIT: 'audit.jsonl' },
      files: { 'access.json': JSON.stringify({ rules }) },
    }),
  }
  const { cpu } = await contest(bench.plan, calling(bench, servers))
  return [
    atMost(1.12, `CPU of a call, times ${bare}`, cpu.ratio(ours, bare), 'x'),
    ...listed(cpu, 'CPU of a call', 'us', [ours, bare]),
  ]
}

/** Measures a call with ten and with a thousand access rules, of which the last decides. */
export async function measureRules(bench: Bench): Promise<AreaFigure[]> {
  const servers: Record<string, RunningSite> = {}
  for (const count of [10, 1000]) {
    const others = Array.from({ length: count - 1 }, (_, index) => ({
      allow: { email: [`*@${index}.example.net`] },
    }))
    servers[`${count} rules`] = await startDrawbridge(bench, `rules-${count}`, {
      settings: { ...unlimited, ACCESS: 'access.json' },
      files: { 'access.json': JSON.stringify({ rules: [...others, { allow: {} }] }) },
    })
  }
  return growth(
    await contest(bench.plan, calling(bench, servers)),
    'CPU of a call',
    Object.keys(servers),
    1.1,
  )
}

/** Measures `tools/list` of modules with ten and with a thousand tools. */
export async function measureTools(bench: Bench): Promise<AreaFigure[]> {
  const servers: Record<string, RunningSite> = {}
  for (const count of [10, 1000]) {
    servers[`${count} tools`] = await startDrawbridge(bench, `tools-${count}`, {
      settings: { ...unlimited, TOOLS: './tools.mjs' },
      files: {
        'tools.mjs': `const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
          export const tools = Array.from({ length: ${count} }, (_, index) => ({
            name: \`tool_\${index}\`, description: 'Repeats nothing.', inputSchema, call: () => 'ok',
          }))`,
      },
    })
  }
  const names = Object.keys(servers)
  const list = await contest(bench.plan, calling(bench, servers, listRequest))
  return growth(list, 'CPU of tools/list', names, 1.5)
}

/** Measures a refresh with few and with many live grants in the store. */
export async function measureGrants(bench: Bench): Promise<AreaFigure[]> {
  const contenders: Contender[] = []
  for (const grants of [refreshedGrants, bench.isQuick ? 10_000 : 1_000_000]) {
    const running = await startDrawbridge(bench, `grants-${grants}`, { grants, settings: refreshSettings })
    contenders.push(refreshContender(`${grants} grants`, running, { grants, connections: bench.connections }))
  }
  const names = contenders.map(({ name }) => name)
  return growth(await contest(bench.plan, contenders), 'CPU of a refresh', names, 1.3)
}

/** Returns the growth of processor time from the first to the last of `names`, and the time of each. */
export function growth({ cpu }: Results, title: string, names: readonly string[], bar: number): AreaFigure[] {
  const [few = '', many = ''] = [names[0], names.at(-1)]
  return [
    atMost(bar, `${title}, ${many}, times ${few}`, cpu.ratio(many, few), 'x'),
    ...listed(cpu, title, 'us', [many, few]),
  ]
}

/** Repeats one request at each of `servers`, by default a call of a tool. */
function calling(
  { connections }: Bench,
  servers: Readonly<Record<string, RunningSite>>,
  requestOf: (url: string, connected: Connected) => string = callRequest,
): Contender[] {
  return Object.entries(servers).map(([name, { site, child, connected }]) => ({
    name,
    child,
    ports: [site.port],
    walkers: repeating(connections, requestOf(site.mcpUrl, connected)),
  }))
}
