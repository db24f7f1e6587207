import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { findingsOf, warn } from '@drawbridge/shared/terminal/check.ts'
import { type Finding, findingSummary, findingText } from '@drawbridge/shared/terminal/finding.ts'
import {
  type BridgeConfig,
  createBridgeConfig,
  namesByOrigin,
  readSettings,
} from '../../config/config-reader.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { type CommandInput, credentialsOf } from '../command.ts'
import type { FirstAnswer } from '../connect/endpoint-probe.ts'
import { memoryOf } from '../connect/memory-file.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { terminalColumns } from '../terminal/output.ts'
import { asTyped } from '../terminal/program-name.ts'
import { waitFor } from '../terminal/progress.ts'
import { readStore, storeChecks, type StoreFacts } from './credential-check.ts'
import { probeEndpoint, endpointChecks, signInNeed } from './endpoint-check.ts'
import { exitCodeOf } from './finding.ts'
import { ownChecks } from './own-check.ts'
import { findSignIn, signInChecks } from './sign-in-check.ts'

/** Groups of findings, each printed as soon as it is complete. */
type Findings<Result = void> = AsyncGenerator<readonly Finding[], Result>

/**
 * Checks everything that a connection depends on, and says what to do about each fault. Continues after failures, in an
 * order in which the first fault is likely to explain the later ones. Renews and stores nothing.
 */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { json, terminal, line, surroundings } = input
  const all: Finding[] = []
  const layout = { nameWidth: 20, colour: terminal.colour, columns: terminalColumns() }
  const print = (findings: readonly Finding[]): void => {
    for (const { fix, ...rest } of findings) {
      const finding = { ...rest, ...(fix !== undefined && { fix: asTyped(fix) }) }
      all.push(finding)
      if (!json) terminal.print(findingText(finding, layout))
    }
  }
  const read = readSettings(line, surroundings)
  const given = namesByOrigin(read)
  const path = join(read.home, 'config.json')
  let config: BridgeConfig | undefined
  let problems: readonly string[] = []
  try {
    config = { ...createBridgeConfig(read, surroundings), credentials: credentialsOf(read) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    problems = error.problems
  }
  const file = { path, mode: statSync(path, { throwIfNoEntry: false })?.mode }
  const { platform } = surroundings
  const { warnings } = read
  const nodeVersion = process.versions.node
  print(findingsOf(ownChecks, { nodeVersion, problems, warnings, given, file, platform }))
  if (config === undefined) {
    print([{ name: 'endpoint', ...warn('Not checked yet: correct the configuration first.') }])
  } else {
    const http = createHttpClient(config.network)
    const findings = examine(config, { http, runtime: input.runtime })
    try {
      for (;;) {
        const { value, done } = await waitFor(terminal, () => 'checking', findings.next())
        if (done) break
        print(value)
      }
    } finally {
      http.close()
    }
  }
  const code = config === undefined ? exitCode.usage : exitCodeOf(all)
  const checks = all.map(({ exit: _exit, ...finding }) => finding)
  const facts = { ok: code === exitCode.ok, checks, settings: given }
  terminal.print(json ? jsonForTerminal(facts) : `\n${findingSummary(all)}`)
  return code
}

/** Follows a connection from the first request to the list of tools, as far as the stored login allows. */
export async function* examine(config: BridgeConfig, ports: OAuthPorts): Findings {
  const { runtime } = ports
  const facts = await probeEndpoint(config, ports)
  yield findingsOf(endpointChecks, facts)
  const { answer } = facts
  if (answer === undefined) {
    // The stored login decides nothing here, but may be damaged.
    if (config.fixedBy === undefined) yield findingsOf(storeChecks, await readStore(config, runtime))
    return
  }
  const need = signInNeed(facts)
  if (need === undefined) return
  const isWanted = need === 'wanted'
  const token = need === 'none' ? undefined : yield* examineLogin(answer, isWanted, config, ports)
  if (isWanted && token === undefined && config.fixedBy === undefined) return
  const { sessionChecks, listTools } = await import('./session-check.ts')
  const remembered = memoryOf(config, () => {}).read()
  yield findingsOf(sessionChecks, await listTools(config, { ...ports, token, remembered }))
}

/** Checks the sign-in and the stored login, and returns its token while that is valid. */
async function* examineLogin(
  { challenges }: FirstAnswer,
  isWanted: boolean,
  config: BridgeConfig,
  ports: OAuthPorts,
): Findings<string | undefined> {
  const store = config.fixedBy === undefined ? await readStore(config, ports.runtime) : undefined
  const found = await findSignIn(challenges, store?.credential, config, ports)
  yield findingsOf(signInChecks, found)
  if (store === undefined) return config.token
  yield findingsOf(storeChecks, { ...store, issuer: found.server?.metadata.issuer, isWanted })
  return tokenOf(store)
}

/** Returns the token of the stored login while that is valid: renewing it is left to a connection. */
function tokenOf({ credential, config, now }: StoreFacts): string | undefined {
  const { tokens, signInNeeded } = credential ?? {}
  if (signInNeeded !== undefined || (tokens?.expiresAt ?? Infinity) <= now) return undefined
  return config.oauth.useIdToken ? tokens?.idToken : tokens?.accessToken
}
