import { request as requestHttp, IncomingMessage } from 'node:http'
import type { Agent, ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { mayGoOutAgain } from './connection-race.ts'
import type { ExchangeAddress } from './exchange-address.ts'
import { NetworkError } from './http-client.ts'
import type { HttpRequest, HttpResponse, NetworkFault } from './http-client.ts'
import { errorCode, networkError } from './network-fault.ts'
import { isLoopbackHost } from './request-url.ts'
import type { Roster, RosterEntry } from './roster.ts'
import { unknownAuthorityCodes } from './tls-fault.ts'
import { nodeHttps } from './tls-modules.ts'

/** Where and how a request goes out. */
export interface ExchangePlan {
  url: URL
  address: ExchangeAddress
  /** Names and values in turn, all but the length of the body. */
  headers: readonly string[]
  agent: Agent
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  /** The quickest TCP handshake or answer so far, by origin, in milliseconds; written here too. */
  quickestTrips: Map<string, number>
}

/** How one attempt ended. `remedy` names what would make another one worth while, and safe. */
export type Attempt =
  | { kind: 'response'; response: HttpResponse }
  | { kind: 'failed'; error: NetworkError; remedy: 'new_connection' | 'more_authorities' | undefined }

/** Bounds the head of a response; MCP servers behind single sign-on send kilobytes of cookies. */
const mostHeadBytes = 131_072

/** One request and its response on one connection of node:http. Never resolves twice; `cancel` ends the body too. */
export class Exchange {
  readonly attempt: Promise<Attempt>
  readonly #request: HttpRequest
  readonly #plan: ExchangePlan
  readonly #settle: (attempt: Attempt) => void
  readonly #open: Roster<Exchange>
  readonly #entry: RosterEntry<Exchange>
  #call: ClientRequest | undefined
  #connected = false
  #written = false
  #writingSince = 0
  #timer: NodeJS.Timeout | undefined
  #response: IncomingMessage | undefined
  /** Why we ended it ourselves, or what node:http said first; what follows from it is no news. */
  #verdict: NetworkError | undefined

  /** `open` holds it until it is over, body included. */
  constructor(request: HttpRequest, plan: ExchangePlan, open: Roster<Exchange>) {
    this.#request = request
    this.#plan = plan
    const { promise, resolve } = deferred<Attempt>()
    this.attempt = promise
    this.#settle = resolve
    this.#open = open
    this.#entry = open.add(this)
    // Itself as the listener: no field may hold a function of its own, see `CallAbort` and `#translateErrors`.
    request.signal?.addEventListener('abort', this)
    if (request.signal?.aborted === true) this.cancel()
    else this.#start()
  }

  /** Ends the exchange with the fault `aborted`, at whatever point it is. */
  cancel(): void {
    this.#end('aborted', `the request to ${this.#plan.address.origin} was cancelled`)
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.cancel()
  }

  #whenOver(): void {
    this.#request.signal?.removeEventListener('abort', this)
    this.#open.remove(this.#entry)
  }

  #start(): void {
    const { address, agent, headers } = this.#plan
    const { origin, isTls } = address
    const { body, method } = this.#request
    // A POST says so even if it has none (RFC 9110 section 8.6).
    const text = body ?? (method === 'POST' ? '' : undefined)
    const length = text === undefined ? undefined : String(Buffer.byteLength(text))
    const send = isTls ? nodeHttps().request : requestHttp
    const call = send({
      ...address.options,
      method,
      agent,
      headers: length === undefined ? [...headers] : [...headers, 'Content-Length', length],
      maxHeaderSize: mostHeadBytes,
      joinDuplicateHeaders: true,
    })
    this.#call = call
    call.on('socket', (socket) => this.#onSocket(socket))
    call.on('finish', () => (this.#written = true))
    call.on('response', (response) => this.#onResponse(response))
    call.on('upgrade', () => this.#end('protocol', `${origin} wants to leave HTTP, unasked`))
    call.on('error', (error) => this.#onError(error))
    call.on('close', () => this.#onError(undefined))
    sendBody(call, body)
  }

  #onSocket(socket: Socket): void {
    if (this.#call?.reusedSocket === true) return this.#onConnected()
    const { connectTimeoutMs, url, address } = this.#plan
    this.#arm(connectTimeoutMs, 'connect_timeout', `${url.host} could not be connected to`)
    this.#measureConnect(socket)
    socket.once(address.isTls ? 'secureConnect' : 'connect', () => this.#onConnected())
  }

  #measureConnect(socket: Socket): void {
    let since = performance.now()
    socket.on('connectionAttempt', () => (since = performance.now()))
    socket.once('connect', () => this.#noteTrip(since))
  }

  #noteTrip(since: number): void {
    const { quickestTrips, address } = this.#plan
    const took = performance.now() - since
    if (took < (quickestTrips.get(address.origin) ?? Infinity)) quickestTrips.set(address.origin, took)
  }

  #onConnected(): void {
    this.#connected = true
    this.#writingSince = performance.now()
    this.#arm(this.#plan.headersTimeoutMs, 'headers_timeout', `${this.#plan.address.origin} sent no response`)
  }

  #onResponse(response: IncomingMessage): void {
    clearTimeout(this.#timer)
    this.#noteTrip(this.#writingSince)
    this.#response = response
    // What has come whole with its head cannot fall silent.
    process.nextTick(() => {
      if (!response.complete && !response.destroyed) this.#watchSilence(response)
    })
    this.#translateErrors(response)
    response.once('end', () => {
      // An early answer to a body that nobody reads: the rest of it would block the connection for ever.
      if (!this.#written) this.#call?.destroy()
    })
    response.once('close', () => this.#whenOver())
    this.#settle({
      kind: 'response',
      response: { status: response.statusCode ?? 0, headers: response.headers, body: response },
    })
  }

  /** Silence counts while the reader waits for bytes; a reader who takes a long time is no silence of the server. */
  #watchSilence(response: IncomingMessage): void {
    const socket = response.socket
    const { bodyTimeoutMs, url } = this.#plan
    const onTimeout = (): void => {
      if (response.readableLength > 0) socket.setTimeout(bodyTimeoutMs)
      else
        this.#end(
          'body_timeout',
          `${url.origin} stopped sending in the middle of its response`,
          bodyTimeoutMs,
        )
    }
    socket.setTimeout(bodyTimeoutMs)
    socket.on('timeout', onTimeout)
    response.once('close', () => socket.removeListener('timeout', onTimeout))
  }

  /**
   * Makes the body fail with {@link NetworkError}. Its chunks are not touched. One function for all responses: V8 keeps what
   * functions of their own make of the shape of an object, and with each of them the exchange that it closes over, until the
   * next full collection (measured: half of what a call cost).
   */
  #translateErrors(response: TranslatedResponse): void {
    response[owner] = this
    response._destroy = destroyTranslated
  }

  /** What the body fails with. */
  bodyError(cause: Error): NetworkError {
    return this.#verdict ?? networkError(cause, this.#place())
  }

  #onError(cause: Error | undefined): void {
    if (this.#response !== undefined) {
      if (cause !== undefined) this.#verdict ??= networkError(cause, this.#place())
      return
    }
    if (this.#verdict !== undefined) return
    clearTimeout(this.#timer)
    this.#verdict = networkError(cause ?? resetError, this.#place())
    this.#settle({ kind: 'failed', error: this.#verdict, remedy: this.#remedy(cause) })
    this.#whenOver()
  }

  #remedy(cause: Error | undefined): 'new_connection' | 'more_authorities' | undefined {
    if (!this.#connected && unknownAuthorityCodes.has(errorCode(cause))) return 'more_authorities'
    if (this.#call?.reusedSocket !== true || this.#verdict?.fault !== 'reset') return undefined
    const { url, quickestTrips } = this.#plan
    const ended = {
      method: this.#request.method,
      written: this.#written,
      afterMs: performance.now() - this.#writingSince,
      // On this computer a round trip takes less than the noise of measuring it.
      quickestTripMs: isLoopbackHost(url.hostname) ? undefined : quickestTrips.get(url.origin),
    }
    return mayGoOutAgain(ended) ? 'new_connection' : undefined
  }

  #arm(ms: number, fault: NetworkFault, what: string): void {
    clearTimeout(this.#timer)
    if (ms > 0) this.#timer = setTimeout(() => this.#end(fault, what, ms), ms)
  }

  /** Ends the exchange ourselves. */
  #end(fault: NetworkFault, what: string, limitMs?: number): void {
    if (this.#verdict !== undefined) return
    clearTimeout(this.#timer)
    const message = limitMs === undefined ? what : `${what} (after ${limitMs / 1000} s)`
    const { origin } = this.#plan.url
    this.#verdict = new NetworkError(fault, origin, message, { sent: this.#connected })
    if (this.#response === undefined) {
      this.#call?.destroy()
      this.#settle({ kind: 'failed', error: this.#verdict, remedy: undefined })
      this.#whenOver()
    } else this.#response.destroy(this.#verdict)
  }

  #place(): { url: URL; connected: boolean } {
    return { url: this.#plan.url, connected: this.#connected }
  }
}

/**
 * node:http sends text together with the head of the request, bytes behind it: that is another system call for each
 * message, and they cost more than all else. Of long texts the copy would cost more. As Latin-1 every byte is a character,
 * so neither the bytes of the body nor those of a header change.
 */
function sendBody(call: ClientRequest, body: HttpRequest['body']): void {
  if (body === undefined || typeof body === 'string' || body.byteLength > mostTextBytes) call.end(body)
  else call.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1'), 'latin1')
}

const mostTextBytes = 16_384

const owner = Symbol('owner')

type TranslatedResponse = IncomingMessage & { [owner]?: Exchange }

function destroyTranslated(
  this: TranslatedResponse,
  cause: Error | null,
  callback: (error?: Error | null) => void,
): void {
  const error = cause === null ? null : (this[owner]?.bodyError(cause) ?? cause)
  IncomingMessage.prototype._destroy.call(this, error, (raw) =>
    callback(raw === null || raw === undefined ? raw : error),
  )
}

const resetError = Object.assign(new Error('closed'), { code: 'ECONNRESET' })

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve!: (value: Value) => void
  const promise = new Promise<Value>((settle) => (resolve = settle))
  return { promise, resolve }
}
