import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { Authorization, Refusal } from '../http/authorization.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import { discard } from './discarded-body.ts'
import { backoffMs, pause } from './interruptible-pause.ts'
import type { LegConfig, LegPorts } from './leg-config.ts'
import { RemoteError } from './remote-leg.ts'
import { isWorthRepeating } from './repeatable.ts'

/** One request to the server, without its authorization. */
export interface RemoteRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string
  signal: AbortSignal | undefined
  /** Whether it may reach the server twice. */
  repeatable: boolean
  /** For all attempts together; what the leg was made with when left out. */
  retryMs?: number
  /** Silence that is allowed within the response; 0 for no limit. */
  bodyTimeoutMs?: number
}

/**
 * Sends requests to the server: authorised, again when that is safe, and again with a better token when the one it had was
 * refused. Resolves with 2xx, and with each error that is for the caller to read; rejects with {@link RemoteError} for a
 * refusal that only a person can end, a server that is away or wants to be left in peace, and a redirect.
 */
export type RemoteRequester = (request: RemoteRequest) => Promise<HttpResponse>

/** A token that was refused is replaced once; only what is refused with yet another token goes once more. */
const mostReplays = 3

const firstWaitMs = 100
const longestWaitMs = 1000

/**
 * Creates what sends the requests of a leg: with its authorization, again after a refusal or where that is safe, and with
 * everything that is no response for the leg as an error.
 */
export function createRemoteRequester(config: LegConfig, ports: LegPorts): RemoteRequester {
  const base = withoutReserved(config.headers)
  const configuredAuthorization = Object.keys(base).filter((name) => name.toLowerCase() === 'authorization')

  let latest:
    | { own: RemoteRequest['headers']; value: string | undefined; headers: Record<string, string> }
    | undefined

  /** Undefined: it did not get through, and may be sent again. */
  async function attempt(
    request: RemoteRequest,
    authorization: Authorization | undefined,
    patience: Patience,
  ): Promise<HttpResponse | undefined> {
    const { method, url, body, signal, bodyTimeoutMs } = request
    try {
      return await ports.http.send({
        method,
        url,
        headers: headersOf(request.headers, authorization),
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
        ...(bodyTimeoutMs !== undefined && { bodyTimeoutMs }),
      })
    } catch (error) {
      if (!isWorthRepeating(error, request.repeatable) || !(await patience.wait())) throw error
      ports.note(`sending again after: ${error.fault}`)
      return undefined
    }
  }

  /** The calls of one session have the same: then they get the same object, which nobody has to read again. */
  function headersOf(
    own: Readonly<Record<string, string>>,
    authorization: Authorization | undefined,
  ): Readonly<Record<string, string>> {
    const value = authorization?.header
    if (latest?.own !== own || latest.value !== value) {
      const headers = { ...base, ...own }
      if (value !== undefined) {
        for (const name of configuredAuthorization) delete headers[name]
        headers['Authorization'] = value
      }
      latest = { own, value, headers }
    }
    return latest.headers
  }

  return async (request) => {
    const patience = createPatience(request.retryMs ?? config.retryMs, request.signal, ports)
    const refusals: (string | undefined)[] = []
    for (;;) {
      const authorization = await ports.authorization(request.signal)
      const response = await attempt(request, authorization, patience)
      if (response === undefined) continue
      if (response.status < 300) return response
      if (isRefusal(response)) {
        discard(response)
        await replace(response, authorization, refusals)
      } else if (!(await outlast(response, request, patience))) return response
    }
  }

  /** Whether the request may be sent again, because the server was only away; `false`: the response is for the caller. */
  async function outlast(
    response: HttpResponse,
    request: RemoteRequest,
    patience: Patience,
  ): Promise<boolean> {
    const failure = readAbsence(response, request.url, ports.runtime.now())
    if (failure === undefined) return false
    discard(response)
    const mayRepeat =
      failure.fault === 'rate_limited' || (failure.fault === 'unavailable' && request.repeatable)
    if (!mayRepeat || !(await patience.wait(failure.retryAfterSeconds))) throw failure
    ports.note(`sending again after status ${response.status}`)
    return true
  }

  /** Resolves when the request may be sent again. */
  async function replace(
    response: HttpResponse,
    used: Authorization | undefined,
    refusals: (string | undefined)[],
  ): Promise<void> {
    const repeated = refusals.includes(used?.header)
    refusals.push(used?.header)
    const refusal: Refusal = {
      status: response.status === 401 ? 401 : 403,
      used,
      challenges: challengesOf(response),
    }
    const outcome = repeated || refusals.length > mostReplays ? undefined : await ports.refused(refusal)
    if (outcome?.kind === 'retry') return
    throw new RemoteError('sign_in_needed', 'The server wants a sign-in.', { status: response.status })
  }
}

interface Patience {
  /** Waits before the next attempt: as long as the server asked for, else a little longer each time. `false`: it is too late. */
  wait(seconds?: number): Promise<boolean>
}

function createPatience(mostMs: number, signal: AbortSignal | undefined, ports: LegPorts): Patience {
  const started = performance.now()
  let failures = 0
  return {
    async wait(seconds) {
      const backoff = backoffMs(ports.runtime, failures, firstWaitMs, longestWaitMs)
      const ms = Math.max(backoff, (seconds ?? 0) * 1000)
      failures += 1
      if (performance.now() - started + ms > mostMs) return false
      await pause(ports.runtime, ms, signal)
      return signal?.aborted !== true
    },
  }
}

/** These are set per request; a second value of theirs would contradict it. */
const reserved: ReadonlySet<string> = new Set([
  'accept',
  'content-type',
  'content-length',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'last-event-id',
])

function withoutReserved(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !reserved.has(name.toLowerCase())))
}

function isRefusal(response: HttpResponse): boolean {
  if (response.status === 401) return true
  if (response.status !== 403) return false
  return challengesOf(response).some((challenge) => challenge.params.get('error') === 'insufficient_scope')
}

function challengesOf(response: HttpResponse): Refusal['challenges'] {
  const header = response.headers['www-authenticate']
  return parseWwwAuthenticate(Array.isArray(header) ? header.join(', ') : (header ?? ''))
}

function readAbsence(response: HttpResponse, url: string, now: number): RemoteError | undefined {
  const { status } = response
  if (status >= 300 && status < 400 && status !== 304) return movedError(response, url)
  if (status !== 429 && status !== 502 && status !== 503 && status !== 504) return undefined
  const seconds = retryAfterSeconds(response.headers, now)
  const known = { status, ...(seconds !== undefined && { retryAfterSeconds: seconds }) }
  return status === 429
    ? new RemoteError('rate_limited', 'The server gets too many requests.', known)
    : new RemoteError('unavailable', `The server is not available (HTTP ${status}).`, known)
}

/** What is longer is no place that a person could go to. */
const mostPlaceLength = 300

/** Not followed: the token is for the address that was configured. */
function movedError(response: HttpResponse, url: string): RemoteError {
  const { location } = response.headers
  const isUrl = typeof location === 'string' && URL.canParse(location, url)
  const target = isUrl ? new URL(location, url) : undefined
  const isWeb = target?.protocol === 'https:' || target?.protocol === 'http:'
  const where = isWeb ? `${target.origin}${target.pathname}`.slice(0, mostPlaceLength) : 'another address'
  return new RemoteError('refused', `The server says that the endpoint has moved to ${where}.`, {
    status: response.status,
  })
}
