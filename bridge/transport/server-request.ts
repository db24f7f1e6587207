import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { Authorization, Refusal } from '../http/authorization.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import { discard } from './response-body.ts'
import { Retries } from './retry.ts'
import { TransportError } from './transport.ts'
import type { TransportConfig, TransportPorts } from './transport.ts'

/** One request to the server, without its authorization. */
export interface ServerRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string
  signal: AbortSignal | undefined
  /** Whether it may reach the server twice. */
  repeatable: boolean
  /** For all attempts together; that of the transport when left out. */
  retryMs?: number
  /** Silence that is allowed within the response; 0 for no limit. */
  bodyTimeoutMs?: number
}

/** A token that was refused is replaced once; only a request refused with yet another token is sent once more. */
const maxReplays = 3

/**
 * Sends the requests of a transport: authorized, again where that is safe, and again with a better token when the first was
 * refused. Resolves with 2xx, and with each error that is for the caller to read; rejects with {@link TransportError} for a
 * refusal that only a person can end, a server that is away or asks to be left alone, and a redirect.
 */
export class RequestSender {
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  readonly #base: Readonly<Record<string, string>>

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#config = config
    this.#ports = ports
    this.#base = withoutReserved(config.headers)
  }

  async send(request: ServerRequest): Promise<HttpResponse> {
    const { repeatable, signal, retryMs = this.#config.retryMs } = request
    const retries = new Retries({ repeatable, retryMs, signal }, this.#ports)
    const refusedWith: (string | undefined)[] = []
    for (;;) {
      const authorization = await this.#ports.authorization(signal)
      let response: HttpResponse
      try {
        response = await this.#attempt(request, authorization)
      } catch (error) {
        if (await retries.afterFailure(error)) continue
        throw error
      }
      if (response.status < 300) return response
      if (isRefusal(response)) {
        discard(response)
        await this.#replaceToken(response, authorization, refusedWith)
        continue
      }
      const absence = readAbsence(response, request.url, this.#ports.runtime.now())
      if (absence === undefined) return response
      discard(response)
      if (!(await retries.afterAbsence(absence))) throw absence
    }
  }

  #attempt(request: ServerRequest, authorization: Authorization | undefined): Promise<HttpResponse> {
    const { method, url, body, signal, bodyTimeoutMs } = request
    return this.#ports.http.send({
      method,
      url,
      headers: this.#headers(request, authorization),
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
      ...(bodyTimeoutMs !== undefined && { bodyTimeoutMs }),
    })
  }

  #headers(request: ServerRequest, authorization: Authorization | undefined): Record<string, string> {
    const headers = { ...this.#base, ...request.headers }
    if (authorization === undefined) return headers
    for (const name of Object.keys(headers)) if (name.toLowerCase() === 'authorization') delete headers[name]
    return { ...headers, Authorization: authorization.header }
  }

  /** Resolves when the request may be sent again. */
  async #replaceToken(
    response: HttpResponse,
    used: Authorization | undefined,
    refusedWith: (string | undefined)[],
  ): Promise<void> {
    const isRepeated = refusedWith.includes(used?.header)
    refusedWith.push(used?.header)
    const status = response.status === 401 ? 401 : 403
    const refusal: Refusal = { status, used, challenges: challengesOf(response) }
    const isHopeless = isRepeated || refusedWith.length > maxReplays
    const outcome = isHopeless ? undefined : await this.#ports.refused(refusal)
    if (outcome?.kind === 'retry') return
    throw new TransportError('sign_in_needed', 'The server wants a sign-in.', { status: response.status })
  }
}

/** These are set per request; a second value would contradict them. */
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

function readAbsence(response: HttpResponse, url: string, now: number): TransportError | undefined {
  const { status } = response
  if (status >= 300 && status < 400 && status !== 304) return movedError(response, url)
  if (status !== 429 && status !== 502 && status !== 503 && status !== 504) return undefined
  const seconds = retryAfterSeconds(response.headers, now)
  const known = { status, ...(seconds !== undefined && { retryAfterSeconds: seconds }) }
  return status === 429
    ? new TransportError('rate_limited', 'The server gets too many requests.', known)
    : new TransportError('unavailable', `The server is not available (HTTP ${status}).`, known)
}

/** Anything longer is not an address that a person could go to. */
const maxLocationLength = 300

/** Not followed: the token is for the address that was configured. */
function movedError(response: HttpResponse, url: string): TransportError {
  const { location } = response.headers
  const isUrl = typeof location === 'string' && URL.canParse(location, url)
  const target = isUrl ? new URL(location, url) : undefined
  const isWeb = target?.protocol === 'https:' || target?.protocol === 'http:'
  const where = isWeb ? `${target.origin}${target.pathname}`.slice(0, maxLocationLength) : 'another address'
  return new TransportError('refused', `The server says that the endpoint has moved to ${where}.`, {
    status: response.status,
  })
}
