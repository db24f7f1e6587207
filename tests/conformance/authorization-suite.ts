import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createBrowser } from '../../server/testing/browser.ts'
import { freePort } from '../e2e/free-port.ts'
import { createPerson, type Person } from '../e2e/person.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'

/** The scenarios that the suite has for an authorization server at revision 2026-07-28. */
export const authorizationScenarios: readonly string[] = [
  'authorization-server-metadata-endpoint',
  'authorization-code-grant',
]

/** What the suite noted about one rule of a scenario. */
export interface CheckResult {
  id: string
  status: string
  message: string | undefined
}

/** How one scenario went. It passed when at least one check succeeded and the others gave no more than a warning. */
export interface ScenarioResult {
  scenario: string
  checks: CheckResult[]
  passed: boolean
}

/** Everything one run of the suite said. */
export interface SuiteRun {
  results: ScenarioResult[]
  exitCode: number | null
  output: string
}

const suiteTimeoutMs = 60_000

/**
 * Runs the MCP conformance suite's `authorization` command against the built server with its embedded provider, and
 * plays the person at the browser: the suite prints the authorization URL and waits at its callback.
 */
export async function runAuthorizationSuite(): Promise<SuiteRun> {
  const server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-conformance-'))
  try {
    const port = await freePort()
    const clientId = await registerClient(server, `http://127.0.0.1:${port}/callback`)
    const { exitCode, output } = await runSuite(server, { clientId, port, folder })
    return { results: readResults(folder), exitCode, output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await server.close()
  }
}

async function registerClient(server: ServerProcess, redirectUri: string): Promise<string> {
  const response = await server.fetch(`${server.baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Conformance suite',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }),
  })
  if (response.status !== 201) throw new Error(`Registering the suite answered ${response.status}.`)
  return ((await response.json()) as { client_id: string }).client_id
}

async function runSuite(
  server: ServerProcess,
  { clientId, port, folder }: { clientId: string; port: number; folder: string },
): Promise<Pick<SuiteRun, 'exitCode' | 'output'>> {
  const person = await createPerson(server)
  const options = {
    url: server.baseUrl,
    'client-id': clientId,
    port: String(port),
    resource: server.mcpUrl,
    'spec-version': '2026-07-28',
    'output-dir': folder,
  }
  const argv = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const suite = spawn(process.execPath, [findSuite(), 'authorization', ...argv], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const giveUp = setTimeout(() => suite.kill('SIGKILL'), suiteTimeoutMs)
  let output = ''
  let signIn: Promise<void> | undefined
  const read = (chunk: Buffer): void => {
    output += chunk.toString()
    const url = /^\s*(https?:\S*[?&]response_type=code\S*)\s*$/m.exec(output)?.[1]
    // A failed sign-in ends the suite at once, instead of after its own five minutes.
    if (url) signIn ??= allow(url, person, server).catch((error: unknown) => failSuite(String(error)))
  }
  const failSuite = (reason: string): void => {
    output += `\n${reason}\n`
    suite.kill('SIGKILL')
  }
  suite.stdout.on('data', read)
  suite.stderr.on('data', read)
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    suite.once('error', reject)
    suite.once('close', resolve)
  })
  clearTimeout(giveUp)
  await signIn
  return { exitCode, output }
}

/** Signs in at `url` and lets the browser follow the redirect to the callback of the suite. */
async function allow(url: string, { email, password }: Person, server: ServerProcess): Promise<void> {
  const browser = createBrowser((request) => server.fetch(request))
  const login = await browser.visit(url)
  const callback = await browser.submit(login, 'password', { email, password })
  if (!callback.response?.ok) throw new Error(`The sign-in ended with status ${callback.response?.status}.`)
}

function findSuite(): string {
  const manifest = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))
  return join(dirname(manifest), 'dist', 'index.js')
}

/** The suite leaves one folder with `checks.json` for each scenario that it ran. */
function readResults(folder: string): ScenarioResult[] {
  const reports = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('checks.json'),
  )
  return authorizationScenarios.map((scenario) => {
    const report = reports.find((path) => path.includes(scenario))
    const written =
      report === undefined ? [] : (JSON.parse(readFileSync(join(folder, report), 'utf8')) as Check[])
    const checks = written.map(({ id, status, errorMessage }) => ({ id, status, message: errorMessage }))
    const harmless = checks.every(({ status }) => ['SUCCESS', 'WARNING', 'INFO'].includes(status))
    return { scenario, checks, passed: harmless && checks.some(({ status }) => status === 'SUCCESS') }
  })
}

interface Check {
  id: string
  status: string
  errorMessage?: string
}
