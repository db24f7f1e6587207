import { type Finding, findingText } from '@drawbridge/shared/terminal/finding.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { type CommandInput, configOf, printResult } from '../command.ts'
import { configuredSecrets } from '../connect/connection-login.ts'
import { redact } from '../connect/debug-log.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { failureContextOf, fill } from '../failure/failure-text.ts'
import { terminalColumns } from '../terminal/output.ts'
import { waitFor } from '../terminal/progress.ts'
import { examine } from './doctor.ts'
import { exitCodeOf } from './finding.ts'
import { judgeSteps, observedClient, type StepRequest, withoutQuery } from './trace-step.ts'

/**
 * Prints the steps of a connection in the words of the server's `attempts`, each with the request id that the server gave it: without a
 * token as far as the sign-in page, then with the stored login or the configured token. Registers, renews and stores nothing.
 */
export async function trace(input: CommandInput): Promise<ExitCode> {
  const config = configOf(input)
  const { runtime, terminal } = input
  const requests: StepRequest[] = []
  const client = createHttpClient(config.network)
  const http = observedClient(client, config.serverUrl, requests)
  const findings: Finding[] = []
  try {
    const walk = async (): Promise<void> => {
      for await (const group of examine(config, { http, runtime })) findings.push(...group)
    }
    await waitFor(terminal, () => 'tracing', walk())
  } finally {
    client.close()
  }
  const sent = requests.flatMap(({ request }) =>
    Object.entries(request.headers).flatMap(([name, value]) =>
      name.toLowerCase() === 'authorization' ? value.replace(/^\S+ +/, '') : [],
    ),
  )
  const clean = cleaner(config.serverUrl, [...configuredSecrets(config), ...sent])
  const facts = traceOf(requests, findings, config, clean)
  printResult(input, facts, () => terminal.print(traceText(facts, input)))
  if (facts.result === 'connected') return exitCode.ok
  return exitCodeOf(findings) || (facts.result === 'failed' ? exitCode.failed : exitCode.signInNeeded)
}

/** Removes secrets that a server may have echoed: users send traces to others. */
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
) {
  const findingOf = (wanted: string): Finding | undefined => findings.find(({ name }) => name === wanted)
  const session = findingOf('session')
  const { steps, fix = session?.fix } = judgeSteps(requests, findings, clean)
  const unconnected = fix === undefined ? ('not signed in' as const) : ('failed' as const)
  const result = session?.state === 'ok' ? ('connected' as const) : unconnected
  const signIn = findingOf('login')?.fix ?? fill(renewal, failureContextOf(config))
  const nextStep = result === 'not signed in' ? signIn : fix
  const advice = nextStep === undefined ? null : clean(nextStep)
  return { url: withoutQuery(config.serverUrl), result, steps, advice }
}

const renewal = 'The token of the login has expired. Renew it, and trace again: drawbridge token {url}'

/** Lists the steps like findings, and the result below them. */
function traceText(
  { result, steps, advice }: ReturnType<typeof traceOf>,
  { terminal }: CommandInput,
): string {
  const layout = { nameWidth: 18, colour: terminal.colour, columns: terminalColumns() }
  const firstFailed = steps.find((step) => !step.ok)
  const lines = steps.map(({ step: name, at, status, ok: isOk, request_id: id, duration_ms: ms, detail }) => {
    const time = new Date(at * 1000).toISOString().slice(11, 19)
    const request = id === null ? 'no request id' : `request id ${id}`
    const message = [`${status ?? '---'}  ${time}Z  ${ms} ms  ${request}`, detail ?? []].flat().join('. ')
    return findingText({ name, state: isOk ? 'ok' : 'fail', message }, layout)
  })
  const where = result !== 'failed' || firstFailed === undefined ? '' : ` (${firstFailed.step})`
  const end = `${result.charAt(0).toUpperCase()}${result.slice(1)}${where}.`
  return [...lines, '', [end, advice ?? []].flat().join(' ')].join('\n')
}
