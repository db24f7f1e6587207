import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'

interface AnsweredRequest {
  request: Request
  status: number
  clientId?: string | undefined
  events: readonly ReportedEvent[]
}

export type ReportedEvent = readonly [event: string, fields: Readonly<Record<string, unknown>>]

interface SeenStep {
  step: AttemptStep
  ok: boolean
  detail?: string | undefined
  clientId?: string | undefined
  grantId?: string | undefined
}

/** Returns the steps that a request shows, in order; none for one that has nothing to do with connecting. */
export type StepReader = (request: AnsweredRequest) => readonly SeenStep[]

/** Returns the {@link StepReader} of a row of the endpoint table or of `other`; undefined where no client connects. */
export function stepReaderOf(endpoint: string, basePath: string): StepReader | undefined {
  if (endpoint === 'other') return (answered) => documentSteps(answered, documentOf(answered.request.url))
  const step = documentOf(endpoint)
  if (step) return (answered) => documentSteps(answered, step)
  return readers[endpoint.startsWith(basePath) ? endpoint.slice(basePath.length) : endpoint]
}

const readers: Readonly<Record<string, StepReader | undefined>> = {
  '/mcp': callSteps,
  '/oauth/register': registerSteps,
  '/register': registerSteps,
  '/oauth/authorize': pageSteps,
  '/authorize': pageSteps,
  '/oauth/callback': signInSteps,
  '/oauth/device': (answered) => (answered.request.method === 'GET' ? [] : signInSteps(answered)),
  '/oauth/device_authorization': deviceSteps,
  '/oauth/token': tokenSteps,
  '/token': tokenSteps,
}

/** Returns which metadata document a path, or the path of a URL, is of. */
function documentOf(url: string): AttemptStep | undefined {
  const name =
    /^[^?#]*\/\.well-known\/(oauth-protected-resource|oauth-authorization-server|openid-configuration)/.exec(
      url,
    )?.[1]
  if (name === undefined) return undefined
  return name === 'oauth-protected-resource' ? 'resource_metadata' : 'server_metadata'
}

function documentSteps({ request, status }: AnsweredRequest, step: AttemptStep | undefined): SeenStep[] {
  return step && request.method === 'GET' ? [{ step, ok: status < 400 }] : []
}

function callSteps(answered: AnsweredRequest): SeenStep[] {
  const { request, status } = answered
  const call = fieldsOf(answered, 'mcp_request')
  if (call) {
    const grantId = text(call['grant_id'])
    if (grantId === undefined) return []
    const step = String(call['method']).endsWith('/list') ? 'list' : 'first_call'
    const ok = status < 400
    // A client that opens with its list has made its first call.
    return step === 'list'
      ? [
          { step: 'first_call', ok, grantId },
          { step, ok, grantId },
        ]
      : [{ step, ok, grantId }]
  }
  const hasToken = request.headers.has('authorization')
  if (status === 401 && !hasToken) return [{ step: 'challenge', ok: true }]
  // 405: the client asks for a stream that is not offered.
  if (hasToken && status >= 400 && status !== 405)
    return [{ step: 'first_call', ok: false, detail: refusalOf(answered) }]
  return status === 403 || status === 421
    ? [{ step: 'challenge', ok: false, detail: refusalOf(answered) }]
    : []
}

function registerSteps(answered: AnsweredRequest): SeenStep[] {
  if (answered.request.method !== 'POST') return []
  const clientId = text(fieldsOf(answered, 'client_registered')?.['client_id'])
  return [{ step: 'register', ok: clientId !== undefined, clientId, detail: refusalOf(answered) }]
}

/** Reasons that a client's metadata document could not be used. */
const ofDocument: ReadonlySet<string> = new Set([
  'client_unavailable',
  'client_document_faulty',
  'client_limited',
])

function pageSteps(answered: AnsweredRequest): SeenStep[] {
  if (answered.request.method === 'POST') return signInSteps(answered)
  const detail = refusalOf(answered)
  if (detail !== undefined && ofDocument.has(detail)) return [{ step: 'client', ok: false, detail }]
  const ok = answered.status === 200 && detail === undefined
  const page: SeenStep = { step: 'page', ok, detail }
  return ok && answered.clientId?.startsWith('https:') ? [{ step: 'client', ok }, page] : [page]
}

/** Events after which the person has something else to do before they are signed in. */
const awaited: ReadonlySet<string> = new Set(['email_requested', 'second_factor_asked', 'device_code_taken'])

function signInSteps(answered: AnsweredRequest): SeenStep[] {
  const signedIn = fieldsOf(answered, 'signed_in') ?? fieldsOf(answered, 'device_allowed')
  if (signedIn)
    return [
      { step: 'sign_in', ok: true },
      { step: 'code', ok: true },
    ]
  const waiting = answered.events.find(([event]) => awaited.has(event))?.[0]
  if (waiting === 'device_code_taken') return [{ step: 'page', ok: true }]
  if (waiting !== undefined) return [{ step: 'sign_in', ok: true, detail: waiting }]
  const detail = refusalOf(answered)
  if (detail !== undefined) return [{ step: 'sign_in', ok: false, detail }]
  return answered.status === 302 || answered.status === 303
    ? [{ step: 'sign_in', ok: true, detail: 'redirected' }]
    : []
}

function deviceSteps(answered: AnsweredRequest): SeenStep[] {
  const clientId = text(fieldsOf(answered, 'device_authorization_started')?.['client_id'])
  return [{ step: 'client', ok: clientId !== undefined, clientId, detail: refusalOf(answered) }]
}

/** Errors that a device gets while its user is busy. */
const pending: ReadonlySet<string | undefined> = new Set(['authorization_pending', 'slow_down'])

function tokenSteps(answered: AnsweredRequest): SeenStep[] {
  const issued = fieldsOf(answered, 'token_issued')
  if (issued?.['grant_type'] === 'refresh_token') return []
  const clientId = text(issued?.['client_id'])
  if (issued) return [{ step: 'token', ok: true, clientId, grantId: text(issued['grant_id']) }]
  const detail = refusalOf(answered)
  if (pending.has(detail) || answered.request.method !== 'POST') return []
  // Only refreshes are refused with the name of their grant.
  const isRefresh = fieldsOf(answered, 'token_refused')?.['grant_id'] !== undefined
  return [{ step: 'token', ok: false, detail: isRefresh ? `refresh: ${detail}` : detail }]
}

/** Events that say why a request was refused, with the field that has the word for it. */
const refusals: Readonly<Record<string, string | undefined>> = {
  sign_in_failed: 'failure',
  email_not_sent: 'failure',
  second_factor_failed: 'failure',
  second_factor_over: 'reason',
  sign_in_stranded: 'reason',
  access_denied: undefined,
  authorization_denied: undefined,
  device_denied: undefined,
  device_code_unknown: undefined,
  authorization_refused: 'error',
  registration_limited: undefined,
  device_limit_reached: undefined,
  request_refused: 'code',
  token_refused: 'code',
  caller_refused: undefined,
  origin_refused: undefined,
  cookie_refused: undefined,
  provider_failed: 'failure',
}

function refusalOf({ events, status }: AnsweredRequest): string | undefined {
  for (const [event, fields] of events) {
    if (!Object.hasOwn(refusals, event)) continue
    const field = refusals[event]
    return (field === undefined ? undefined : text(fields[field])) ?? event
  }
  return status < 400 ? undefined : String(status)
}

function fieldsOf(
  { events }: AnsweredRequest,
  wanted: string,
): Readonly<Record<string, unknown>> | undefined {
  return events.find(([event]) => event === wanted)?.[1]
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
