import { settledWithin } from '@drawbridge/shared/async.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { type Context, discarding, intercepted } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { refusedPostError } from './failed-response.ts'
import { GetStream } from './get-stream.ts'
import { mayBeSseServer } from './revision-detection.ts'
import {
  isSessionLost,
  noSession,
  openedSession,
  PendingResponses,
  SessionState,
  type Session,
} from './session.ts'
import { SseTransport } from './sse.ts'
import { type Elsewhere, StreamableHttp, type PostAttempt } from './streamable-http.ts'
import {
  lostError,
  TransportError,
  type Sending,
  type StreamingTransport,
  type TransportConfig,
  type TransportPorts,
} from './transport.ts'

/**
 * Streamable HTTP in the revisions 2025-03-26 to 2025-11-25, with sessions. Remembers the messages that open and shape a session.
 * When the server loses it, opens one new session for all waiting requests, and sends refused messages again. Sends a batch as
 * one message. An error response to `initialize` is a {@link TransportError} `refused`.
 *
 * @internal
 */
export class SessionTransport implements StreamingTransport {
  readonly #http: StreamableHttp
  readonly #ports: TransportPorts
  readonly #state: SessionState
  #session: Session = noSession
  #stream: GetStream | undefined
  /** Some servers answer a POST with 202 and send the response on the GET stream. */
  readonly #pending = new PendingResponses()
  #renewing: Promise<void> | undefined
  /** Resolves when the server has deleted the session. */
  #ended: Promise<unknown> | undefined

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#ports = ports
    this.#http = new StreamableHttp(config, ports)
    this.#state = new SessionState((request, answer) => ports.answered('http', request, answer))
  }

  send(message: WireMessage, options: Context): Promise<void> {
    return this.#http.run(options.signal, (signal) => {
      const sending = { ...options, signal }
      const { envelope } = message
      if (envelope.kind === 'request' && envelope.method === 'initialize')
        return this.#openSession(message, sending)
      const isConfirming = envelope.kind === 'notification' && envelope.method === 'notifications/initialized'
      return isConfirming ? this.#confirmSession(message, sending) : this.#sendInSession(message, sending)
    })
  }

  reopen(): void {
    this.#stream?.reopen()
  }

  async close(graceMs: number): Promise<void> {
    if (this.#http.closed.aborted) return void (await this.#ended)
    this.#http.close()
    this.#stream?.close()
    if (this.#session.id === undefined) return
    this.#ended = settledWithin(this.#http.delete(this.#session.headers), graceMs)
    await this.#ended
  }

  /** Opens a session for the client, perhaps not its first one. */
  async #openSession(message: WireMessage, options: Sending): Promise<void> {
    const before = this.#session
    this.#state.restart()
    await this.#initialize(message, options)
    if (before.id === undefined || before === this.#session) return
    this.#stream?.close()
    this.#endSession(before)
  }

  #initialize(message: WireMessage, options: Sending): Promise<void> {
    // The header names the session before the body arrives.
    return this.#http.post(message, options, async () => ({
      headers: noSession.headers,
      resume: (lastEventId, first) =>
        this.#http.get(openedSession(first, undefined).headers, lastEventId, options.signal),
      deliver: (answer, { status, headers }) => {
        const { envelope } = answer
        if (envelope.kind !== 'response') return options.deliver(answer)
        if (envelope.isError) throw refusedPostError({ status, error: answer })
        this.#session = openedSession({ status, headers }, answer)
        this.#state.accepted(message, answer)
        return options.deliver(answer)
      },
      brokeOff: (response) => this.#endSession(openedSession(response, undefined)),
    }))
  }

  async #confirmSession(message: WireMessage, options: Sending): Promise<void> {
    await this.#http.post(message, options, async () => ({ headers: this.#session.headers }))
    this.#openStream()
  }

  #openStream(): void {
    this.#stream?.close()
    if (this.#http.closed.aborted) return
    const used = this.#session
    const stream = new GetStream({
      ...this.#ports,
      open: (lastEventId, signal) =>
        this.#http.get(used.headers, lastEventId, signal, { retryMs: 0, bodyTimeoutMs: 0 }),
      message: async (message) => {
        if (await this.#pending.take(message)) return
        const { envelope } = message
        if (envelope.kind === 'invalid') this.#ports.note(`dropped an invalid message: ${envelope.reason}`)
        else await this.#ports.unsolicited(message)
      },
      silent: () => {
        if (this.#stream === stream) this.#pending.fail(lostError())
      },
      sessionLost: () => {
        if (used.id !== undefined) void this.#renew(used).catch(() => {})
      },
    })
    this.#stream = stream
  }

  async #sendInSession(message: WireMessage, options: Sending): Promise<void> {
    const { envelope } = message
    const recording = this.#state.recording(message, options)
    if (envelope.kind !== 'request') return this.#postInSession(message, recording)
    const { answered, postOver, forget } = this.#pending.expect(envelope.id, recording.deliver, true)
    try {
      const elsewhere: Elsewhere = () => {
        postOver()
        return this.#stream?.mayAnswer === true ? answered : undefined
      }
      await this.#postInSession(message, recording, elsewhere)
    } finally {
      forget()
    }
  }

  async #postInSession(message: WireMessage, options: Sending, elsewhere?: Elsewhere): Promise<void> {
    const { envelope } = message
    const isAnswer = envelope.kind === 'response'
    let renewals = 0
    await this.#http.post(message, options, async (): Promise<PostAttempt> => {
      // The server may be waiting for this response before it accepts anything else.
      if (!isAnswer) await this.#renewing
      const used = this.#session
      return {
        headers: used.headers,
        resume: (lastEventId) => this.#http.get(used.headers, lastEventId, options.signal),
        elsewhere,
        refused: async (refused) => {
          if (!isSessionLost(refused, used)) return undefined
          // The message was refused for its session, so it was not executed.
          if (!mayRepeat('session_lost', envelope, renewals)) throw lostSessionError()
          renewals += 1
          await this.#renew(used)
          if (!isAnswer) return 'again'
          // It answers a request of the lost session.
          this.#ports.note('dropped a response in a lost session')
          return 'done'
        },
      }
    })
    this.#stream?.revive()
  }

  /** Opens one new session for all requests that found the old one lost. */
  async #renew(lost: Session): Promise<void> {
    if (lost !== this.#session && this.#renewing === undefined) return
    this.#renewing ??= this.#http
      .run(undefined, (signal) => this.#renewOnce(lost, signal))
      .finally(() => (this.#renewing = undefined))
    await this.#renewing
  }

  async #renewOnce(lost: Session, signal: AbortSignal): Promise<void> {
    const messages = this.#state.opening()
    if (messages === undefined) throw lostSessionError()
    this.#ports.note('the server lost the session: opening another one')
    this.#stream?.close()
    try {
      await this.#initialize(messages.initialize, { ...discarding, signal })
      await this.#confirmSession(messages.initialized, { ...discarding, signal })
    } catch (error) {
      // A half-opened session would refuse everything. The next message finds the old one lost again.
      this.#session = lost
      throw error
    }
    for (const choice of this.#state.choices()) void this.#restore(choice)
  }

  async #restore(choice: WireMessage): Promise<void> {
    await this.#http
      .run(undefined, (signal) => this.#sendInSession(choice, { ...discarding, signal }))
      .catch(() => this.#ports.note('a log level or subscription could not be restored'))
  }

  #endSession({ id, headers }: Session): void {
    if (id !== undefined) void this.#http.delete(headers).catch(() => {})
  }
}

function lostSessionError(): TransportError {
  return new TransportError('lost', 'The server does not know the session, and a new one did not help.')
}

export type TransportKind = 'http' | 'sse'

/** The transport to try first, and whether to try the other one too. */
export type TransportOrder = 'http-first' | 'sse-first' | 'http-only' | 'sse-only'

/**
 * A transport up to 2025-11-25 that finds out with its first message whether the server has Streamable HTTP or HTTP+SSE. Tries the
 * remembered transport first unless one is pinned. If both fail, reports the first failure.
 */
export class FallbackTransport implements StreamingTransport {
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  /** In the order in which they are tried. */
  readonly #kinds: readonly [TransportKind, TransportKind?]
  readonly #open = new Map<TransportKind, StreamingTransport>()
  #current: TransportKind
  /** The transport on which any message has come back. */
  #proven: TransportKind | undefined

  constructor(
    config: TransportConfig & { transport: TransportOrder },
    ports: TransportPorts,
    remembered: TransportKind | undefined,
  ) {
    this.#config = config
    this.#ports = ports
    const [pinned, order] = config.transport.split('-') as [TransportKind, string]
    const first = order === 'only' ? pinned : (remembered ?? pinned)
    this.#kinds = order === 'only' ? [first] : [first, first === 'http' ? 'sse' : 'http']
    this.#current = first
  }

  async send(message: WireMessage, context: Context): Promise<void> {
    const kind = this.#current
    const isProven = this.#proven !== undefined
    try {
      await this.#sendBy(kind, message, context)
    } catch (error) {
      const other = this.#kinds.find((candidate) => candidate !== kind)
      if (isProven || other === undefined || this.#proven === kind) throw error
      if (!isWrongTransport(kind, error) || !mayRepeat('other_transport', message.envelope)) throw error
      await this.#sendByOther(other, message, context, error)
    }
  }

  reopen(answered: boolean): void {
    this.#open.get(this.#current)?.reopen(answered)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#open.values()].map((transport) => transport.close(graceMs)))
  }

  async #sendByOther(
    kind: TransportKind,
    message: WireMessage,
    context: Context,
    error: unknown,
  ): Promise<void> {
    const before = this.#current
    this.#current = kind
    try {
      await this.#sendBy(kind, message, context)
    } catch (secondError) {
      // Meanwhile another message may have been answered on either transport.
      if (this.#proven === undefined) this.#current = before
      const unproven = this.#proven === kind ? undefined : this.#open.get(kind)
      if (unproven !== undefined) this.#open.delete(kind)
      await unproven?.close(0)
      throw isWrongTransport(kind, secondError) ? error : secondError
    }
  }

  #sendBy(kind: TransportKind, message: WireMessage, context: Context): Promise<void> {
    const Transport = kind === 'http' ? SessionTransport : SseTransport
    const transport = this.#open.get(kind) ?? new Transport(this.#config, this.#ports)
    this.#open.set(kind, transport)
    if (this.#proven !== undefined) return transport.send(message, context)
    const watched = intercepted(context, (answer, deliver) => {
      if (this.#proven === undefined) this.#proven = this.#current = kind
      return deliver(answer)
    })
    return transport.send(message, watched)
  }
}

/** A server without HTTP+SSE answers the GET with 4xx, or with 2xx and no event stream. */
function isWrongTransport(kind: TransportKind, error: unknown): boolean {
  if (kind === 'http') return mayBeSseServer(error)
  const isOther = error instanceof TransportError
  return isOther && (error.fault === 'not_found' || error.fault === 'refused' || error.fault === 'no_mcp')
}
