import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { figureJson, figureTable } from '../bench/figure.ts'
import { connectionSoak, nextSoak } from '../soak/connections.ts'
import { createRandom } from '../soak/random.ts'
import { runSoak } from '../soak/soak.ts'
import { createTally } from '../soak/tally.ts'
import { tokenSoak } from '../soak/token-soak.ts'

const help = `Runs connections against three instances and one Postgres while everything around them fails.

npm run soak -- [flags]
  --minutes N     how long the faults last; default 2
  --seed S        repeats the faults of another run; by default random, and printed
  --grants N      connections, or people with tokens; default 500, with --tokens 20
  --json FILE     also writes the figures as JSON
  --next          one \`next start\` instead, killed every three seconds, and PgBouncer in transaction mode; needs
                  \`npm run peers:hosts\`
  --tokens        personal tokens and services instead, over ninety days of a clock that is put ahead again and again
  --days N        with --tokens: how many days pass at once; default 1
  --keep          keeps the logs of the instances and prints their folder
  --server FILE   the launcher of another built server`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    grants: { type: 'string' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    next: { type: 'boolean', default: false },
    tokens: { type: 'boolean', default: false },
    days: { type: 'string', default: '1' },
    server: { type: 'string', default: fileURLToPath(new URL('../server/launcher.cjs', import.meta.url)) },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const scenario = values.tokens ? tokenSoak : values.next ? nextSoak : connectionSoak
const given = values.grants ?? (values.tokens ? '20' : '500')
const [minutes = 0, seed = 0, grants = 0, days = 0] = [values.minutes, values.seed, given, values.days].map(
  Number,
)
if (!(minutes > 0) || !Number.isInteger(seed) || !(grants >= 1))
  stop('--minutes, --seed and --grants are numbers.')
if (!(days > 0 && days <= 90)) stop('--days is a number from 0 to 90.')
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
const figures = await runSoak(
  {
    launcher: values.server,
    scratch,
    grants,
    seconds: minutes * 60,
    days,
    random: createRandom(seed),
    tally,
    endings: [],
    say: (text) => console.error(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`),
  },
  scenario,
)
console.log(figureTable(figures))
for (const accusation of tally.accusations()) console.log(accusation)
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
// Exits explicitly: after a failure of the soak itself, its clients would continue.
process.exit(figures.every(({ ok }) => ok) ? 0 : 1)

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
