import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'

/** A request that was answered: its row of the endpoint table or `other`, and the events that it reported. */
export interface AnsweredRequest {
  endpoint: string
  method: string
  /** Path of the URL. */
  path: string
  hasToken: boolean
  status: number
  clientId?: string | undefined
  events: readonly (readonly [event: string, fields: Readonly<Record<string, unknown>>])[]
}

export interface SeenStep {
  step: AttemptStep
  ok: boolean
  detail?: string | undefined
  clientId?: string | undefined
  grantId?: string | undefined
}

/** Returns the steps that a request shows, in order; none for a request that has nothing to do with connecting. */
export function stepsOf(request: AnsweredRequest, basePath: string): SeenStep[] {
  const endpoint = request.endpoint.startsWith(basePath)
    ? request.endpoint.slice(basePath.length)
    : request.endpoint
  return readers[endpoint]?.(request) ?? metadataSteps(request)
}

type StepReader = (request: AnsweredRequest) => SeenStep[]

const readers: Readonly<Record<string, StepReader>> = {
  '/mcp': callSteps,
  '/oauth/register': registerSteps,
  '/register': registerSteps,
  '/oauth/authorize': pageSteps,
  '/authorize': pageSteps,
  '/oauth/callback': signInSteps,
  '/oauth/device': (request) => (request.method === 'GET' ? [] : signInSteps(request)),
  '/oauth/device_authorization': deviceSteps,
  '/oauth/token': tokenSteps,
  '/token': tokenSteps,
}

function metadataSteps({ path, status, method }: AnsweredRequest): SeenStep[] {
  if (method !== 'GET') return []
  const ok = status < 400
  if (path.includes('/.well-known/oauth-protected-resource')) return [{ step: 'resource_metadata', ok }]
  if (/\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/.test(path))
    return [{ step: 'server_metadata', ok }]
  return []
}

function callSteps(request: AnsweredRequest): SeenStep[] {
  const { hasToken, status } = request
  const call = fieldsOf(request, 'mcp_request')
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
  if (status === 401 && !hasToken) return [{ step: 'challenge', ok: true }]
  // 405: the client asks for a stream that is not offered.
  if (hasToken && status >= 400 && status !== 405)
    return [{ step: 'first_call', ok: false, detail: refusalOf(request) }]
  return status === 403 || status === 421
    ? [{ step: 'challenge', ok: false, detail: refusalOf(request) }]
    : []
}

function registerSteps(request: AnsweredRequest): SeenStep[] {
  if (request.method !== 'POST') return []
  const clientId = text(fieldsOf(request, 'client_registered')?.['client_id'])
  return [{ step: 'register', ok: clientId !== undefined, clientId, detail: refusalOf(request) }]
}

/** Reasons that a client's metadata document could not be used. */
const ofDocument: ReadonlySet<string> = new Set([
  'client_unavailable',
  'client_document_faulty',
  'client_limited',
])

function pageSteps(request: AnsweredRequest): SeenStep[] {
  if (request.method === 'POST') return signInSteps(request)
  const detail = refusalOf(request)
  if (detail !== undefined && ofDocument.has(detail)) return [{ step: 'client', ok: false, detail }]
  const ok = request.status === 200 && detail === undefined
  const page: SeenStep = { step: 'page', ok, detail }
  return ok && request.clientId?.startsWith('https:') ? [{ step: 'client', ok }, page] : [page]
}

/** Events after which the person has something else to do before they are signed in. */
const awaited: ReadonlySet<string> = new Set(['email_requested', 'second_factor_asked', 'device_code_taken'])

function signInSteps(request: AnsweredRequest): SeenStep[] {
  const signedIn = fieldsOf(request, 'signed_in') ?? fieldsOf(request, 'device_allowed')
  if (signedIn)
    return [
      { step: 'sign_in', ok: true },
      { step: 'code', ok: true },
    ]
  const waiting = request.events.find(([event]) => awaited.has(event))?.[0]
  if (waiting === 'device_code_taken') return [{ step: 'page', ok: true }]
  if (waiting !== undefined) return [{ step: 'sign_in', ok: true, detail: waiting }]
  const detail = refusalOf(request)
  if (detail !== undefined) return [{ step: 'sign_in', ok: false, detail }]
  return request.status === 302 || request.status === 303
    ? [{ step: 'sign_in', ok: true, detail: 'redirected' }]
    : []
}

function deviceSteps(request: AnsweredRequest): SeenStep[] {
  const clientId = text(fieldsOf(request, 'device_authorization_started')?.['client_id'])
  return [{ step: 'client', ok: clientId !== undefined, clientId, detail: refusalOf(request) }]
}

/** What a device is told while its user is busy. */
const pending: ReadonlySet<string | undefined> = new Set(['authorization_pending', 'slow_down'])

function tokenSteps(request: AnsweredRequest): SeenStep[] {
  const issued = fieldsOf(request, 'token_issued')
  if (issued?.['grant_type'] === 'refresh_token') return []
  const clientId = text(issued?.['client_id'])
  if (issued) return [{ step: 'token', ok: true, clientId, grantId: text(issued['grant_id']) }]
  const detail = refusalOf(request)
  if (pending.has(detail) || request.method !== 'POST') return []
  // Only refreshes are refused with the name of their grant.
  const isRefresh = fieldsOf(request, 'token_refused')?.['grant_id'] !== undefined
  return [{ step: 'token', ok: false, detail: isRefresh ? `refresh: ${detail}` : detail }]
}

/** Events that say why a request was refused, with the field that has the word for it. */
const refusals: Readonly<Record<string, string | undefined>> = {
  sign_in_failed: 'failure',
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
