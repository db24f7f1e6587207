// Runs the MCP conformance suite against the built server, and through the built bridge. `--json FILE` also writes
// the figures as JSON, `--only TEXT` runs only names that contain TEXT.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Figure } from '../bench/figure.ts'
import { runAuthorizationSuite } from '../tests/conformance/authorization-suite.ts'
import { runClientSuite } from '../tests/conformance/client/client-suite.ts'
import { openSuiteServers, type RequiredRevision, runServerSuite } from '../tests/conformance/server-suite.ts'
import type { ScenarioResult, SuiteRun } from '../tests/conformance/suite-process.ts'

const { values } = parseArgs({
  options: { json: { type: 'string' }, only: { type: 'string', default: '' } },
})

const bridge = fileURLToPath(new URL('../bridge/launcher.cjs', import.meta.url))
const clientRevisions = ['2025-03-26', '2025-11-25', '2026-07-28']
const localEras = ['legacy', 'modern'] as const

const areas: [name: string, run: () => Promise<SuiteRun>][] = [
  ['authorization server', runAuthorizationSuite],
  ['server 2025-11-25', () => runAt('directUrl', '2025-11-25')],
  ['server 2026-07-28', () => runAt('directUrl', '2026-07-28')],
  ['upstream 2025-11-25', () => runAt('behindUrl', '2025-11-25')],
  ['upstream 2026-07-28', () => runAt('behindUrl', '2026-07-28')],
  ...clientRevisions.flatMap((revision) =>
    localEras.map((era): (typeof areas)[number] => [
      `client ${revision}, ${era} local client`,
      () => runClientSuite(revision, era, bridge),
    ]),
  ),
]

const figures: Figure[] = []
for (const [name, run] of areas.filter(([name]) => name.includes(values.only)))
  figures.push(report(name, await run()))
console.log(figures.map(summary).join('\n'))
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, undefined, 2)}\n`)
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1

async function runAt(which: 'directUrl' | 'behindUrl', revision: RequiredRevision): Promise<SuiteRun> {
  const servers = await openSuiteServers()
  try {
    return await runServerSuite(revision, servers[which])
  } finally {
    await servers.close()
  }
}

function report(name: string, { required, results, exitCode, output }: SuiteRun): Figure {
  const scored = results.filter(({ scenario }) => required.includes(scenario))
  const figure: Figure = {
    area: 'conformance',
    name,
    value: scored.filter(({ passed }) => passed).length,
    unit: 'scenarios',
    bar: required.length,
    // The suite's own result has to agree.
    ok: exitCode === 0 && required.length > 0 && scored.every(({ passed }) => passed),
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
