import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureFlood } from '../bench/areas/flood.ts'
import { measureGatewayToCommand, measureGatewayToHttp } from '../bench/areas/gateway.ts'
import { measureCallCost, measureGrants, measureRules, measureTools } from '../bench/areas/growth.ts'
import { measureInstances } from '../bench/areas/instances.ts'
import { measureMetadata, measureToolsList } from '../bench/areas/read.ts'
import { measureRefresh } from '../bench/areas/refresh.ts'
import { measureSessions } from '../bench/areas/sessions.ts'
import { measureStart } from '../bench/areas/start.ts'
import type { Bench } from '../bench/bench.ts'
import { measureBridgeCalls } from '../bench/bridge/calls.ts'
import { measureBridgeMemory, measureBridgeStart, measureKeychainStart } from '../bench/bridge/start.ts'
import { type AreaFigure, type Figure, figureJson, figureTable, notMeasured } from '../bench/figure.ts'
import { picture } from '../bench/picture.ts'

const areas: Readonly<Record<string, (bench: Bench) => Promise<Figure[]>>> = {
  'server refresh': measureRefresh,
  'server metadata': measureMetadata,
  'server tools/list': measureToolsList,
  'server calls': measureCallCost,
  'server start': measureStart,
  'server flood': measureFlood,
  'gateway http': measureGatewayToHttp,
  'gateway command': measureGatewayToCommand,
  'growth tools': measureTools,
  'growth rules': measureRules,
  'growth grants': measureGrants,
  'growth sessions': measureSessions,
  'growth instances': measureInstances,
  'bridge start': measureBridgeStart,
  'bridge keychain': measureKeychainStart,
  'bridge calls': measureBridgeCalls,
  'bridge memory': measureBridgeMemory,
}

const help = `Measures the built server and bridge alongside their peers in one run. Needs Linux: times come from /proc.

npm run bench -- [flags] [AREA...]
  --quick         shorter, with a hundredth of the large store, to see that it works
  --json FILE     also writes the figures as JSON
  --picture FILE  also draws the ratios to other programs as SVG
  --server FILE   the launcher of another built server, to compare two
  --bridge FILE   the launcher of another built bridge

An area is one of these, or the first word of several: ${Object.keys(areas).join(', ')}.
docs/bench.md says what is measured.`

const repository = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    picture: { type: 'string' },
    quick: { type: 'boolean', default: false },
    server: { type: 'string', default: join(repository, 'server', 'launcher.cjs') },
    bridge: { type: 'string', default: join(repository, 'bridge', 'launcher.cjs') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const areasOf = (wanted: string): string[] =>
  Object.keys(areas).filter((area) => area === wanted || area.startsWith(`${wanted} `))
const unknown = positionals.filter((wanted) => areasOf(wanted).length === 0)
if (unknown.length > 0) stop(`Unknown area: ${unknown.join(', ')}. Areas: ${Object.keys(areas).join(', ')}.`)
if (process.platform !== 'linux') stop('The bench reads /proc, which only Linux has.')
const [launcher, bridgeLauncher] = [resolve(values.server), resolve(values.bridge)]
for (const path of [launcher, bridgeLauncher]) if (!existsSync(path)) stop(`File not found: ${path}.`)

// In the repository rather than the temporary folder, which may be in memory: commits must reach a disk. Git ignores
// folders of this name.
const parent = join(repository, '.drawbridge')
mkdirSync(parent, { recursive: true })
const scratch = mkdtempSync(join(parent, 'bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const bench: Bench = {
  launcher,
  bridgeLauncher,
  scratch,
  packageFolder: join(parent, 'bench-packages'),
  isQuick: values.quick,
  plan: values.quick ? { rounds: 1, roundMs: 400 } : { rounds: 5, roundMs: 1200 },
  connections: 64,
  endings: [],
  say: (text) => console.error(text),
}

const figures: AreaFigure[] = []
for (const area of positionals.length > 0 ? new Set(positionals.flatMap(areasOf)) : Object.keys(areas)) {
  bench.say(`measuring ${area}; load average ${loadavg()[0]?.toFixed(2)}`)
  for (const figure of await measure(area)) figures.push({ ...figure, area })
}
console.log(figureTable(figures))
console.log(`\nNode ${process.versions.node}, ${availableParallelism()} processors`)
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
if (values.picture !== undefined) writeFileSync(values.picture, picture(figures))
process.exit(figures.every(({ ok }) => ok) ? 0 : 1)

async function measure(area: string): Promise<Figure[]> {
  try {
    return (await areas[area]?.(bench)) ?? []
  } catch (error) {
    return [notMeasured('all', error instanceof Error ? error.message : String(error))]
  } finally {
    for (const end of bench.endings.splice(0).toReversed()) {
      await end().catch((error: unknown) => bench.say(String(error)))
    }
  }
}

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
