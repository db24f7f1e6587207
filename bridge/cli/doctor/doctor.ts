import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ReadSettings,
  createBridgeConfig,
  namesByOrigin,
  readSettings,
} from '../../config/config-reader.ts'
import { type BridgeConfig, ConfigError } from '../../config/config.ts'
import type { Credential } from '../../credentials/credential.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { terminalColumns } from '../terminal/output.ts'
import { waitFor } from '../terminal/progress.ts'
import { type CommandInput, credentialsOf } from '../command.ts'
import { loginIdOf } from '../connect/connection-login.ts'
import { checkKeychain, checkLock, checkLogin } from './credential-check.ts'
import { checkEndpoint, checkProxy } from './endpoint-check.ts'
import { type Finding, exitCodeOf, factsOf, failureFinding, warn } from './finding.ts'
import { findingSummary, findingText } from '@drawbridge/shared/terminal/finding.ts'
import { checkSignIn } from './sign-in-check.ts'
import { checkClock, checkCommandLine, checkConfiguration, checkFileMode, checkNode } from './own-check.ts'
import { type FirstAnswer, askFirst, namesSignIn } from '../connect/endpoint-probe.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { failureContextOf } from '../failure/failure-text.ts'
import { memoryOf } from '../connect/memory-file.ts'

/** Groups of findings, each printed as soon as it is there. */
type Findings = AsyncGenerator<readonly Finding[]>

/**
 * Checks everything that a connection depends on, and says what to do about each fault. Continues after failures, in an
 * order in which the first fault is likely to explain the later ones. Renews and stores nothing.
 */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { json, terminal, line, surroundings } = input
  const all: Finding[] = []
  const columns = terminalColumns()
  const say = (findings: readonly Finding[]): void => {
    all.push(...findings)
    if (!json)
      for (const finding of findings)
        terminal.print(findingText(finding, { nameWidth: 20, colour: terminal.colour, columns }))
  }
  const read = readSettings(line, surroundings)
  const settings = namesByOrigin(read)
  const { config, problems } = tryConfig(read, input)
  say([
    checkNode(process.versions.node),
    ...checkConfiguration(problems, read.warnings, settings),
    ...checkFileMode(
      join(read.home, 'config.json'),
      modeOf(join(read.home, 'config.json')),
      surroundings.platform,
    ),
    ...checkCommandLine(line.flags),
  ])
  if (config !== undefined) {
    const findings = examine(config, input)
    for (;;) {
      const { value, done } = await waitFor(terminal, () => 'checking', findings.next())
      if (done) break
      say(value)
    }
  } else say([warn('endpoint', 'The rest is checked once the configuration has no faults.')])
  const code = problems.length > 0 ? exitCode.usage : exitCodeOf(all)
  terminal.print(
    json
      ? JSON.stringify({ ok: code === exitCode.ok, checks: all.map(factsOf), settings })
      : `\n${findingSummary(all)}`,
  )
  return code
}

function tryConfig(
  read: ReadSettings,
  { surroundings }: CommandInput,
): { config: BridgeConfig | undefined; problems: readonly string[] } {
  try {
    const config = createBridgeConfig(read, surroundings)
    return { config: { ...config, credentials: credentialsOf(read) }, problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: undefined, problems: error.problems }
  }
}

function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode
  } catch {
    return undefined
  }
}

async function* examine(config: BridgeConfig, input: CommandInput): Findings {
  const http = createHttpClient(config.network)
  const ports = { http, runtime: input.runtime }
  const context = failureContextOf(config)
  try {
    yield [checkProxy(config.serverUrl, config.network)]
    let answer: FirstAnswer
    try {
      answer = await askFirst(http, config.serverUrl, withoutLogin(config.proxy.headers))
    } catch (error) {
      yield [failureFinding('endpoint', error, context)]
      yield* examineStore(config, input, { context, issuer: undefined, isWanted: true })
      return
    }
    const isNamed = answer.status !== 401 && (await namesSignIn(config.oauth, ports).catch(() => false))
    const { finding, need } = checkEndpoint(answer, isNamed)
    yield [finding, ...checkClock(answer.date, input.runtime.now())]
    if (need === undefined) return
    let token: string | undefined
    if (need !== 'none') {
      const { findings, issuer } = await checkSignIn(answer.challenges, config.oauth, ports, context)
      yield findings
      const isWanted = need === 'wanted'
      token = config.token ?? (yield* examineStore(config, input, { context, issuer, isWanted }))
      if (isWanted && token === undefined && config.fixedBy === undefined) return
    }
    const { checkSession } = await import('./session-check.ts')
    const remembered = memoryOf(config, () => {}).read()
    yield [await checkSession(config.proxy, { ...ports, token, remembered, context })]
  } finally {
    http.close()
  }
}

function withoutLogin(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'),
  )
}

/** Checks the stored login. Returns its token while that is valid: renewing it is left to a connection. */
async function* examineStore(
  config: BridgeConfig,
  { runtime }: CommandInput,
  expected: Parameters<typeof checkLogin>[1],
): AsyncGenerator<readonly Finding[], string | undefined> {
  if (config.fixedBy !== undefined) return config.token
  yield [await checkKeychain(config.credentials, expected.context)]
  const id = loginIdOf(config)
  let credential: Credential | undefined
  try {
    const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
    const store = createCredentialStore(config.credentials, { runtime, announce: () => {} })
    credential = await store.read(id)
  } catch (error) {
    yield [failureFinding('login', error, expected.context)]
    return undefined
  }
  yield [checkLogin(credential, expected, runtime.now()), checkLock(config.credentials, id)]
  const tokens = credential?.signInNeeded === undefined ? credential?.tokens : undefined
  const isValid = (tokens?.expiresAt ?? Number.POSITIVE_INFINITY) > runtime.now()
  if (!isValid) return undefined
  return config.oauth.useIdToken ? tokens?.idToken : tokens?.accessToken
}
