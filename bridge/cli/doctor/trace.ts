import { type Finding, findingText } from '@drawbridge/shared/terminal/finding.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { observedClient } from '../../http/observed-client.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { type CommandInput, configOf, printResult } from '../command.ts'
import { redact } from '../connect/debug-log.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { failureContextOf, fill } from '../failure/failure-text.ts'
import { terminalColumns } from '../terminal/output.ts'
import { waitFor } from '../terminal/progress.ts'
import { examine } from './doctor.ts'
import { exitCodeOf } from './finding.ts'
import {
  hasNoChallenge,
  isAccepted,
  isDocument,
  mediaTypeOf,
  type StepRequest,
  stepOf,
  type TraceStep,
} from './trace-step.ts'

/** One step as the client saw it. */
interface TracedStep {
  step: TraceStep
  /** Epoch seconds. */
  at: number
  status: number | null
  ok: boolean
  /** By which the operator finds it in the log of the server. */
  request_id: string | null
  duration_ms: number
  /** What was expected and what came, of a step that failed. */
  detail?: string
}

interface Trace {
  url: string
  result: 'connected' | 'failed' | 'not signed in'
  steps: TracedStep[]
  advice: string | null
}

/**
 * Prints the steps of a connection in the words of the server's `attempts`, each with the request id that the server gave it: without a
 * token as far as the sign-in page, then with the stored login or the configured token. Registers, renews and stores nothing.
 */
export async function trace(input: CommandInput): Promise<ExitCode> {
  const config = configOf(input)
  const { runtime, terminal } = input
  const requests: StepRequest[] = []
  const secrets = secretsOf(config)
  const client = createHttpClient(config.network)
  const http = observedClient(client, (seen) => {
    const step = stepOf(seen, requests, config.serverUrl)
    if (step !== undefined) requests.push({ ...seen, step })
    for (const [name, value] of Object.entries(seen.request.headers))
      if (name.toLowerCase() === 'authorization') secrets.add(value.replace(/^\S+ +/, ''))
  })
  const findings: Finding[] = []
  try {
    const walk = async (): Promise<void> => {
      for await (const group of examine(config, { http, runtime })) findings.push(...group)
    }
    await waitFor(terminal, () => 'tracing', walk())
  } finally {
    client.close()
  }
  const clean = cleaner(config.serverUrl, [...secrets])
  const facts = traceOf(requests, findings, config, clean)
  printResult(input, facts, () => terminal.print(traceText(facts, input)))
  if (facts.result === 'connected') return exitCode.ok
  return exitCodeOf(findings) || (facts.result === 'failed' ? exitCode.failed : exitCode.signInNeeded)
}

function secretsOf({ token, oauth, proxy }: BridgeConfig): Set<string> {
  const known = [token, oauth.staticClient?.clientSecret, ...Object.values(proxy.headers)]
  return new Set(known.filter((secret) => secret !== undefined))
}

/** Removes what a server may have repeated: traces are passed on. */
function cleaner(serverUrl: string, secrets: readonly string[]): (text: string) => string {
  const { search } = new URL(serverUrl)
  return (text) =>
    redact(search === '' ? text : text.replaceAll(search, ''), secrets).replaceAll(
      /[^\s@"'<>]+@[^\s@"'<>]+\.\w+/g,
      '[redacted]',
    )
}

function traceOf(
  requests: readonly StepRequest[],
  findings: readonly Finding[],
  config: BridgeConfig,
  clean: (text: string) => string,
): Trace {
  const findingOf = (wanted: string): Finding | undefined => findings.find(({ name }) => name === wanted)
  const session = findingOf('session')
  // Without a sign-in there need be no metadata.
  const isPublic = session !== undefined && findingOf('authorization_server') === undefined
  const steps: TracedStep[] = []
  let advice: string | undefined
  for (const step of new Set(requests.map((each) => each.step))) {
    const group = requests.filter((each) => each.step === step)
    const reached = requests.findLast((each) => checkOf[each.step] === checkOf[step])?.step
    const fault = faultOf(step, group, reached === step ? findingOf(checkOf[step]) : undefined)
    if (isPublic && fault !== undefined && isMetadata(step)) continue
    advice ??= fault?.fix
    steps.push(tracedStep(step, group, fault, clean))
  }
  const hasFailed = session?.state === 'fail' || steps.some((step) => !step.ok)
  const unconnected = hasFailed ? 'failed' : 'not signed in'
  const result = session?.state === 'ok' ? 'connected' : unconnected
  if (result === 'failed') advice ??= session?.fix
  if (result === 'not signed in') advice = findingOf('login')?.fix ?? fill(renewal, failureContextOf(config))
  return {
    url: placeOf(config.serverUrl),
    result,
    steps,
    advice: advice === undefined ? null : clean(advice),
  }
}

const renewal = 'The token of the login has ended. Renew it, and trace again: drawbridge token {url}'
const maxIdLength = 200

function tracedStep(
  step: TraceStep,
  group: readonly StepRequest[],
  fault: StepFault | undefined,
  clean: (text: string) => string,
): TracedStep {
  const decisive = decisiveOf(step, group, fault) as StepRequest
  const { sentAt, durationMs, response } = decisive
  const id = response?.headers['x-request-id']
  const came = new Set((isMetadata(step) ? group : [decisive]).map(cameText))
  const detail = `Expected ${expected[step]}; came ${[...came].join(', then ')}. ${fault?.message ?? ''}`
  return {
    step,
    at: Math.floor(sentAt / 1000),
    status: response?.status ?? null,
    ok: fault === undefined,
    request_id: typeof id === 'string' ? clean(id.slice(0, maxIdLength)) : null,
    duration_ms: durationMs,
    ...(fault !== undefined && { detail: clean(detail.trim()) }),
  }
}

/** Returns the request that a step stands or falls with: the one that failed of calls, else the first that is some good. */
function decisiveOf(
  step: TraceStep,
  group: readonly StepRequest[],
  fault: StepFault | undefined,
): StepRequest | undefined {
  if (fault !== undefined && (step === 'first_call' || step === 'list')) return group.at(-1)
  const isGood = isMetadata(step) || step === 'page' ? isDocument : isAccepted
  const isChallenge = ({ response }: StepRequest): boolean => step === 'challenge' && response?.status === 401
  return group.findLast((each) => isGood(each) || isChallenge(each)) ?? group[0]
}

function cameText(seen: StepRequest): string {
  const { url } = seen.request
  if (seen.response === undefined) return `no response from ${new URL(url).origin}`
  return `${`${seen.response.status} ${mediaTypeOf(seen)}`.trim()} at ${placeOf(url)}`
}

/** Returns a URL without its query. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

interface StepFault {
  /** The words of a check. */
  message?: string | undefined
  fix: string
}

/** The check of doctor that judges a step; of two steps, the one that was reached last. */
const checkOf: Readonly<Record<TraceStep, string>> = {
  challenge: 'endpoint',
  resource_metadata: 'authorization_server',
  server_metadata: 'authorization_server',
  page: 'sign_in_page',
  first_call: 'session',
  list: 'session',
}

const expected: Readonly<Record<TraceStep, string>> = {
  challenge: '401 with WWW-Authenticate: Bearer, or an answer of MCP',
  resource_metadata: 'a JSON document (RFC 9728)',
  server_metadata: 'a JSON document (RFC 8414 or OpenID Connect Discovery)',
  page: 'no metadata that gives the sign-in page to another server',
  first_call: 'an answer of MCP',
  list: 'a list of tools',
}

const headerFix =
  'Tell the operator of the server: a proxy in front of it may take the WWW-Authenticate header away.'
const pathFix =
  'Tell the operator of the server: what clients ask for below /.well-known/ has to reach it, with its path unchanged.'

/**
 * Returns why a step failed, by what its check found. Many clients need what the bridge does without, so some faults are no finding
 * of doctor.
 */
function faultOf(
  step: TraceStep,
  group: readonly StepRequest[],
  check: Finding | undefined,
): StepFault | undefined {
  const isBad = check?.state === 'fail' || (check?.state === 'warn' && step === 'challenge')
  const { message, fix } = (isBad && check) || {}
  if (isMetadata(step) && group.every(isMissing)) return { message, fix: pathFix }
  if (group.some(hasNoChallenge) && step === 'challenge') return { message, fix: headerFix }
  return fix === undefined ? undefined : { message, fix }
}

function isMetadata(step: TraceStep): boolean {
  return step === 'resource_metadata' || step === 'server_metadata'
}

function isMissing(seen: StepRequest): boolean {
  return seen.response !== undefined && seen.response.status < 500 && !isDocument(seen)
}

/** Lists the steps like findings, and the result below them. */
function traceText({ result, steps, advice }: Trace, { terminal }: CommandInput): string {
  const layout = { nameWidth: 18, colour: terminal.colour, columns: terminalColumns() }
  const firstFailed = steps.find((step) => !step.ok)
  const lines = steps.map(({ step: name, at, status, ok: isOk, request_id: id, duration_ms: ms, detail }) => {
    const time = new Date(at * 1000).toISOString().slice(11, 19)
    const request = id === null ? 'no request id' : `request id ${id}`
    const message = [`${status ?? '---'}  ${time}Z  ${ms} ms  ${request}`, detail ?? []].flat().join('. ')
    return findingText({ name, state: isOk ? 'ok' : 'fail', message }, layout)
  })
  const where = firstFailed === undefined ? '' : ` (${firstFailed.step})`
  const end = `${result.charAt(0).toUpperCase()}${result.slice(1)}${where}.`
  return [...lines, '', [end, advice ?? []].flat().join(' ')].join('\n')
}
