import type { Socket } from 'node:net'
import { mayGoOutAgain } from './connection-race.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { Connection, ConnectionUser } from './connection.ts'
import type { ExchangeAddress } from './exchange-address.ts'
import { NetworkError } from './http-client.ts'
import type { HttpRequest, HttpResponse, NetworkFault } from './http-client.ts'
import { errorCode, networkError } from './network-fault.ts'
import { ReceivedResponse, type BodySource } from './received-response.ts'
import type { Roster, RosterEntry } from './roster.ts'
import { unknownAuthorityCodes } from './tls-fault.ts'

/** Where and how a request goes out. */
export interface ExchangePlan {
  url: URL
  address: ExchangeAddress
  /** Request line and headers, all but the length of the body and the empty line. */
  head: string
  pool: ConnectionPool
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

/** One request and its response on one connection. Never resolves twice; `cancel` ends the body too. */
export class Exchange implements ConnectionUser, BodySource {
  readonly attempt: Promise<Attempt>
  readonly #request: HttpRequest
  readonly #plan: ExchangePlan
  readonly #settle: (attempt: Attempt) => void
  readonly #open: Roster<Exchange>
  readonly #entry: RosterEntry<Exchange>
  #connection: Connection | undefined
  #connected = false
  #writingSince = 0
  #response: ReceivedResponse | undefined
  /** The place of a large body whose length is known, and how much of it is there: it is read to where it stays. */
  #place: Buffer | undefined
  #placed = 0
  /** Whether silence within the body is watched for. */
  #isWatched = false
  #isWhole = false
  /** Why we ended it ourselves, or what went wrong first; what follows from it is no news. */
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
    // Itself as the listener: no field may hold a function of its own, see `CallAbort`.
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

  #start(): void {
    const { pool, address, connectTimeoutMs } = this.#plan
    const connection = pool.lend(address, this, this.#request.method)
    this.#connection = connection
    if (this.#connected) return
    connection.arm(connectTimeoutMs, false)
    this.#measureConnect(connection.socket)
  }

  /** @internal */
  onConnected(connection: Connection): void {
    this.#connection = connection
    this.#connected = true
    // On this computer a round trip takes less than the noise of measuring it.
    if (!this.#plan.address.isLoopback) this.#writingSince = performance.now()
    connection.arm(this.#plan.headersTimeoutMs, false)
    this.#send(connection.socket)
  }

  /**
   * Text goes out together with the head of the request, bytes behind it: that is another system call for each message, and
   * they cost more than all else. Of long texts the copy would cost more. As Latin-1 every byte is a character, so neither
   * the bytes of the body nor those of a header change.
   */
  #send(socket: Socket): void {
    const { head } = this.#plan
    const { body, method } = this.#request
    if (body === undefined) {
      // A POST says so even if it has none (RFC 9110 section 8.6).
      socket.write(`${head}${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`, 'latin1')
      return
    }
    const bytes =
      typeof body === 'string'
        ? Buffer.from(body)
        : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const whole = `${head}Content-Length: ${bytes.length}\r\n\r\n`
    if (bytes.length <= mostTextBytes) socket.write(whole + bytes.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(whole, 'latin1')
      socket.write(bytes)
      socket.uncork()
    }
  }

  #measureConnect(socket: Socket): void {
    if (this.#plan.address.isLoopback) return
    let since = performance.now()
    const onAttempt = (): void => void (since = performance.now())
    socket.on('connectionAttempt', onAttempt)
    socket.once('connect', () => {
      socket.removeListener('connectionAttempt', onAttempt)
      this.#noteTrip(since)
    })
  }

  #noteTrip(since: number): void {
    const { quickestTrips, address } = this.#plan
    if (address.isLoopback) return
    const took = performance.now() - since
    if (took < (quickestTrips.get(address.origin) ?? Infinity)) quickestTrips.set(address.origin, took)
  }

  /** @internal */
  onHead(status: number, headers: HttpResponse['headers'], length: number | undefined): void {
    if (status === 101)
      return this.#end('protocol', `${this.#plan.address.origin} wants to leave HTTP, unasked`)
    this.#noteTrip(this.#writingSince)
    if (length !== undefined && length > leastPlacedBytes && length <= mostPlacedBytes)
      this.#place = Buffer.allocUnsafeSlow(length)
    const response = new ReceivedResponse(status, headers, this)
    this.#response = response
    this.#settle({ kind: 'response', response })
  }

  /** @internal */
  room(): Buffer | undefined {
    const place = this.#place
    return place === undefined || this.#placed === place.length ? undefined : place.subarray(this.#placed)
  }

  /** @internal */
  onBody(pieces: readonly Buffer[]): void {
    const bytes = this.#place === undefined ? Buffer.concat(pieces) : this.#put(this.#place, pieces)
    if (this.#response?.push(bytes) === false) this.#connection?.socket.pause()
  }

  /** What has come with the head is copied to its place; the rest is there already. */
  #put(place: Buffer, pieces: readonly Buffer[]): Buffer {
    const start = this.#placed
    for (const piece of pieces) {
      if (piece.buffer !== place.buffer) piece.copy(place, this.#placed)
      this.#placed += piece.length
    }
    return place.subarray(start, this.#placed)
  }

  /** @internal What has come whole with its head cannot fall silent: most responses need no second timer. */
  onPart(): void {
    if (this.#response === undefined || this.#isWatched) return
    this.#isWatched = true
    this.#connection?.arm(this.#plan.bodyTimeoutMs, true)
  }

  /** @internal */
  onEnd(): void {
    this.#isWhole = true
    this.#response?.end()
  }

  /** @internal The reader wants more. */
  resume(): void {
    if (!this.#isWhole) this.#connection?.socket.resume()
  }

  /** @internal The body is read, or nobody wants it any more. What it fails with. */
  close(cause: Error | null): Error | null {
    this.#whenOver()
    if (!this.#isWhole) this.#connection?.destroy()
    return cause === null ? null : (this.#verdict ?? networkError(cause, this.#where()))
  }

  /** @internal */
  onLost(cause: Error | undefined): void {
    this.#verdict ??= networkError(cause ?? resetError, this.#where())
    if (this.#response === undefined) this.#fail(this.#remedy(cause))
    // Later: whoever gets the response in this turn of the event loop is to hear of it.
    else setImmediate(failWith, this.#response, this.#verdict)
  }

  /** @internal */
  onTimeout(): void {
    const { url, address, connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs } = this.#plan
    if (!this.#connected)
      this.#end('connect_timeout', `${url.host} could not be connected to`, connectTimeoutMs)
    else if (this.#response === undefined)
      this.#end('headers_timeout', `${address.origin} sent no response`, headersTimeoutMs)
    // A reader who takes a long time is no silence of the server.
    else if (this.#response.waitingBytes > 0) this.#connection?.arm(bodyTimeoutMs, true)
    else
      this.#end(
        'body_timeout',
        `${address.origin} stopped sending in the middle of its response`,
        bodyTimeoutMs,
      )
  }

  #remedy(cause: Error | undefined): 'new_connection' | 'more_authorities' | undefined {
    if (!this.#connected && unknownAuthorityCodes.has(errorCode(cause))) return 'more_authorities'
    const connection = this.#connection
    if (connection?.isReused !== true || this.#verdict?.fault !== 'reset') return undefined
    const { address, quickestTrips } = this.#plan
    const ended = {
      method: this.#request.method,
      written: connection.isFlushed && !isWriteError(cause),
      afterMs: performance.now() - this.#writingSince,
      quickestTripMs: quickestTrips.get(address.origin),
    }
    return mayGoOutAgain(ended) ? 'new_connection' : undefined
  }

  /** Ends the exchange ourselves. */
  #end(fault: NetworkFault, what: string, limitMs?: number): void {
    if (this.#verdict !== undefined) return
    const message = limitMs === undefined ? what : `${what} (after ${limitMs / 1000} s)`
    this.#verdict = new NetworkError(fault, this.#plan.address.origin, message, { sent: this.#connected })
    if (!this.#isWhole) this.#connection?.destroy()
    if (this.#response === undefined) this.#fail(undefined)
    else this.#response.fail(this.#verdict)
  }

  /** There is no response. */
  #fail(remedy: 'new_connection' | 'more_authorities' | undefined): void {
    if (this.#verdict === undefined) return
    this.#settle({ kind: 'failed', error: this.#verdict, remedy })
    this.#whenOver()
  }

  #whenOver(): void {
    this.#request.signal?.removeEventListener('abort', this)
    this.#open.remove(this.#entry)
  }

  #where(): { url: URL; connected: boolean } {
    return { url: this.#plan.url, connected: this.#connected }
  }
}

function failWith(response: ReceivedResponse, error: Error): void {
  response.fail(error)
}

const mostTextBytes = 16_384
const leastPlacedBytes = 65_536
/** Nobody here reads more. */
const mostPlacedBytes = 64 * 1024 * 1024

/** The system did not take what was written, or not all of it. */
function isWriteError(cause: Error | undefined): boolean {
  return cause !== undefined && 'syscall' in cause && cause.syscall === 'write'
}

const resetError = Object.assign(new Error('closed'), { code: 'ECONNRESET' })

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve!: (value: Value) => void
  const promise = new Promise<Value>((settle) => (resolve = settle))
  return { promise, resolve }
}
