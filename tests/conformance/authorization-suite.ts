import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBrowser } from '../support/server/browser.ts'
import { freePort } from '../support/server/free-port.ts'
import { createPerson, type Person } from '../e2e/person.ts'
import { register } from '../e2e/plain-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { readChecks, type ScenarioResult, startSuite, type SuiteRun } from './suite-process.ts'

/** The suite's scenarios for an authorization server at revision 2026-07-28. */
const scenarios: readonly string[] = ['authorization-server-metadata-endpoint', 'authorization-code-grant']

const suiteTimeoutMs = 60_000

/**
 * Runs the MCP conformance suite's `authorization` command against the built server with its embedded provider, and plays the user
 * in the browser: the suite prints the authorization URL and waits at its callback.
 */
export async function runAuthorizationSuite(): Promise<SuiteRun> {
  const server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-conformance-'))
  try {
    const port = await freePort()
    const metadata = {
      client_name: 'Conformance suite',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
    }
    const { client_id: clientId } = await register(server, metadata)
    const { exitCode, output } = await runSuite(server, { clientId, port, folder })
    return { required: scenarios, results: readResults(folder), exitCode, output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await server.close()
  }
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
  const suite = startSuite(['authorization', ...argv], folder, suiteTimeoutMs)
  let failure = ''
  let signIn: Promise<void> | undefined
  const failSuite = (reason: string): void => {
    failure = `\n${reason}\n`
    suite.child.kill('SIGKILL')
  }
  const read = (): void => {
    const url = /^\s*(https?:\S*[?&]response_type=code\S*)\s*$/m.exec(suite.output())?.[1]
    // A failed sign-in ends the suite at once, instead of after its own five minutes.
    if (url) signIn ??= allow(url, person, server).catch((error: unknown) => failSuite(String(error)))
  }
  suite.child.stdout?.on('data', read)
  suite.child.stderr?.on('data', read)
  const exitCode = await suite.ended
  await signIn
  return { exitCode, output: suite.output() + failure }
}

/** Signs in at `url` and follows the redirect to the callback of the suite. */
async function allow(url: string, { email, password }: Person, server: ServerProcess): Promise<void> {
  const browser = createBrowser((request) => server.fetch(request))
  const login = await browser.visit(url)
  const callback = await browser.submit(login, 'password', { email, password })
  if (!callback.response?.ok) throw new Error(`The sign-in ended with status ${callback.response?.status}.`)
}

/** Reads the results. A scenario passed if a check succeeded, and no other failed or so much as warned. */
function readResults(folder: string): ScenarioResult[] {
  const reports = [...readChecks(folder)]
  return scenarios.map((scenario) => {
    const checks = reports.find(([name]) => name.includes(scenario))?.[1] ?? []
    const noted = checks.filter(({ status }) => status !== 'INFO')
    const passed = noted.length > 0 && noted.every(({ status }) => status === 'SUCCESS')
    return { scenario, checks, passed }
  })
}
