// Runs the MCP conformance suite against the built server, and through the built bridge. `--json FILE` also writes
// the figures as JSON, `--only TEXT` runs only names that contain TEXT.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { legacyRevisions, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Figure } from '../bench/figure.ts'
import { runAuthorizationSuite } from '../tests/conformance/authorization-suite.ts'
import { runClientSuite } from '../tests/conformance/client/client-suite.ts'
import type { LocalEra } from '../tests/conformance/client/local-client.ts'
import {
  openSuiteServers,
  type RequiredRevision,
  runServerSuite,
  type SuiteServers,
} from '../tests/conformance/server-suite.ts'
import type { ScenarioResult, SuiteRun } from '../tests/conformance/suite-process.ts'

const { values } = parseArgs({
  options: { json: { type: 'string' }, only: { type: 'string', default: '' } },
})

/** `scenarios` is how many the suite requires: a version of it that requires others is not to pass unseen. */
interface Area {
  name: string
  scenarios: number
  run: () => Promise<SuiteRun>
}

const areas: readonly Area[] = [
  { name: 'authorization server', scenarios: 2, run: runAuthorizationSuite },
  { name: 'server 2025-11-25', scenarios: 30, run: () => runAt('directUrl', '2025-11-25') },
  { name: 'server 2026-07-28', scenarios: 37, run: () => runAt('directUrl', '2026-07-28') },
  { name: 'upstream 2025-11-25', scenarios: 30, run: () => runAt('behindUrl', '2025-11-25') },
  { name: 'upstream 2026-07-28', scenarios: 37, run: () => runAt('behindUrl', '2026-07-28') },
  clientArea('2025-03-26', 'legacy', 2),
  clientArea('2025-11-25', 'legacy', 18),
  clientArea('2026-07-28', 'legacy', 32),
  clientArea('2026-07-28', 'modern', 32),
]

/** More than a small machine has cores would end scenarios of clients, each of which has five seconds inside the suite. */
const areasAtOnce = 2

const chosen = areas.filter(({ name }) => name.includes(values.only))
const runs: SuiteRun[] = []
const figures: Figure[] = []
let servers: Promise<SuiteServers> | undefined
try {
  const queue = chosen.entries()
  await Promise.all(Array.from({ length: areasAtOnce }, () => work(queue)))
} finally {
  await (await servers)?.close()
}
console.log(figures.map(summary).join('\n'))
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, undefined, 2)}\n`)
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1

/** Runs the rest of the queue, and reports in its order. */
async function work(queue: Iterable<[number, Area]>): Promise<void> {
  for (const [index, { run }] of queue) {
    runs[index] = await run()
    for (const [at, area] of chosen.entries()) {
      const ended = runs[at]
      if (ended === undefined) break
      figures[at] ??= report(area, ended)
    }
  }
}

async function runAt(which: 'directUrl' | 'behindUrl', revision: RequiredRevision): Promise<SuiteRun> {
  servers ??= openSuiteServers()
  return runServerSuite(revision, (await servers)[which])
}

/** The suite's servers of a revision, before a bridge with a local client that speaks 2025-11-25 or 2026-07-28. */
function clientArea(revision: string, era: LocalEra, scenarios: number): Area {
  const local = era === 'legacy' ? legacyRevisions[0] : modernRevision
  const name = `client ${revision}, local client of ${local}`
  return { name, scenarios, run: () => runClientSuite(revision, era) }
}

function report({ name, scenarios }: Area, { required, results, exitCode, output }: SuiteRun): Figure {
  const scored = results.filter(({ scenario }) => required.includes(scenario))
  const passed = scored.filter((result) => result.passed)
  const figure: Figure = {
    area: 'conformance',
    name,
    value: passed.length,
    unit: 'scenarios',
    bar: scenarios,
    // The suite's own result has to agree.
    ok: exitCode === 0 && required.length === scenarios && passed.length === scenarios,
  }
  console.log(`${name}\n`)
  for (const result of scored) console.log(describeScenario(result))
  for (const result of results.filter((each) => !scored.includes(each)))
    console.log(describeScenario(result, ', not required'))
  console.log(`\n${summary(figure)}\n`)
  if (!figure.ok) console.error(`The suite ended with ${exitCode} and said:\n${output}\n`)
  return figure
}

function summary({ name, value, bar, unit, ok }: Figure): string {
  return `${name}: ${value} of ${bar} ${unit} passed: ${ok ? 'ok' : 'NOT ok'}`
}

function describeScenario({ scenario, checks, passed }: ScenarioResult, note = ''): string {
  const noted = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
  const verdict = passed ? 'passed' : note === '' ? 'FAILED' : 'failed'
  const head = `  ${verdict}  ${scenario} (${checks.length - noted.length} of ${checks.length} checks${note})`
  // Optional scenarios are listed without an explanation.
  if (note !== '') return head
  return [
    head,
    ...noted.map(({ id, status, message }) => `          ${status} ${id}: ${message ?? ''}`),
  ].join('\n')
}
