import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type ProviderFailure, ProviderError } from '../core/session-provider.ts'

/** Shorter than a refresh lease, so that a slow call has ended before another instance may start one. */
const callTimeoutMs = 8000
const maxAnswerLength = 1_000_000

/** Where and how the auth API is reached. */
export interface GotrueAddress {
  /** Auth base URL without trailing slash, for example `https://ref.supabase.co/auth/v1`. */
  url: string
  /** Publishable key; sent as `apikey` only, as it is no JWT. */
  apiKey: string | undefined
}

/** One call of the auth API. */
export interface GotrueRequest {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  bearer?: string
}

// Key: the code of a GoTrue error. What is not listed here is decided by its HTTP status.
const failureByCode: ReadonlyMap<string, ProviderFailure> = new Map([
  ['invalid_credentials', 'invalid_credentials'],
  // Told apart on a sign-in form this would say which accounts exist.
  ['user_banned', 'invalid_credentials'],
  ['email_not_confirmed', 'email_unconfirmed'],
  ['over_request_rate_limit', 'rate_limited'],
  ['email_provider_disabled', 'disabled'],
  ['provider_disabled', 'disabled'],
  ['flow_state_not_found', 'expired'],
  ['flow_state_expired', 'expired'],
  ['bad_code_verifier', 'expired'],
])

// Codes with which the provider says that a session is gone for good. Nothing else ever ends a grant.
const terminalRefreshCodes = new Set([
  'refresh_token_not_found',
  'refresh_token_already_used',
  'session_not_found',
  'session_expired',
  'user_banned',
  'user_not_found',
])

/** Calls the auth API and answers its JSON. Rejects with {@link ProviderError}; bodies never reach its message. */
export async function callGotrue(
  address: GotrueAddress,
  request: GotrueRequest,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<unknown> {
  const response = await send(address, request, runtime)
  if (response.status === 204) return undefined
  const text = await readText(response)
  const body = parseJson(text)
  if (response.ok) {
    if (body === undefined)
      throw new ProviderError('protocol', 'The auth API answered something other than JSON.')
    return body
  }
  throw failureOf(request, response, body)
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
        signal: AbortSignal.timeout(callTimeoutMs),
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      }),
    )
  } catch (error) {
    throw new ProviderError('transient', 'The auth API cannot be reached.', { cause: error })
  }
}

async function readText(response: Response): Promise<string> {
  try {
    return (await response.text()).slice(0, maxAnswerLength)
  } catch (error) {
    throw new ProviderError('transient', 'The answer of the auth API broke off.', { cause: error })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function failureOf(request: GotrueRequest, response: Response, body: unknown): ProviderError {
  const { status } = response
  const code = errorCode(body)
  const message = `The auth API refused ${request.method} ${request.path.replace(/\?.*/, '')}: ${status} ${code ?? ''}`
  if (request.path.includes('grant_type=refresh_token')) {
    const terminal = status >= 400 && status < 404 && code !== undefined && terminalRefreshCodes.has(code)
    return new ProviderError(terminal ? 'terminal' : 'transient', message, retryAfter(response))
  }
  return new ProviderError(failureByCode.get(code ?? '') ?? failureOfStatus(status), message)
}

// GoTrue itself never says when to come back; a gateway in front of it may. A date is not worth a clock here.
function retryAfter(response: Response): { retryAfterSeconds?: number } {
  const text = response.headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(text) ? { retryAfterSeconds: Number(text) } : {}
}

function failureOfStatus(status: number): ProviderFailure {
  if (status === 429) return 'rate_limited'
  return status >= 500 || status === 408 || status === 409 ? 'transient' : 'protocol'
}

/** The string code of an error body, in any of the three shapes the API has had. */
function errorCode(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { code, error_code: errorCode, error } = body as Record<string, unknown>
  return [code, errorCode, error].find((value): value is string => typeof value === 'string')
}
