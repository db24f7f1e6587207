import { CookieJar } from '../http/cookie-jar.ts'
import { followRedirects } from '../http/follow-redirects.ts'
import { NetworkError, discard, type HttpRequest, type HttpResponse } from '../http/http-client.ts'
import { endingOf, mayRepeat, type Retries, retriesOf, type Ending, type Sendable } from '../http/retry.ts'
import { absenceOf, challengesOf, isSuccess, isTokenRefusal } from './failed-response.ts'
import { TransportError, type TransportConfig, type TransportPorts } from './transport.ts'

/** One request to the server, without its authorization. */
export interface ServerRequest extends HttpRequest {
  /** Its message, by which the retry policy decides whether it may reach the server twice. */
  what: Sendable
  /** Limits all attempts together. Default: the transport's. */
  retryMs?: number
}

/** Sends requests with a token: again where that is safe, and with a new token if the first was refused. */
export class ServerRequests {
  protected readonly config: TransportConfig
  protected readonly ports: TransportPorts
  readonly #closing = new AbortController()
  readonly closed: AbortSignal = this.#closing.signal
  readonly #running = new Set<AbortController>()
  #cookies: CookieJar | undefined
  /** The server has never answered. */
  #isNew = true

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.config = config
    this.ports = ports
  }

  /**
   * Runs the work for one message under a signal that its caller and {@link ServerRequests.close} abort. Once aborted, rejects only
   * with a `NetworkError` with the fault `aborted`.
   */
  async run(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.closed.aborted || outer?.aborted === true) throw this.#abortedError(false)
    // Not AbortSignal.any: some releases of Node 20 and 22 garbage-collect such a signal too early, and it costs a tenth of a call.
    const running = new AbortController()
    const { signal } = running
    const stop = (): void => running.abort()
    outer?.addEventListener('abort', stop)
    this.#running.add(running)
    try {
      await work(signal)
    } catch (error) {
      throw signal.aborted ? this.#abortedError(true) : error
    } finally {
      outer?.removeEventListener('abort', stop)
      this.#running.delete(running)
    }
  }

  /** Aborts everything that {@link ServerRequests.run} runs. */
  close(): void {
    this.#closing.abort()
    for (const running of this.#running) running.abort()
  }

  /**
   * Resolves with 2xx and with errors that the caller reads. Rejects with {@link TransportError} if the server requires a sign-in, is
   * down or limits requests, or redirects elsewhere.
   */
  async send(request: ServerRequest): Promise<HttpResponse> {
    const { what, signal, retryMs = this.config.retryMs } = request
    const startedMs = performance.now()
    let retries: Retries | undefined
    const mayGoAgain = (ending: Ending, reason: string, askedMs?: number): Promise<boolean> => {
      retries ??= retriesOf(what, { retryMs, signal }, this.ports, startedMs)
      return retries.after(ending, reason, askedMs)
    }
    const refusedWith: (string | undefined)[] = []
    for (;;) {
      const authorization = await this.ports.login.tokens.authorization(signal)
      let response: HttpResponse
      try {
        response = await this.#attempt(request, authorization)
      } catch (error) {
        const ending = this.#endingOf(error)
        if (ending !== undefined && (await mayGoAgain(ending, (error as NetworkError).fault))) continue
        throw error
      }
      this.#isNew = false
      if (isSuccess(response)) return response
      if (isTokenRefusal(response)) {
        discard(response)
        await this.#replaceToken(response, authorization, refusedWith, what)
        continue
      }
      const absence = absenceOf(response, request.url, this.ports.runtime.now())
      if (absence === undefined) return response
      discard(response)
      const fault = passingFault(absence)
      const askedMs = (absence.retryAfterSeconds ?? 0) * 1000
      if (fault === undefined || !(await mayGoAgain(fault, `status ${response.status}`, askedMs)))
        throw absence
    }
  }

  #endingOf(error: unknown): Ending | undefined {
    const isRefused = error instanceof NetworkError && error.fault === 'refused'
    return isRefused && this.#isNew ? 'never_there' : endingOf(error)
  }

  async #attempt(request: ServerRequest, authorization: string | undefined): Promise<HttpResponse> {
    const { http, runtime } = this.ports
    // The later of two headers with one name is sent.
    const headers = {
      ...this.config.headers,
      ...request.headers,
      ...(authorization !== undefined && { Authorization: authorization }),
    }
    const sent = { ...request, headers: this.#cookies?.withCookies(headers, runtime.now()) ?? headers }
    const first = await http.send(sent)
    const isElsewhere = first.status >= 300 && first.status < 400
    const response = isElsewhere ? await followRedirects(http, sent, first) : first
    if ('set-cookie' in response.headers) (this.#cookies ??= new CookieJar()).store(response, runtime.now())
    return response
  }

  /** Resolves when the request may be sent again. */
  async #replaceToken(
    response: HttpResponse,
    used: string | undefined,
    refusedWith: (string | undefined)[],
    what: Sendable,
  ): Promise<void> {
    const isRepeated = refusedWith.includes(used)
    const mayGoAgain = !isRepeated && mayRepeat('token_refused', what, refusedWith.length)
    refusedWith.push(used)
    const status = response.status === 401 ? 401 : 403
    const refusal = { status, used, challenges: challengesOf(response) } as const
    const outcome = mayGoAgain ? await this.ports.login.tokens.refused(refusal) : undefined
    if (outcome === 'retry') return
    throw new TransportError('sign_in_needed', 'The server wants a sign-in.', { status: response.status })
  }

  #abortedError(sent: boolean): NetworkError {
    const { origin } = new URL(this.config.serverUrl)
    return new NetworkError('aborted', origin, `the request to ${origin} was cancelled`, { sent })
  }
}

/** Returns the fault of a server that may accept the message a little later. */
function passingFault({ fault }: TransportError): 'rate_limited' | 'unavailable' | undefined {
  return fault === 'rate_limited' || fault === 'unavailable' ? fault : undefined
}
