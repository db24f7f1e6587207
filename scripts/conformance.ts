// Runs the MCP conformance suite against the built server, and through the built bridge. `--json FILE` also writes
// the figures as JSON, `--only TEXT` runs only names that contain TEXT.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { legacyRevisions, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type AreaFigure, atLeast, figureJson, figureTable } from '../bench/figure.ts'
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
const queue = chosen.entries()
let servers: Promise<SuiteServers> | undefined
try {
  await Promise.all(Array.from({ length: areasAtOnce }, work))
} finally {
  await (await servers)?.close()
}
const figures = chosen.map((area, index) => report(area, runs[index]))
console.log(figureTable(figures))
if (values.json !== undefined) writeFileSync(values.json, figureJson(figures))
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1

async function work(): Promise<void> {
  for (const [index, { name, run }] of queue) {
    console.error(name)
    runs[index] = await run()
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

/** Prints the scenarios of an area, required ones first, and the output of a suite that did not pass. */
function report({ name, scenarios }: Area, run: SuiteRun | undefined): AreaFigure {
  const { required = [], results = [], exitCode, output = '' } = run ?? {}
  const isScored = ({ scenario }: ScenarioResult): boolean => required.includes(scenario)
  const passed = results.filter((result) => isScored(result) && result.passed).length
  const figure = { ...atLeast(scenarios, name, passed, 'scenarios'), area: 'conformance' }
  // The suite's own result has to agree.
  figure.ok &&= exitCode === 0 && required.length === scenarios && passed === scenarios
  const sorted = results.toSorted((one, other) => Number(isScored(other)) - Number(isScored(one)))
  console.log(`${name}\n\n${sorted.map((each) => describeScenario(each, isScored(each))).join('\n')}\n`)
  if (!figure.ok) console.error(`The suite ended with ${exitCode} and said:\n${output}\n`)
  return figure
}

function describeScenario({ scenario, checks, passed }: ScenarioResult, isScored: boolean): string {
  const noted = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
  const verdict = passed ? 'passed' : isScored ? 'FAILED' : 'failed'
  const counts = `${checks.length - noted.length} of ${checks.length} checks${isScored ? '' : ', not required'}`
  // Optional scenarios are listed without an explanation.
  const explained = isScored ? noted : []
  return [
    `  ${verdict}  ${scenario} (${counts})`,
    ...explained.map(({ id, status, message }) => `          ${status} ${id}: ${message ?? ''}`),
  ].join('\n')
}
