// Lets connections work on three instances and one Postgres while everything around them fails.
//   --minutes N     how long the trouble lasts; 2 when it is left out
//   --seed S        repeats the trouble of another run; drawn and printed when it is left out
//   --grants N      connections; 500 when it is left out
//   --json FILE     also writes the figures as JSON
//   --keep          keeps the logs of the instances and says where they are
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { figureJson, figureTable } from '../bench/figure.ts'
import { createRandom } from '../soak/random.ts'
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
await runSoak({
  launcher: values.server,
  scratch,
  grants,
  seconds: minutes * 60,
  random: createRandom(seed),
  tally,
  say: (text) => console.error(`${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`),
})
const figures = soakFigures(tally, grants, (Date.now() - began) / 1000)
console.log(figureTable(figures))
for (const accusation of tally.accusations()) console.log(accusation)
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
// Not only the code: when the soak itself failed, its clients would go on.
process.exit(figures.every(({ ok }) => ok) ? 0 : 1)

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}
