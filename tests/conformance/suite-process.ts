import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../support/compile-cache.ts'

const listTimeoutMs = 60_000

/** The suite's result for one rule of a scenario. */
export interface CheckResult {
  id: string
  status: string
  message: string | undefined
}

const lists = new Map<string, Promise<string>>()

/** Returns the scenarios that the suite requires of one `side` at `revision`. Asks the suite once for each revision. */
export async function requiredScenarios(
  side: 'Server' | 'Client',
  revision: string,
  home: string,
): Promise<string[]> {
  const listed = lists.get(revision) ?? listRequired(revision, home)
  lists.set(revision, listed)
  const list = new RegExp(`^${side} scenarios[^\\n]*\\n([^]*?)\\n\\n`, 'm').exec(`${await listed}\n\n`)?.[1]
  return [...(list ?? '').matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name ?? '')
}

async function listRequired(revision: string, home: string): Promise<string> {
  const suite = startSuite(['list', '--requirements', revision], home, listTimeoutMs)
  await suite.ended
  return suite.output()
}

/** The result of one scenario. */
export interface ScenarioResult {
  scenario: string
  checks: CheckResult[]
  passed: boolean
}

/** The results of one run of the suite. `required` names the scenarios that count; the others may fail. */
export interface SuiteRun {
  required: readonly string[]
  results: ScenarioResult[]
  exitCode: number | null
  output: string
}

/** A running process of the suite's command line. */
export interface SuiteProcess {
  child: ChildProcess
  output(): string
  ended: Promise<number | null>
}

/**
 * Starts the command line of the suite, with `home` for its files. Kills it after `timeoutMs`. `environment` reaches the programs
 * that the suite starts.
 */
export function startSuite(
  argv: readonly string[],
  home: string,
  timeoutMs: number,
  environment: Readonly<Record<string, string>> = {},
): SuiteProcess {
  const child = spawn(process.execPath, [findSuite(), ...argv], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const giveUp = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let output = ''
  const read = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(() => clearTimeout(giveUp))
  return { child, output: () => output, ended }
}

/** Reads the checks of each scenario that left its `checks.json` in `folder`, by the name of the scenario. */
export function readChecks(folder: string): Map<string, CheckResult[]> {
  const reports = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('checks.json'),
  )
  return new Map(
    reports.map((path) => {
      const written = JSON.parse(readFileSync(join(folder, path), 'utf8')) as Check[]
      const checks = written.map(({ id, status, errorMessage }) => ({ id, status, message: errorMessage }))
      return [scenarioOf(dirname(path)), checks]
    }),
  )
}

/** Returns the scenario of a folder: `server-tools-list-2026-07-28T10-00-00-000Z` contains `tools-list`. */
function scenarioOf(folder: string): string {
  return folder.replace(/^(?:server|client|authorization)-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
}

function findSuite(): string {
  const manifest = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))
  return join(dirname(manifest), 'dist', 'index.js')
}

interface Check {
  id: string
  status: string
  errorMessage?: string
}
