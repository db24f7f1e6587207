import { pause } from '@drawbridge/shared/async.ts'
import { readMessage, splitBatch, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { discard, type HttpResponse } from '../http/http-client.ts'
import { backoffMs, shortTurnMs, streamWaitMs } from '../http/retry.ts'
import { readEventStream } from './event-stream.ts'
import { isEventStream } from './streamable-http.ts'
import { TransportError, type TransportFault, type TransportPorts } from './transport.ts'

export interface GetStreamPorts extends Pick<TransportPorts, 'runtime' | 'note'> {
  /** One GET, which continues after that event. Rejects with `TransportError` or `NetworkError`. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpResponse>
  message(message: WireMessage): void | Promise<void>
  /** The server says that it does not know the session any more. */
  sessionLost(): void
}

const firstWaitMs = 1400
const maxWaitMs = 30_000

/** Balancers cut silent connections after a minute or so, which does not count as a failure. */
const lastingMs = 10_000

/** These end by themselves. */
const passing: ReadonlySet<TransportFault> = new Set(['unavailable', 'rate_limited', 'lost'])

/**
 * The stream of a session on which a server sends messages of its own (MCP 2025-11-25 transports, listening for messages).
 * Opened at once, and again whenever it ends, until it is closed or the server says that there is none.
 */
export class GetStream {
  /** Given up for want of a token. */
  isRefused = false
  readonly #ports: GetStreamPorts
  #isClosed = false
  /** Ends the request, or the wait, that is under way. */
  #turn = new AbortController()
  #wasOpen = false
  #failures = 0
  #idleTurns = 0
  #lastEventId: string | undefined
  #retryMs: number | undefined

  constructor(ports: GetStreamPorts) {
    this.#ports = ports
    void this.#run()
  }

  close(): void {
    this.#isClosed = true
    this.#turn.abort()
  }

  /** Opens it again, at the event where it is: its connection may be dead without a sign of it. */
  reopen(): void {
    this.#failures = 0
    this.#idleTurns = 0
    this.#turn.abort()
  }

  /** Opens it again if it was given up for want of a token. */
  revive(): void {
    if (!this.isRefused || this.#isClosed) return
    this.isRefused = false
    void this.#run()
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#turn = new AbortController()
      const { signal } = this.#turn
      const since = performance.now()
      const goesOn = await this.#readOnce(signal).catch((error: unknown) => this.#isPassing(error))
      const tookMs = performance.now() - since
      if (tookMs >= lastingMs) this.#failures = 0
      if (tookMs >= shortTurnMs) this.#idleTurns = 0
      if (this.#isClosed || (!goesOn && !signal.aborted)) return
      this.#ports.note('GET stream ended')
      await pause(this.#ports.runtime, this.#waitMs(), signal)
      this.#failures += 1
      this.#idleTurns += 1
      if (this.#isClosed) return
    }
  }

  /** Returns whether the stream is worth another try. */
  async #readOnce(signal: AbortSignal): Promise<boolean> {
    const response = await this.#ports.open(this.#lastEventId, signal)
    if (response.status >= 300 || !isEventStream(response)) {
      discard(response)
      // A server without such a stream may say 404 too, in a session that lives.
      if (response.status === 404 && this.#wasOpen) this.#ports.sessionLost()
      this.#ports.note(`no GET stream: status ${response.status}`)
      return response.status >= 500
    }
    this.#wasOpen = true
    this.#ports.note('GET stream open')
    const end = await readEventStream(response, {
      take: (event) => {
        this.#failures = 0
        this.#idleTurns = 0
        return event.type === 'message' ? this.#take(readMessage(event.data)) : undefined
      },
      isDone: () => signal.aborted,
    })
    this.#lastEventId = end.lastEventId ?? this.#lastEventId
    this.#retryMs = end.retryMs ?? this.#retryMs
    return true
  }

  async #take(message: WireMessage): Promise<void> {
    if (this.#isClosed) return
    const { envelope } = message
    if (envelope.kind === 'batch') {
      for (const one of splitBatch(message)) await this.#take(one)
    } else if (envelope.kind === 'invalid') this.#ports.note(`dropped an invalid message: ${envelope.reason}`)
    // A response too: its request may have been sent on a stream that broke.
    else await this.#ports.message(message)
  }

  #isPassing(error: unknown): boolean {
    this.isRefused = error instanceof TransportError && error.fault === 'sign_in_needed'
    return !(error instanceof TransportError) || passing.has(error.fault)
  }

  #waitMs(): number {
    return this.#retryMs === undefined
      ? backoffMs(this.#ports.runtime, this.#failures, firstWaitMs, maxWaitMs)
      : streamWaitMs(this.#retryMs, this.#idleTurns)
  }
}
