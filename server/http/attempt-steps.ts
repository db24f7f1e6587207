import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import type { EventMeaning, StepRecord } from '../core/attempts/attempt.ts'

interface AnsweredRequest {
  request: Request
  status: number
  clientId?: string | undefined
  events: readonly ReportedEvent[]
}

/** An event of the request's log, with what it says of a client that connects. */
export interface ReportedEvent extends EventMeaning {
  name: string
  fields: Readonly<Record<string, unknown>>
}

type ShownStep = Pick<StepRecord, 'step' | 'ok' | 'detail' | 'clientId' | 'grantId'>

/**
 * Returns the steps that a request shows, in order; none for one that has nothing to do with connecting. `endpoint` is a row of the
 * endpoint table, or `other`.
 */
export function stepsOf(answered: AnsweredRequest, endpoint: string, basePath: string): readonly ShownStep[] {
  const { request, status } = answered
  const step = documentOf(endpoint === 'other' ? request.url : endpoint)
  if (step) return request.method === 'GET' ? [{ step, ok: status < 400 }] : []
  const path = endpoint.startsWith(basePath) ? endpoint.slice(basePath.length) : endpoint
  return readers[path]?.(answered) ?? []
}

const readers: Readonly<Record<string, ((request: AnsweredRequest) => readonly ShownStep[]) | undefined>> = {
  '/mcp': callSteps,
  '/oauth/register': registerSteps,
  '/register': registerSteps,
  '/oauth/authorize': pageSteps,
  '/authorize': pageSteps,
  '/oauth/callback': signInSteps,
  '/oauth/device': (answered) => (answered.request.method === 'GET' ? [] : signInSteps(answered)),
  '/oauth/device_authorization': (answered) => clientSteps('client', answered),
  '/oauth/token': tokenSteps,
  '/token': tokenSteps,
}

/** Returns which metadata document a path, or the path of a URL, is of. */
function documentOf(url: string): AttemptStep | undefined {
  const documents =
    /^[^?#]*\/\.well-known\/(oauth-protected-resource|oauth-authorization-server|openid-configuration)/
  const name = documents.exec(url)?.[1]
  if (name === undefined) return undefined
  return name === 'oauth-protected-resource' ? 'resource_metadata' : 'server_metadata'
}

function callSteps(answered: AnsweredRequest): ShownStep[] {
  const { request, status } = answered
  const call = fieldsOf(answered, 'call')
  if (call) {
    const grantId = text(call['grant_id'])
    if (grantId === undefined) return []
    const first: ShownStep = { step: 'first_call', ok: status < 400, grantId }
    // A client that opens with its list has made its first call.
    return String(call['method']).endsWith('/list') ? [first, { ...first, step: 'list' }] : [first]
  }
  // A refused token may be an old one.
  if (request.headers.has('authorization')) return []
  if (status === 401) return [{ step: 'challenge', ok: true }]
  return status === 403 || status === 421
    ? [{ step: 'challenge', ok: false, detail: refusalOf(answered) }]
    : []
}

function registerSteps(answered: AnsweredRequest): ShownStep[] {
  return answered.request.method === 'POST' ? clientSteps('register', answered) : []
}

function clientSteps(step: AttemptStep, answered: AnsweredRequest): ShownStep[] {
  const clientId = text(fieldsOf(answered, 'client')?.['client_id'])
  return [{ step, ok: clientId !== undefined, clientId, detail: refusalOf(answered) }]
}

/** Reasons that a client's metadata document could not be used. */
const ofDocument: ReadonlySet<string> = new Set([
  'client_unavailable',
  'client_document_faulty',
  'client_limited',
])

function pageSteps(answered: AnsweredRequest): ShownStep[] {
  if (answered.request.method === 'POST') return signInSteps(answered)
  const detail = refusalOf(answered)
  if (detail !== undefined && ofDocument.has(detail)) return [{ step: 'client', ok: false, detail }]
  const ok = answered.status === 200 && detail === undefined
  const page: ShownStep = { step: 'page', ok, detail }
  return ok && answered.clientId?.startsWith('https:') ? [{ step: 'client', ok }, page] : [page]
}

function signInSteps(answered: AnsweredRequest): ShownStep[] {
  if (fieldsOf(answered, 'signed_in'))
    return [
      { step: 'sign_in', ok: true },
      { step: 'code', ok: true },
    ]
  if (fieldsOf(answered, 'code_entered')) return [{ step: 'page', ok: true }]
  const waiting = answered.events.find(({ shows }) => shows === 'waits')
  if (waiting) return [{ step: 'sign_in', ok: true, detail: waiting.name }]
  const detail = refusalOf(answered)
  if (detail !== undefined) return [{ step: 'sign_in', ok: false, detail }]
  return answered.status === 302 || answered.status === 303
    ? [{ step: 'sign_in', ok: true, detail: 'redirected' }]
    : []
}

/** Errors that a device gets while its user is busy. */
const pending: ReadonlySet<string | undefined> = new Set(['authorization_pending', 'slow_down'])

function tokenSteps(answered: AnsweredRequest): ShownStep[] {
  const issued = fieldsOf(answered, 'token')
  if (issued?.['grant_type'] === 'refresh_token') return []
  const clientId = text(issued?.['client_id'])
  if (issued) return [{ step: 'token', ok: true, clientId, grantId: text(issued['grant_id']) }]
  const detail = refusalOf(answered)
  if (pending.has(detail) || answered.request.method !== 'POST') return []
  // Only refreshes are refused with the name of their grant.
  const isRefresh = answered.events.some(({ refusal, fields }) => refusal && fields['grant_id'] !== undefined)
  return [{ step: 'token', ok: false, detail: isRefresh ? `refresh: ${detail}` : detail }]
}

function refusalOf({ events, status }: AnsweredRequest): string | undefined {
  const refused = events.find(({ refusal }) => refusal !== undefined)
  if (!refused) return status < 400 ? undefined : String(status)
  const { name, fields, refusal } = refused
  return (typeof refusal === 'string' ? text(fields[refusal]) : undefined) ?? name
}

function fieldsOf(
  { events }: AnsweredRequest,
  wanted: EventMeaning['shows'],
): ReportedEvent['fields'] | undefined {
  return events.find(({ shows }) => shows === wanted)?.fields
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
