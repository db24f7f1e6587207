import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { parseRetryAfter, readBoundedText } from '../response.ts'

/** Shorter than a refresh lease, so that a slow call has ended before another instance may start one. */
const callTimeoutMs = 8000

/** Address and key of the auth API. */
export interface GotrueAddress {
  /** Auth base URL without trailing slash, for example `https://ref.supabase.co/auth/v1`. */
  url: string
  /** Publishable key; sent as `apikey` only, because it is not a JWT. */
  apiKey: string | undefined
}

/** One call of the auth API. */
export interface GotrueRequest {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  bearer?: string
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
 * Calls the auth API. Rejects with `transient` when there is no complete response within eight seconds: the call may have taken
 * effect. Follows no redirect, because of the secrets. Stops reading a response above a megabyte.
 */
export async function callGotrue(
  address: GotrueAddress,
  request: GotrueRequest,
  runtime: Pick<Runtime, 'fetch' | 'now'>,
): Promise<GotrueAnswer> {
  const response = await send(address, request, runtime)
  const body = parseJson(await readText(response))
  return response.ok ? { kind: 'success', body } : refusalOf(request, response, body, runtime.now())
}

async function send(
  address: GotrueAddress,
  request: GotrueRequest,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<Response> {
  const headers = new Headers({ accept: 'application/json', 'x-supabase-api-version': '2024-01-01' })
  if (address.apiKey !== undefined) headers.set('apikey', address.apiKey)
  if (request.bearer !== undefined) headers.set('authorization', `Bearer ${request.bearer}`)
  if (request.body !== undefined) headers.set('content-type', 'application/json;charset=UTF-8')
  try {
    return await runtime.fetch(
      new Request(address.url + request.path, {
        method: request.method,
        headers,
        redirect: 'error',
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      }),
      { signal: AbortSignal.timeout(callTimeoutMs) },
    )
  } catch (cause) {
    throw new ProviderError('transient', 'The auth API cannot be reached.', { cause, outcomeKnown: false })
  }
}

async function readText(response: Response): Promise<string | undefined> {
  try {
    return await readBoundedText(response)
  } catch (cause) {
    const message = 'The response of the auth API was cut off.'
    throw new ProviderError('transient', message, { cause, outcomeKnown: false })
  }
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
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
    retryAfterSeconds: mayReturn ? parseRetryAfter(headers.get('retry-after'), now) : undefined,
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
