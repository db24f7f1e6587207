import { settledWithin } from '@drawbridge/shared/async.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { type Context, unheard, intercepted } from '@drawbridge/shared/mcp/pipeline.ts'
import { discard, type HttpResponse } from '../http/http-client.ts'
import { mayRepeat } from '../http/retry.ts'
import { GetStream } from './get-stream.ts'
import { mayBeSseServer } from './revision-detection.ts'
import {
  hasUsableSessionId,
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
 * Streamable HTTP in the revisions 2025-03-26 to 2025-11-25, with sessions. Follows the messages that open a session, and those
 * that shape it; when the server loses the session, opens another one for all who wait, and sends again what was refused
 * for it. A batch is sent as one. An `initialize` that is answered with an error is a {@link TransportError} `refused`.
 */
export class SessionTransport implements StreamingTransport {
  readonly #http: StreamableHttp
  readonly #ports: TransportPorts
  readonly #state: SessionState
  #session: Session = noSession
  #stream: GetStream | undefined
  /** Some servers answer a POST with 202, and send its response on the GET stream. */
  readonly #pending = new PendingResponses()
  #renewing: Promise<void> | undefined
  /** Resolves when the session has ended at the server. */
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
    if (this.#http.isClosed) return void (await this.#ended)
    this.#http.close()
    this.#stream?.close()
    if (this.#session.id === undefined) return
    this.#ended = settledWithin(this.#http.delete(this.#session.headers), graceMs)
    await this.#ended
  }

  /** The client opens a session, maybe not its first one. */
  async #openSession(message: WireMessage, options: Sending): Promise<void> {
    const before = this.#session
    this.#state.restart()
    await this.#initialize(message, options)
    if (before.id === undefined || before === this.#session) return
    this.#stream?.close()
    this.#endSession(before)
  }

  #initialize(message: WireMessage, options: Sending): Promise<void> {
    return this.#http.post(message, options, async () => {
      let opened: Session = noSession
      return {
        headers: noSession.headers,
        accepted(response) {
          if (!hasUsableSessionId(response)) throw unusableSession(response)
          // The response names the session before the answer is there.
          opened = openedSession(response, undefined)
        },
        resume: (lastEventId) => this.#http.get(opened.headers, lastEventId, options.signal),
        deliver: (answer, response) => {
          if (answer.envelope.kind === 'response') this.#initializeAnswered(message, answer, response)
          return options.deliver(answer)
        },
        brokeOff: () => this.#endSession(opened),
        refused: async () => 'failed',
      }
    })
  }

  #initializeAnswered(message: WireMessage, answer: WireMessage, response: HttpResponse): void {
    if (answer.envelope.kind === 'response' && answer.envelope.isError)
      throw new TransportError('refused', 'The server refused to open a session.', {
        status: response.status,
        response: answer,
      })
    this.#session = openedSession(response, answer)
    this.#state.accepted(message, answer)
  }

  async #confirmSession(message: WireMessage, options: Sending): Promise<void> {
    await this.#http.post(message, options, async () => ({
      headers: this.#session.headers,
      refused: async () => 'failed',
    }))
    this.#openStream()
  }

  #openStream(): void {
    this.#stream?.close()
    if (this.#http.isClosed) return
    const used = this.#session
    const stream = new GetStream({
      runtime: this.#ports.runtime,
      note: this.#ports.note,
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
    const answered = this.#pending.expect(envelope.id, recording.deliver)
    try {
      await this.#postInSession(message, recording, () => {
        this.#pending.expectOnlyHere(envelope.id)
        return this.#stream?.mayAnswer === true ? answered : undefined
      })
    } finally {
      this.#pending.forget(envelope.id)
    }
  }

  #postInSession(message: WireMessage, options: Sending, elsewhere?: Elsewhere): Promise<void> {
    const { envelope } = message
    const isAnswer = envelope.kind === 'response'
    let renewals = 0
    return this.#http.post(message, options, async (): Promise<PostAttempt> => {
      // An answer of the client may be what the server waits for before it accepts anything else.
      if (!isAnswer) await this.#renewing
      const used = this.#session
      return {
        headers: used.headers,
        accepted: () => this.#stream?.isRefused === true && this.#stream.revive(),
        resume: (lastEventId) => this.#http.get(used.headers, lastEventId, options.signal),
        elsewhere,
        refused: async (refused) => {
          if (!isSessionLost(refused, used)) return undefined
          // A server that refused a message for its session has not executed it.
          if (!mayRepeat('session_lost', envelope, renewals)) throw lostSessionError()
          renewals += 1
          await this.#renew(used)
          if (!isAnswer) return 'again'
          // The question that it answers was asked in the session that is gone.
          this.#ports.note('dropped a response in a lost session')
          return 'done'
        },
      }
    })
  }

  /** Opens one new session for all who found the old one gone. */
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
      await this.#initialize(messages.initialize, { ...unheard, signal })
      await this.#confirmSession(messages.initialized, { ...unheard, signal })
    } catch (error) {
      // A session that was only half opened would refuse everything; the lost one is found lost again.
      this.#session = lost
      throw error
    }
    for (const choice of this.#state.choices()) void this.#restore(choice)
  }

  async #restore(choice: WireMessage): Promise<void> {
    await this.#http
      .run(undefined, (signal) => this.#sendInSession(choice, { ...unheard, signal }))
      .catch(() => this.#ports.note('a log level or subscription could not be restored'))
  }

  #endSession({ id, headers }: Session): void {
    if (id !== undefined) void this.#http.delete(headers).catch(() => {})
  }
}

function lostSessionError(): TransportError {
  return new TransportError('lost', 'The server does not know the session, and a new one did not help.')
}

function unusableSession(response: HttpResponse): TransportError {
  discard(response)
  const message = 'The server names its session with characters that no header may have.'
  return new TransportError('refused', message, { status: response.status })
}

export type TransportKind = 'http' | 'sse'

/** Which transport is tried first, and whether the other is tried too. */
export type TransportOrder = 'http-first' | 'sse-first' | 'http-only' | 'sse-only'

/**
 * A transport up to 2025-11-25 that finds out by its first message whether the server has Streamable HTTP or HTTP+SSE. What
 * is remembered is tried first, unless a transport is pinned. A fallback that fails too is not reported: the first failure is.
 */
export class FallbackTransport implements StreamingTransport {
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  /** What is tried first, and what is tried after it. */
  readonly #kinds: readonly [TransportKind, TransportKind?]
  readonly #open = new Map<TransportKind, StreamingTransport>()
  #current: TransportKind
  /** Any message that comes back shows that its transport is the right one. */
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
      // Another message may have been answered meanwhile, by either transport.
      if (this.#proven === undefined) this.#current = before
      if (this.#proven !== kind) await this.#close(kind)
      throw isWrongTransport(kind, secondError) ? error : secondError
    }
  }

  #sendBy(kind: TransportKind, message: WireMessage, context: Context): Promise<void> {
    const transport = this.#open.get(kind) ?? this.#create(kind)
    if (this.#proven !== undefined) return transport.send(message, context)
    const watched = intercepted(context, (answer, deliver) => {
      this.#prove(kind)
      return deliver(answer)
    })
    return transport.send(message, watched)
  }

  #prove(kind: TransportKind): void {
    if (this.#proven !== undefined) return
    this.#proven = kind
    this.#current = kind
  }

  #create(kind: TransportKind): StreamingTransport {
    const Transport = kind === 'http' ? SessionTransport : SseTransport
    const transport = new Transport(this.#config, this.#ports)
    this.#open.set(kind, transport)
    return transport
  }

  async #close(kind: TransportKind): Promise<void> {
    const transport = this.#open.get(kind)
    this.#open.delete(kind)
    await transport?.close(0)
  }
}

/** A GET that brings no event stream is a 4xx, or 2xx with something else. */
function isWrongTransport(kind: TransportKind, error: unknown): boolean {
  if (kind === 'http') return mayBeSseServer(error)
  const isOther = error instanceof TransportError
  return isOther && (error.fault === 'not_found' || error.fault === 'refused' || error.fault === 'no_mcp')
}
