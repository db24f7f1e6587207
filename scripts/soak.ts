// Runs connections against three instances and one Postgres while everything around them fails.
//   --minutes N     how long the faults last; default 2
//   --seed S        repeats the faults of another run; by default random, and printed
//   --grants N      connections; default 500
//   --json FILE     also writes the figures as JSON
//   --next          one `next start` instead, killed every three seconds, and PgBouncer in transaction mode; needs
//                   `npm run peers:hosts`
//   --keep          keeps the logs of the instances and prints their folder
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { figureJson, figureTable } from '../bench/figure.ts'
import { createRandom } from '../soak/random.ts'
import { nextSoakFigures, runNextSoak } from '../soak/next-soak.ts'
import { soakFigures } from '../soak/report.ts'
import { runSoak } from '../soak/soak.ts'
import { createTally } from '../soak/tally.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    grants: { type: 'string', default: '500' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    next: { type: 'boolean', default: false },
    server: { type: 'string', default: fileURLToPath(new URL('../server/launcher.cjs', import.meta.url)) },
  },
})
const [minutes, seed, grants] = [values.minutes, values.seed, values.grants].map(Number) as [
  number,
  number,
  number,
]
if (!(minutes > 0) || !Number.isInteger(seed) || !(grants >= 1))
  stop('--minutes, --seed and --grants are numbers.')
if (!existsSync(values.server)) stop(`There is no ${values.server}.`)

const scratch = mkdtempSync(join(tmpdir(), 'drawbridge-soak-'))
process.on('exit', () => {
  if (values.keep) console.error(`The logs are in ${scratch}.`)
  else rmSync(scratch, { recursive: true, force: true })
})
// Everything that was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const tally = createTally()
const began = Date.now()
console.error(`seed ${seed}`)
const run = values.next ? runNextSoak : runSoak
await run({
  launcher: values.server,
  scratch,
  grants,
  seconds: minutes * 60,
  random: createRandom(seed),
  tally,
  say: (text) => console.error(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`),
})
const figures = (values.next ? nextSoakFigures : soakFigures)(tally, grants, (Date.now() - began) / 1000)
console.log(figureTable(figures))
for (const accusation of tally.accusations()) console.log(accusation)
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
// Exits explicitly: after a failure of the soak itself, its clients would continue.
process.exit(figures.every(({ ok }) => ok) ? 0 : 1)

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
