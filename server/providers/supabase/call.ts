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
  body?: unknown
  bearer?: string
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
  const headers = new Headers({ accept: 'application/json', 'x-supabase-api-version': '2024-01-01' })
  if (address.apiKey !== undefined) headers.set('apikey', address.apiKey)
  if (request.bearer !== undefined) headers.set('authorization', `Bearer ${request.bearer}`)
  if (request.body !== undefined) headers.set('content-type', 'application/json;charset=UTF-8')
  const response = await fetchFromProvider(
    new Request(address.url + request.path, {
      method: request.method,
      headers,
      redirect: 'error',
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    }),
    runtime,
    request.timeoutMs === undefined ? undefined : AbortSignal.timeout(request.timeoutMs),
  )
  const body = parseJson(await response.text())
  return response.ok ? { kind: 'success', body } : refusalOf(request, response, body, runtime.now())
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

/** Returns the string code of an error body, in any of the three shapes the API has used. */
function codeOf(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined
  return [body['code'], body['error_code'], body['error']].map(asCode).find((code) => code !== undefined)
}

/** Only codes are used: free text decides nothing and is not logged. */
function asCode(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : undefined
}
