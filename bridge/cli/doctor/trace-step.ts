import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { type HttpClient, type HttpRequest, type HttpResponse, mediaTypeOf } from '../../http/http-client.ts'
import { challengesOf } from '../../transport/failed-response.ts'

/** The steps that work without a user and without registering a client. */
type TraceStep = Extract<
  AttemptStep,
  'challenge' | 'resource_metadata' | 'server_metadata' | 'page' | 'first_call' | 'list'
>

/** One request that belongs to a step of a connection, and its outcome. */
export interface StepRequest {
  step: TraceStep
  request: HttpRequest
  /** When it was sent, in milliseconds since 1970. */
  sentAt: number
  /** Until the response began, or the request failed. */
  durationMs: number
  /** Undefined when there was no response. */
  response: HttpResponse | undefined
}

/** Wraps a client to add each request that belongs to a step to `requests`, in the order of the responses. */
export function observedClient(http: HttpClient, serverUrl: string, requests: StepRequest[]): HttpClient {
  return {
    async send(request) {
      const sentAt = Date.now()
      const begin = performance.now()
      let response: HttpResponse | undefined
      try {
        return (response = await http.send(request))
      } finally {
        const step = stepOf(request, requests, serverUrl)
        const durationMs = Math.round(performance.now() - begin)
        if (step !== undefined) requests.push({ step, request, sentAt, durationMs, response })
      }
    },
    close: () => http.close(),
  }
}

/** Returns the step that a request belongs to, given the earlier ones; undefined for a request that decides nothing. */
function stepOf(
  { method, url, body }: HttpRequest,
  before: readonly StepRequest[],
  serverUrl: string,
): TraceStep | undefined {
  const { href, pathname } = new URL(url)
  if (method === 'GET' && href !== new URL(serverUrl).href) return documentStep(pathname, before)
  const opening = before.every(({ step }) => step === 'challenge') ? 'challenge' : 'first_call'
  if (method === 'GET') {
    // HTTP+SSE starts with it. After a successful start it asks for a stream, which is optional.
    const opened = before.findLast(({ step }) => step === opening)
    return opened !== undefined && isAccepted(opened) ? undefined : opening
  }
  const called = methodOf(body)
  if (called === 'tools/list') return 'list'
  return called === 'initialize' || called === 'server/discover' ? opening : undefined
}

function methodOf(body: Uint8Array | string | undefined): unknown {
  const text = typeof body === 'object' ? new TextDecoder().decode(body) : body
  return parseJsonObject(text ?? '')?.['method']
}

function documentStep(path: string, before: readonly StepRequest[]): TraceStep {
  if (/\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(path)) {
    // Once the server is found, the metadata of its sign-in page's host is read.
    const isFound = before.some((each) => each.step === 'server_metadata' && isDocument(each))
    return isFound ? 'page' : 'server_metadata'
  }
  // Any other address comes from the challenge or a redirect.
  const last = before.at(-1)?.step
  return last === 'server_metadata' || last === 'page' ? last : 'resource_metadata'
}

/** How a step is judged. */
interface StepRule {
  /** The check of doctor that judges the step; the last one reached, if it judges two. */
  check: string
  expected: string
  isGood: (request: StepRequest) => boolean
  /** A fault on the way that stops other clients only, so that doctor does not report it, and the next step. */
  lost?: { isLost: (request: StepRequest) => boolean; fix: string }
}

const documentRule = {
  check: 'authorization_server',
  isGood: isDocument,
  lost: {
    isLost: ({ response }: StepRequest) => response !== undefined && response.status < 500,
    fix: 'Tell the operator of the server: requests below /.well-known/ must reach it with their path unchanged.',
  },
}
const callRule = { check: 'session', isGood: isAccepted }

const rules: Readonly<Record<TraceStep, StepRule>> = {
  challenge: {
    check: 'endpoint',
    expected: '401 with WWW-Authenticate: Bearer, or an MCP response',
    isGood: (request) => isAccepted(request) || isChallenge(request),
    lost: {
      isLost: ({ response }) => response?.status === 401,
      fix: 'Tell the operator of the server: a proxy in front of it may drop the WWW-Authenticate header.',
    },
  },
  resource_metadata: { ...documentRule, expected: 'a JSON document (RFC 9728)' },
  server_metadata: {
    ...documentRule,
    expected: 'a JSON document (RFC 8414 or OpenID Connect Discovery)',
  },
  page: {
    check: 'sign_in_page',
    expected: 'no metadata that gives the sign-in page to another server',
    isGood: isDocument,
  },
  first_call: { ...callRule, expected: 'an MCP response' },
  list: { ...callRule, expected: 'a list of tools' },
}

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
    const rule = rules[step]
    const group = requests.filter((each) => each.step === step)
    const reached = requests.findLast((each) => rules[each.step].check === rule.check)?.step
    const fault = faultOf(rule, group, reached === step ? findingOf(rule.check) : undefined)
    if (isPublic && fault !== undefined && rule.check === documentRule.check) continue
    fix ??= fault?.fix
    steps.push(tracedStep(rule, group, fault, clean))
  }
  return { steps, fix }
}

type StepFault = Partial<Pick<Finding, 'fix' | 'message'>>

/** Returns why a step failed: the finding of doctor, with its message, or that something was lost on the way. */
function faultOf(
  { check, isGood, lost }: StepRule,
  group: readonly StepRequest[],
  finding: Finding | undefined,
): StepFault | undefined {
  // Other clients stop at a challenge that doctor only warns about.
  const isFault = finding?.state === 'fail' || (finding?.state === 'warn' && check === 'endpoint')
  const fault = isFault ? finding : undefined
  const isLost = lost !== undefined && !group.some(isGood) && group.some(lost.isLost)
  return isLost ? { ...fault, fix: lost.fix } : fault
}

const maxIdLength = 200

function tracedStep(
  { expected, isGood, check }: StepRule,
  group: readonly StepRequest[],
  fault: StepFault | undefined,
  clean: (text: string) => string,
): TracedStep {
  // The last request decides about a call that failed; otherwise the last usable one.
  const good = fault !== undefined && check === callRule.check ? undefined : group.findLast(isGood)
  const { step, sentAt, durationMs, response } = good ?? group.at(-1)!
  const id = response?.headers['x-request-id']
  const responses = [...new Set(group.map(responseText))].join(', then ')
  const detail = `Expected ${expected}; got ${responses}. ${fault?.message ?? ''}`
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

function responseText({ request: { url }, response }: StepRequest): string {
  if (response === undefined) return `no response from ${new URL(url).origin}`
  return `${`${response.status} ${mediaTypeOf(response)}`.trim()} at ${withoutQuery(url)}`
}

export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** Returns whether there was a successful response. */
function isAccepted({ response }: StepRequest): boolean {
  return response !== undefined && response.status < 400
}

/** Returns whether the response is a document, not a web page. */
function isDocument({ response }: StepRequest): boolean {
  return response?.status === 200 && mediaTypeOf(response) !== 'text/html'
}

/** Returns whether a 401 mentions bearer tokens, which many clients require. */
function isChallenge({ response }: StepRequest): boolean {
  return response?.status === 401 && challengesOf(response).some(({ scheme }) => scheme === 'bearer')
}
