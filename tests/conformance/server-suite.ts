import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/server/free-port.ts'
import { startReverseProxy } from '../support/server/reverse-proxy.ts'
import { createPerson } from '../e2e/person.ts'
import { registerPlainClient } from '../e2e/plain-client.ts'
import { type ServerSettings, startServer } from '../e2e/server-process.ts'
import {
  type CheckResult,
  readChecks,
  requiredScenarios,
  type ScenarioResult,
  startSuite,
  type SuiteRun,
} from './suite-process.ts'

/** The revisions for which the suite has a frozen set of required scenarios. */
export type RequiredRevision = '2025-11-25' | '2026-07-28'

const suiteTimeoutMs = 120_000
const fixture = fileURLToPath(new URL('everything-tools.ts', import.meta.url))

/**
 * The built server with the tools that the suite uses, and a second one whose upstream is the first. The suite has no token: a proxy
 * adds it, and everything else is the servers' own gate.
 */
export interface SuiteServers {
  directUrl: string
  behindUrl: string
  close(): Promise<void>
}

/** Starts both servers. */
export async function openSuiteServers(): Promise<SuiteServers> {
  const inner = await openSignedIn({ TOOLS: fixture })
  const outer = await openSignedIn({ UPSTREAM: inner.mcpUrl })
  return {
    directUrl: inner.mcpUrl,
    behindUrl: outer.mcpUrl,
    async close() {
      await outer.close()
      await inner.close()
    },
  }
}

/** Runs the suite's `server` command with the required scenarios of `revision` against one of the {@link SuiteServers}. */
export async function runServerSuite(revision: RequiredRevision, mcpUrl: string): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-conformance-'))
  try {
    const required = await requiredScenarios('Server', revision, folder)
    const argv = ['server', '--url', mcpUrl, '--requirements', revision, '--output-dir', folder]
    const suite = startSuite(argv, folder, suiteTimeoutMs)
    const exitCode = await suite.ended
    const results = [...readChecks(folder)].map(([scenario, checks]) => judge(scenario, checks))
    return { required, results: inOrder(results, required), exitCode, output: suite.output() }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A server behind a proxy that is signed in. */
interface SignedInServer {
  mcpUrl: string
  close(): Promise<void>
}

async function openSignedIn(settings: ServerSettings): Promise<SignedInServer> {
  // The server's base URL is the proxy's address: Host passes through it unchanged.
  const port = await freePort()
  const server = await startServer({
    BASE_URL: `http://localhost:${port}`,
    ACCESS_TOKEN_TTL: '1h',
    ...settings,
  })
  let token = ''
  const proxy = await startReverseProxy(port, ({ url, headers }) => ({
    origin: server.origin,
    headers: { ...headers, ...(url === '/mcp' && { authorization: `Bearer ${token}` }) },
  }))
  const client = await registerPlainClient(server)
  token = (await client.connect(await createPerson(server))).access_token
  return {
    mcpUrl: server.mcpUrl,
    async close() {
      await proxy.close()
      await server.close()
    },
  }
}

/** Requires that no check failed and one succeeded: a scenario that checked nothing proves nothing. */
function judge(scenario: string, checks: CheckResult[]): ScenarioResult {
  const failed = checks.some(({ status }) => status === 'FAILURE')
  const succeeded = checks.some(({ status }) => status === 'SUCCESS')
  return { scenario, checks, passed: !failed && succeeded }
}

/** Sorts the required ones first, including those that did not run. */
function inOrder(results: ScenarioResult[], required: readonly string[]): ScenarioResult[] {
  const found = required.map(
    (name) =>
      results.find(({ scenario }) => scenario === name) ?? { scenario: name, checks: [], passed: false },
  )
  return [...found, ...results.filter(({ scenario }) => !required.includes(scenario))]
}
