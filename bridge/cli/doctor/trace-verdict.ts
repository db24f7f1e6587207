import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { mediaTypeOf } from '../../http/http-client.ts'
import { hasNoChallenge, isAccepted, isDocument, type StepRequest, type TraceStep } from './trace-step.ts'

/** One step as the client saw it. */
export interface TracedStep {
  step: TraceStep
  /** Epoch seconds. */
  at: number
  status: number | null
  ok: boolean
  /** Identifies the request in the server's log. */
  request_id: string | null
  duration_ms: number
  /** The expected and actual responses of a failed step. */
  detail?: string
}

/**
 * Judges the steps in the order in which they were reached, by their requests and by the findings of doctor. `fix` is the next step for
 * the first that failed. `clean` removes secrets.
 */
export function judgeSteps(
  requests: readonly StepRequest[],
  findings: readonly Finding[],
  clean: (text: string) => string,
): { steps: TracedStep[]; fix: string | undefined } {
  const findingOf = (wanted: string): Finding | undefined => findings.find(({ name }) => name === wanted)
  // Without a sign-in, metadata is optional.
  const isPublic = findingOf('session') !== undefined && findingOf('authorization_server') === undefined
  const steps: TracedStep[] = []
  let fix: string | undefined
  for (const step of new Set(requests.map((each) => each.step))) {
    const group = requests.filter((each) => each.step === step)
    const reached = requests.findLast((each) => checkOf[each.step] === checkOf[step])?.step
    const fault = faultOf(step, group, reached === step ? findingOf(checkOf[step]) : undefined)
    if (isPublic && fault !== undefined && isMetadata(step)) continue
    fix ??= fault?.fix
    steps.push(tracedStep(step, group, fault, clean))
  }
  return { steps, fix }
}

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
  const detail = `Expected ${expected[step]}; got ${[...came].join(', then ')}. ${fault?.message ?? ''}`
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

/** Returns the request that decides a step: a call's failed request, otherwise the first usable one. */
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

function cameText({ request: { url }, response }: StepRequest): string {
  if (response === undefined) return `no response from ${new URL(url).origin}`
  return `${`${response.status} ${mediaTypeOf(response)}`.trim()} at ${placeOf(url)}`
}

/** Returns a URL without its query. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

interface StepFault {
  /** The text of a check. */
  message?: string | undefined
  fix: string
}

/** The check of doctor that judges a step; the last one reached, if it judges two. */
const checkOf: Readonly<Record<TraceStep, string>> = {
  challenge: 'endpoint',
  resource_metadata: 'authorization_server',
  server_metadata: 'authorization_server',
  page: 'sign_in_page',
  first_call: 'session',
  list: 'session',
}

const expected: Readonly<Record<TraceStep, string>> = {
  challenge: '401 with WWW-Authenticate: Bearer, or an MCP response',
  resource_metadata: 'a JSON document (RFC 9728)',
  server_metadata: 'a JSON document (RFC 8414 or OpenID Connect Discovery)',
  page: 'no metadata that gives the sign-in page to another server',
  first_call: 'an MCP response',
  list: 'a list of tools',
}

const headerFix =
  'Tell the operator of the server: a proxy in front of it may drop the WWW-Authenticate header.'
const pathFix =
  'Tell the operator of the server: requests below /.well-known/ must reach it with their path unchanged.'

/** Returns why a step failed. Some faults stop other clients only, so doctor does not report them. */
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
