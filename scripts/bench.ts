// Measures the built server beside a bare node:http server and its peers, in one run. Needs Linux: times come from /proc.
//   --json FILE     also writes the figures as JSON
//   --quick         shorter, with a tenth of the large store: to see that it works
//   --only AREA     one of those below; may be repeated
//   --server FILE   the launcher of another built checkout, to compare two
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Bench } from '../bench/bench.ts'
import { measureBridgeCalls } from '../bench/bridge/call-area.ts'
import { measureBridgeSize } from '../bench/bridge/size-area.ts'
import { measureBridgeStart } from '../bench/bridge/start-area.ts'
import { type BarredFigure, figureJson, figureTable } from '../bench/figure.ts'
import { measureFlood } from '../bench/flood-area.ts'
import { measureMetadata, measureToolsList } from '../bench/read-area.ts'
import { measureRefresh } from '../bench/refresh-area.ts'
import { measureStart } from '../bench/start-area.ts'
import { measureStore } from '../bench/store-area.ts'

const areas: Readonly<Record<string, (bench: Bench) => Promise<BarredFigure[]>>> = {
  refresh: measureRefresh,
  store: measureStore,
  metadata: measureMetadata,
  'tools/list': measureToolsList,
  start: measureStart,
  flood: measureFlood,
  'bridge start': measureBridgeStart,
  'bridge calls': measureBridgeCalls,
  'bridge size': measureBridgeSize,
}

const repository = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: Object.keys(areas) },
    server: { type: 'string', default: join(repository, 'server', 'launcher.cjs') },
  },
})
const unknown = values.only.filter((area) => !Object.hasOwn(areas, area))
if (unknown.length > 0)
  stop(`There is no area ${unknown.join(', ')}. There are ${Object.keys(areas).join(', ')}.`)
if (process.platform !== 'linux') stop('This measures by /proc, which only Linux has.')
const launcher = resolve(values.server)
if (!existsSync(launcher)) stop(`There is no ${launcher}.`)

// In the repository and not in the folder for temporary files, which may be in memory: commits must reach a disk.
// Git ignores folders of this name.
const parent = join(repository, '.drawbridge')
mkdirSync(parent, { recursive: true })
const scratch = mkdtempSync(join(parent, 'bench-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

const bench: Bench = {
  launcher,
  scratch,
  packageFolder: join(parent, 'bench-packages'),
  plan: values.quick
    ? { rounds: 3, roundMs: 1500, warmUpMs: 1000 }
    : { rounds: 5, roundMs: 3000, warmUpMs: 2000 },
  connections: 64,
  storeSizes: [1000, values.quick ? 100_000 : 1_000_000],
  startRounds: values.quick ? 3 : 7,
  floodSeconds: values.quick ? 5 : 30,
  say: (text) => console.error(text),
}

const figures: BarredFigure[] = []
for (const [area, measure] of Object.entries(areas)) {
  if (!values.only.includes(area)) continue
  bench.say(`measuring ${area}`)
  figures.push(...(await measure(bench)))
}
console.log(figureTable(figures))
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
