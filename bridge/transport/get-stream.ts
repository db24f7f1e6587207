import { messagesIn, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { discard, type HttpResponse } from '../http/http-client.ts'
import { StreamWaits } from '../http/retry.ts'
import { readEventStream } from './event-stream.ts'
import { isEventStream, readAnswer } from './streamable-http.ts'
import { TransportError, type TransportFault, type TransportPorts } from './transport.ts'

export interface GetStreamPorts extends Pick<TransportPorts, 'runtime' | 'note'> {
  /** Sends a GET that continues after that event. Rejects with `TransportError` or `NetworkError`. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpResponse>
  message(message: WireMessage): void | Promise<void>
  /** Called when the server no longer knows the session. */
  sessionLost(): void
  /** Called when nothing arrives on the stream, at least for now. */
  silent(): void
}

/** Temporary refusals. */
const passing: ReadonlySet<TransportFault> = new Set(['unavailable', 'rate_limited', 'lost'])

/**
 * The GET stream of a session, on which a server sends messages of its own (MCP 2025-11-25 transports, listening for messages).
 * Opens at once, and again whenever it ends, until it is closed or the server refuses it.
 */
export class GetStream {
  /** The server refused it because the token was missing or invalid. */
  isRefused = false
  /** Responses can arrive on it: it is open or about to be. */
  mayAnswer = true
  readonly #ports: GetStreamPorts
  readonly #waits = new StreamWaits()
  #isClosed = false
  /** Aborts the current request or wait. */
  #attempt = new AbortController()
  #wasOpen = false
  #lastEventId: string | undefined

  constructor(ports: GetStreamPorts) {
    this.#ports = ports
    void this.#run()
  }

  close(): void {
    this.#isClosed = true
    this.#attempt.abort()
  }

  /** Opens it again after its last event: its connection may be dead unnoticed. */
  reopen(): void {
    this.#waits.reset()
    this.#attempt.abort()
  }

  /** Opens it again if it was refused for its token. */
  revive(): void {
    if (!this.isRefused || this.#isClosed) return
    this.isRefused = false
    void this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#attempt = new AbortController()
      const { signal } = this.#attempt
      const goesOn = await this.#readOnce(signal).catch((error: unknown) => this.#isPassing(error))
      const isOver = this.#isClosed || (!goesOn && !signal.aborted)
      if (isOver || !this.#wasOpen) {
        this.mayAnswer = false
        this.#ports.silent()
      }
      if (isOver) return
      this.#ports.note('GET stream ended')
      await this.#waits.wait(this.#ports.runtime, signal)
    }
  }

  /** Returns whether to try again. */
  async #readOnce(signal: AbortSignal): Promise<boolean> {
    const response = await this.#ports.open(this.#lastEventId, signal)
    if (response.status >= 300 || !isEventStream(response)) {
      discard(response)
      // Servers without this stream may also answer 404 within a live session.
      if (response.status === 404 && this.#wasOpen) this.#ports.sessionLost()
      this.#ports.note(`no GET stream: status ${response.status}`)
      return response.status >= 500
    }
    this.#wasOpen = true
    this.mayAnswer = true
    this.#ports.note('GET stream open')
    const end = await readEventStream(response, {
      take: (event) => {
        this.#waits.reset()
        return event.type === 'message' ? this.#take(readAnswer(event.data)) : undefined
      },
      isDone: () => signal.aborted,
    })
    this.#lastEventId = end.lastEventId ?? this.#lastEventId
    this.#waits.asked(end.retryMs)
    return true
  }

  async #take(message: WireMessage): Promise<void> {
    for (const one of messagesIn(message)) {
      // Responses too: their requests may have come on a stream that broke.
      if (!this.#isClosed) await this.#ports.message(one)
    }
  }

  #isPassing(error: unknown): boolean {
    this.isRefused = error instanceof TransportError && error.fault === 'sign_in_needed'
    return !(error instanceof TransportError) || passing.has(error.fault)
  }
}
