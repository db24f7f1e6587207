import { isJsonObject, parseJson } from '@drawbridge/shared/json-object.ts'
import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { fetchFromProvider } from '../provider-response.ts'

export interface GotrueAddress {
  /** Auth base URL without trailing slash, for example `https://ref.supabase.co/auth/v1`. */
  url: string
  /** Publishable key; sent as `apikey` only, because it is not a JWT. */
  apiKey: string | undefined
}

export interface GotrueRequest {
  method: 'GET' | 'POST'
  path: string
  /** Sent as JSON, except {@link URLSearchParams}. */
  body?: unknown
  bearer?: string
  /** Authenticates a client of the OAuth server. */
  basic?: { id: string; secret: string }
  /** Expects a redirect, whose URL is then the body. */
  expects?: 'redirect'
  /** How long to wait for the response, if not as long as usual. */
  timeoutMs?: number
}

/** A refusal or failure response. Its meaning depends on the call. */
export interface GotrueRefusal {
  kind: 'refusal'
  /** Method and path of the call, without its query. */
  call: string
  status: number
  /** The API's error code; undefined for pages and messages of a gateway. */
  code: string | undefined
  retryAfterSeconds: number | undefined
}

/** The auth API's response. `body` is unchecked JSON, undefined if there is none or it is unreadable. */
export type GotrueAnswer = { kind: 'success'; body: unknown } | GotrueRefusal

/**
 * Calls the auth API. Rejects with `transient` when there is no complete response, as {@link fetchFromProvider} does. Follows no
 * redirect, because of the secrets.
 */
export async function callGotrue(
  address: GotrueAddress,
  request: GotrueRequest,
  runtime: Pick<Runtime, 'fetch' | 'now'>,
): Promise<GotrueAnswer> {
  const response = await fetchFromProvider(
    new Request(address.url + request.path, {
      method: request.method,
      redirect: request.expects === 'redirect' ? 'manual' : 'error',
      ...contentOf(address, request),
    }),
    runtime,
    request.timeoutMs === undefined ? undefined : AbortSignal.timeout(request.timeoutMs),
  )
  const body = parseJson(await response.text())
  const location = response.headers.get('location')
  if (request.expects === 'redirect' && location !== null) return { kind: 'success', body: location }
  return response.ok ? { kind: 'success', body } : refusalOf(request, response, body, runtime.now())
}

function contentOf({ apiKey }: GotrueAddress, { bearer, basic, body }: GotrueRequest): RequestInit {
  const headers = new Headers({ accept: 'application/json', 'x-supabase-api-version': '2024-01-01' })
  if (apiKey !== undefined) headers.set('apikey', apiKey)
  if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`)
  if (basic !== undefined) headers.set('authorization', basicCredentials(basic))
  // A form sets its type by itself.
  if (body === undefined || body instanceof URLSearchParams) return { headers, body: body ?? null }
  headers.set('content-type', 'application/json;charset=UTF-8')
  return { headers, body: JSON.stringify(body) }
}

function refusalOf(request: GotrueRequest, response: Response, body: unknown, now: number): GotrueRefusal {
  const { status, headers } = response
  // GoTrue itself never sends a retry time; a gateway in front of it may.
  const mayReturn = status === 429 || status === 503
  return {
    kind: 'refusal',
    call: `${request.method} ${request.path.replace(/\?.*/, '')}`,
    status,
    code: codeOf(body) ?? asCode(headers.get('x-sb-error-code')),
    retryAfterSeconds: mayReturn ? retryAfterSeconds(Object.fromEntries(headers), now) : undefined,
  }
}

/** RFC 6749 section 2.3.1; a UUID and the secrets of the API read the same unencoded. */
function basicCredentials({ id, secret }: { id: string; secret: string }): string {
  const [user, password] = [id, secret].map((text) => encodeURIComponent(text).replaceAll('%20', '+'))
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** Returns the string code of an error body, in any of the three shapes the API has used. */
function codeOf(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined
  return [body['code'], body['error_code'], body['error']].map(asCode).find((code) => code !== undefined)
}

/** Only codes are used: free text decides nothing and is not logged. */
function asCode(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : undefined
}
