import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  readChecks,
  requiredScenarios,
  type ScenarioResult,
  startSuite,
  type SuiteRun,
} from '../suite-process.ts'
import type { LocalEra } from './local-client.ts'

/** The pair that no set of requirements includes: a server of 2025-03-26 that is its own authorization server. */
const firstRevisionScenarios: readonly string[] = [
  'auth/2025-03-26-oauth-metadata-backcompat',
  'auth/2025-03-26-oauth-endpoint-fallback',
]

/** Additional scenarios that do not count. */
const unscored: Readonly<Record<string, readonly string[]>> = {
  '2026-07-28': [
    'auth/client-credentials-basic',
    'auth/client-credentials-jwt',
    'json-schema-2020-12-preservation',
  ],
}

// Each scenario starts three processes and has five seconds: more of them at once, of all runs, time out on a small machine.
const atOnce = 3
const running = new Set<Promise<unknown>>()
const scenarioTimeoutMs = 60_000
const driver = fileURLToPath(new URL('driver.ts', import.meta.url))

/** Runs the suite's client scenarios of `revision` through the built bridge, with a local client of `era`. */
export async function runClientSuite(revision: string, era: LocalEra): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-conformance-'))
  try {
    const required =
      revision === '2025-03-26' ? firstRevisionScenarios : await requiredScenarios('Client', revision, folder)
    const scenarios = [...required, ...(unscored[revision] ?? [])]
    const all = await Promise.all(
      scenarios.map((scenario) => inTurn(() => runScenario(scenario, revision, era, folder))),
    )
    const failed = all.filter(({ result }) => !result.passed && required.includes(result.scenario))
    return {
      required,
      results: all.map(({ result }) => result),
      exitCode: failed.length,
      output: failed.map(({ result, output }) => `--- ${result.scenario}\n${output}`).join('\n'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts `work` as soon as fewer than {@link atOnce} are running. */
async function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
  while (running.size >= atOnce) await Promise.race(running)
  const started = work()
  const over: Promise<unknown> = started.then(
    () => running.delete(over),
    () => running.delete(over),
  )
  running.add(over)
  return started
}

interface ScenarioRun {
  result: ScenarioResult
  output: string
}

async function runScenario(
  scenario: string,
  revision: string,
  era: LocalEra,
  folder: string,
): Promise<ScenarioRun> {
  const out = join(folder, scenario.replaceAll('/', '-'))
  const options = ['--scenario', scenario, '--spec-version', revision, '--timeout', String(scenarioTimeoutMs)]
  const argv = ['client', '--command', `${process.execPath} ${driver}`, ...options, '--force', '-o', out]
  const suite = startSuite(argv, folder, 2 * scenarioTimeoutMs, { DRIVER_ERA: era })
  const exitCode = await suite.ended
  const checks = [...readChecks(out).values()].flat()
  // The suite's own result, and proof that it checked something.
  const passed = exitCode === 0 && checks.some(({ status }) => status === 'SUCCESS')
  return { result: { scenario, checks, passed }, output: suite.output() }
}
