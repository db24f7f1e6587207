// Runs the MCP conformance suite against the built server. `--json FILE` also writes the figures as JSON.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Figure } from '../bench/figure.ts'
import { runAuthorizationSuite, type ScenarioResult } from '../tests/conformance/authorization-suite.ts'

const { values } = parseArgs({ options: { json: { type: 'string' } } })

const { results, exitCode, output } = await runAuthorizationSuite()
const figure: Figure = {
  area: 'conformance',
  name: 'authorization server, 2026-07-28',
  value: results.filter(({ passed }) => passed).length,
  unit: 'scenarios',
  bar: results.length,
  // The suite must agree: its own verdict counts too.
  ok: exitCode === 0 && results.length > 0 && results.every(({ passed }) => passed),
}

console.log(`${figure.name}\n`)
for (const result of results) console.log(describeScenario(result))
console.log(`\n${figure.value} of ${figure.bar} ${figure.unit} passed: ${figure.ok ? 'ok' : 'NOT ok'}`)
if (!figure.ok) console.error(`\nThe suite ended with ${exitCode} and said:\n${output}`)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify([figure], undefined, 2)}\n`)
process.exitCode = figure.ok ? 0 : 1

function describeScenario({ scenario, checks, passed }: ScenarioResult): string {
  const noted = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
  const head = `  ${passed ? 'passed' : 'FAILED'}  ${scenario} (${checks.length - noted.length} of ${checks.length} checks)`
  return [
    head,
    ...noted.map(({ id, status, message }) => `          ${status} ${id}: ${message ?? ''}`),
  ].join('\n')
}
