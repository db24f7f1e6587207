import type { Bench } from '../bench.ts'
import { type Contender, contender, contest, ours } from '../contest.ts'
import { type Connected, startDrawbridge, unlimited } from '../drawbridge.ts'
import { compared, type Figure } from '../figure.ts'
import { callRequest, listRequest, refreshContender, refreshedGrants, refreshSettings } from '../requests.ts'

/** Measures what ten access rules and the record of every call add to a call of a tool that does nothing. */
export async function measureCallCost(bench: Bench): Promise<Figure[]> {
  const bare = 'no rules, no record'
  const rules = [
    ...['*@one.example', '*@two.example', '*@three.example'].map((email) => ({ allow: { email: [email] } })),
    ...['one', 'two', 'three'].map((role) => ({ allow: { claim: { 'app_metadata.role': [role] } } })),
    ...['one', 'two', 'three'].map((sub) => ({ deny: { sub: [sub] } })),
    { allow: {}, tools: { allow: ['who*', 'list_*'] } },
  ]
  const contenders = [
    await startContender(bench, bare, { LOG: 'silent' }),
    await startContender(
      bench,
      ours,
      { ACCESS: 'access.json', AUDIT: 'audit.jsonl' },
      { 'access.json': JSON.stringify({ rules }) },
    ),
  ]
  const { cpu } = await contest(bench.plan, contenders)
  return compared(cpu, 'CPU of a call', 'us', { ours, peer: bare, bar: 1.12 })
}

/** Measures a call with ten and with a thousand access rules, of which the last decides. */
export function measureRules(bench: Bench): Promise<Figure[]> {
  return growth(bench, 'CPU of a call', 1.1, [10, 1000], (count) => {
    const others = Array.from({ length: count - 1 }, (_, index) => ({
      allow: { email: [`*@${index}.example.net`] },
    }))
    const files = { 'access.json': JSON.stringify({ rules: [...others, { allow: {} }] }) }
    return startContender(bench, `${count} rules`, { ACCESS: 'access.json' }, files)
  })
}

/** Measures `tools/list` of modules with ten and with a thousand tools. */
export function measureTools(bench: Bench): Promise<Figure[]> {
  return growth(bench, 'CPU of tools/list', 1.5, [10, 1000], (count) => {
    const module = `const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
      export const tools = Array.from({ length: ${count} }, (_, index) => ({
        name: \`tool_\${index}\`, description: 'Repeats nothing.', inputSchema, call: () => 'ok',
      }))`
    const settings = { TOOLS: './tools.mjs' }
    return startContender(bench, `${count} tools`, settings, { 'tools.mjs': module }, listRequest)
  })
}

/** Measures a refresh with few and with many live grants in the store. */
export function measureGrants(bench: Bench): Promise<Figure[]> {
  const sizes = [refreshedGrants, bench.isQuick ? 10_000 : 1_000_000] as const
  return growth(bench, 'CPU of a refresh', 1.3, sizes, async (grants) => {
    const running = await startDrawbridge(bench, `grants-${grants}`, { grants, settings: refreshSettings })
    return refreshContender(`${grants} grants`, running, { grants, connections: bench.connections })
  })
}

/** Starts a contender of each size, and measures the growth of processor time from the smaller to the larger. */
export async function growth(
  { plan }: Bench,
  title: string,
  bar: number,
  [small, large]: readonly [number, number],
  startOf: (size: number) => Promise<Contender>,
): Promise<Figure[]> {
  const [few, many] = [await startOf(small), await startOf(large)]
  const { cpu } = await contest(plan, [few, many])
  return compared(cpu, title, 'us', { ours: many.name, peer: few.name, bar })
}

/** Starts Drawbridge, and repeats one request there, by default a call of a tool. */
async function startContender(
  bench: Bench,
  name: string,
  settings: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
  requestOf: (url: string, connected: Connected) => string = callRequest,
): Promise<Contender> {
  const options = { settings: { ...unlimited, ...settings }, files }
  const running = await startDrawbridge(bench, name.replaceAll(/\W+/g, '-'), options)
  return contender(bench, name, running, requestOf(running.site.mcpUrl, running.connected))
}
