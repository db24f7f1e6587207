import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Bench } from '../bench/bench.ts'
import { measureBridgeCalls } from '../bench/bridge/call-area.ts'
import { measureBridgeMemory } from '../bench/bridge/memory-area.ts'
import { measureRoundTrips } from '../bench/bridge/round-trip-area.ts'
import { measureBridgeServers } from '../bench/bridge/server-area.ts'
import { shownByTestsText } from '../bench/bridge/shown-by-tests.ts'
import { measureBridgeSize } from '../bench/bridge/size-area.ts'
import { measureBridgeStart } from '../bench/bridge/start-area.ts'
import { type BarredFigure, figureJson, figureTable, reported, verdictTable } from '../bench/figure.ts'
import { measureCallCost, measureNeighbour } from '../bench/call-area.ts'
import { measureGateway } from '../bench/gateway-area.ts'
import { measureGrants, measureRules, measureTools } from '../bench/growth-area.ts'
import { measureInstances, measureSessions } from '../bench/growth-system-area.ts'
import { measureFlood } from '../bench/flood-area.ts'
import { measureMetadata, measureToolsList } from '../bench/read-area.ts'
import { measureRefresh } from '../bench/refresh-area.ts'
import { measureStart } from '../bench/start-area.ts'

const areas: Readonly<Record<string, (bench: Bench) => Promise<BarredFigure[]>>> = {
  refresh: measureRefresh,
  metadata: measureMetadata,
  'tools/list': measureToolsList,
  'call cost': measureCallCost,
  neighbour: measureNeighbour,
  gateway: measureGateway,
  start: measureStart,
  flood: measureFlood,
  'growth tools': measureTools,
  'growth rules': measureRules,
  'growth grants': measureGrants,
  'growth sessions': measureSessions,
  'growth instances': measureInstances,
  'bridge start': measureBridgeStart,
  'bridge round trips': measureRoundTrips,
  'bridge calls': measureBridgeCalls,
  'bridge servers': measureBridgeServers,
  'bridge memory': measureBridgeMemory,
  'bridge size': measureBridgeSize,
}

const help = `Measures the built server and bridge alongside their peers in one run. Needs Linux: times come from /proc.

npm run bench -- [flags]
  --quick         shorter, with a hundredth of the large store and mcp-remote as the bridge's only peer, as a smoke
                  test
  --only AREA     one of those below; may be repeated; bridge and growth select all that begin with it
  --json FILE     also writes the figures as JSON
  --server FILE   the launcher of another built server, to compare two
  --bridge FILE   the launcher of another built bridge

Areas: ${Object.keys(areas).join(', ')}.
docs/bench.md says what is measured.`

const repository = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: Object.keys(areas) },
    server: { type: 'string', default: join(repository, 'server', 'launcher.cjs') },
    bridge: { type: 'string', default: join(repository, 'bridge', 'launcher.cjs') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const isChosen = (area: string): boolean =>
  values.only.some((only) => area === only || area.startsWith(`${only} `))
const unknown = values.only.filter(
  (only) => !Object.keys(areas).some((area) => area === only || area.startsWith(`${only} `)),
)
if (unknown.length > 0)
  stop(`There is no area ${unknown.join(', ')}. There are ${Object.keys(areas).join(', ')}.`)
if (process.platform !== 'linux') stop('This measures by /proc, which only Linux has.')
const [launcher, bridgeLauncher] = [resolve(values.server), resolve(values.bridge)]
for (const path of [launcher, bridgeLauncher]) if (!existsSync(path)) stop(`There is no ${path}.`)

// In the repository rather than the temporary folder, which may be in memory: commits must reach a disk. Git ignores
// folders of this name.
const parent = join(repository, '.drawbridge')
mkdirSync(parent, { recursive: true })
const scratch = mkdtempSync(join(parent, 'bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

const bench: Bench = {
  launcher,
  bridgeLauncher,
  scratch,
  packageFolder: join(parent, 'bench-packages'),
  plan: values.quick
    ? { rounds: 1, roundMs: 400, warmUpMs: 250 }
    : { rounds: 5, roundMs: 1200, warmUpMs: 1000 },
  connections: 64,
  storeSizes: [1000, values.quick ? 10_000 : 1_000_000],
  sessionCounts: values.quick ? [1, 300] : [1, 100, 1000],
  startRounds: values.quick ? 1 : 5,
  fewPeers: values.quick,
  floodSeconds: values.quick ? 3 : 20,
  say: (text) => console.error(text),
}

const figures: BarredFigure[] = []
for (const [area, measure] of Object.entries(areas)) {
  if (!isChosen(area)) continue
  const name = 'load average of the minute'
  const [before = Number.NaN] = loadavg()
  bench.say(`measuring ${area}; ${name} ${before.toFixed(2)}`)
  const begin = performance.now()
  figures.push(...(await measure(bench)))
  const seconds = (performance.now() - begin) / 1000
  const [after = Number.NaN] = loadavg()
  figures.push(
    reported({ area, name: `${name} before`, value: before, unit: '' }),
    reported({ area, name: `${name} after`, value: after, unit: '' }),
    reported({ area, name: 'time it took', value: seconds, unit: 's' }),
  )
}
console.log(`${figureTable(figures)}\n\n${verdictTable(figures)}`)
console.log(`\nNode ${process.versions.node}, ${availableParallelism()} processors`)
if (figures.some(({ area }) => area.startsWith('bridge '))) console.log(`\n${shownByTestsText()}`)
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
