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
import type { HttpClient } from '../../http/http-client.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { terminalColumns } from '../terminal/output.ts'
import { waitFor } from '../terminal/progress.ts'
import { type CommandInput, credentialsOf } from '../command.ts'
import { loginIdOf } from '../connect/connection-login.ts'
import { checkKeychain, checkLock, checkLogin } from './credential-check.ts'
import { checkChallenge, checkEndpoint } from './endpoint-check.ts'
import { type Finding, exitCodeOf, factsOf, failureFinding, findingText, warn } from './finding.ts'
import { findingSummary } from '@drawbridge/shared/terminal/finding.ts'
import { checkMetadata } from './metadata-check.ts'
import { checkClock, checkCommandLine, checkConfiguration, checkFileMode, checkNode } from './own-check.ts'
import { checkReach } from './reach-check.ts'
import { type FirstAnswer, askFirst } from '../connect/endpoint-probe.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { failureContextOf } from '../failure/failure-text.ts'
import { memoryOf } from '../connect/memory-file.ts'

/** Findings as they come: each group is printed when it is there. */
type Findings = AsyncGenerator<readonly Finding[]>

/**
 * Looks at everything that a connection depends on, and says what to do about what is not right. Goes on after failures,
 * in an order in which the first broken thing is likely to explain the later ones. Renews and stores nothing.
 */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { json, terminal, line, surroundings } = input
  const all: Finding[] = []
  const columns = terminalColumns()
  const say = (findings: readonly Finding[]): void => {
    all.push(...findings)
    if (!json) for (const finding of findings) terminal.print(findingText(finding, terminal, columns))
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
      const { value, done } = await waitFor(terminal, () => 'looking', findings.next())
      if (done) break
      say(value)
    }
  } else say([warn('endpoint', 'Everything else is looked at once the configuration has no faults.')])
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
  try {
    const reach = await checkReach(config.serverUrl, config.network)
    yield reach
    const answer = await ask(config, http)
    if ('state' in answer) {
      // The same reason has the same remedy, and the first look knows more about it.
      const first = reach.find(({ state, message }) => state === 'fail' && message === answer.message)
      yield [{ ...answer, ...(first?.fix !== undefined && { fix: first.fix }) }]
      yield* examineStore(config, input, undefined)
      return
    }
    const { findings, wantsSignIn } = checkEndpoint(answer)
    yield [...findings, ...checkClock(answer.date, input.runtime.now())]
    if (wantsSignIn) yield* examineSignIn(config, input, http, answer)
    else if (!findings.some(({ state }) => state === 'fail')) {
      yield [await session(config, input, http, undefined)]
    }
  } finally {
    http.close()
  }
}

async function ask(config: BridgeConfig, http: HttpClient): Promise<FirstAnswer | Finding> {
  try {
    return await askFirst(http, config.serverUrl, withoutLogin(config.proxy.headers))
  } catch (error) {
    return failureFinding('endpoint', error, failureContextOf(config))
  }
}

function withoutLogin(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'),
  )
}

async function* examineSignIn(
  config: BridgeConfig,
  input: CommandInput,
  http: HttpClient,
  { challenges }: FirstAnswer,
): Findings {
  yield [checkChallenge(challenges)]
  const { findings, issuer } = await checkMetadata({ http, runtime: input.runtime }, config.oauth, challenges)
  yield findings
  const token = config.token ?? (yield* examineStore(config, input, issuer))
  if (token === undefined && config.fixedBy === undefined) return
  yield [await session(config, input, http, token)]
}

async function session(
  config: BridgeConfig,
  { runtime }: CommandInput,
  http: HttpClient,
  token: string | undefined,
): Promise<Finding> {
  const { checkSession } = await import('./session-check.ts')
  const remembered = memoryOf(config, () => {}).read()
  return await checkSession(config.proxy, {
    http,
    runtime,
    token,
    remembered,
    context: failureContextOf(config),
  })
}

/** Answers the token of the stored login while it lasts: renewing it is left to a connection. */
async function* examineStore(
  config: BridgeConfig,
  { runtime }: CommandInput,
  issuer: string | undefined,
): AsyncGenerator<readonly Finding[], string | undefined> {
  if (config.fixedBy !== undefined) return config.token
  const context = failureContextOf(config)
  yield [await checkKeychain(config.credentials, context)]
  const id = loginIdOf(config)
  let credential: Credential | undefined
  try {
    const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
    const store = createCredentialStore(config.credentials, { runtime, announce: () => {} })
    credential = await store.read(id)
  } catch (error) {
    yield [failureFinding('login', error, context)]
    return undefined
  }
  yield [checkLogin(credential, context, issuer, runtime.now()), checkLock(config.credentials, id)]
  const tokens = credential?.signInNeeded === undefined ? credential?.tokens : undefined
  if (tokens === undefined || (tokens.expiresAt ?? Number.POSITIVE_INFINITY) <= runtime.now())
    return undefined
  return config.oauth.useIdToken ? tokens.idToken : tokens.accessToken
}
