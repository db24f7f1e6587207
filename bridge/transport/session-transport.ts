import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { GetStream } from './get-stream.ts'
import { confirmsInitialize, InitializeBarrier } from './initialize-barrier.ts'
import { discard } from './response-body.ts'
import type { RefusedPost } from './response-body.ts'
import { atMost } from './retry.ts'
import { hasUsableSessionId, isSessionLost, noSession, openedSession, SessionState } from './session.ts'
import type { Session } from './session.ts'
import { StreamableHttp } from './streamable-http.ts'
import type { PostAttempt } from './streamable-http.ts'
import { TransportError } from './transport.ts'
import type {
  Sending,
  SendOptions,
  StreamingTransport,
  TransportConfig,
  TransportPorts,
} from './transport.ts'

const silent = { deliver: () => {} }

/**
 * Streamable HTTP in the revisions 2025-03-26 to 2025-11-25, with sessions. Follows the messages that open a session, and those
 * that shape it; when the server loses the session, opens another one for all who wait, and sends again what was refused
 * for it. A batch is sent as one. An `initialize` that is answered with an error is a {@link TransportError} `refused`.
 */
export class SessionTransport implements StreamingTransport {
  readonly #http: StreamableHttp
  readonly #ports: TransportPorts
  readonly #state = new SessionState()
  readonly #barrier = new InitializeBarrier()
  #session: Session = noSession
  #stream: GetStream | undefined
  #renewing: Promise<void> | undefined

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#ports = ports
    this.#http = new StreamableHttp(config, ports)
  }

  /** What the server agreed on; undefined before it answered `initialize`. */
  revision(): string | undefined {
    return this.#session.revision
  }

  send(message: WireMessage, options: SendOptions): Promise<void> {
    return this.#http.requests.run(options.signal, (signal) => {
      const sending = { ...options, signal }
      const { envelope } = message
      if (envelope.kind === 'request' && envelope.method === 'initialize')
        return this.#openSession(message, sending)
      if (!confirmsInitialize(envelope)) return this.#sendInSession(message, sending)
      const confirming = this.#confirmSession(message, sending)
      this.#barrier.holdUntil(confirming)
      return confirming
    })
  }

  reopen(): void {
    this.#stream?.reopen()
  }

  async close(graceMs: number): Promise<void> {
    this.#http.requests.close()
    this.#stream?.close()
    if (this.#session.id !== undefined) await atMost(graceMs, this.#http.delete(this.#session.headers))
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
    this.#state.accepted(message)
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
    if (this.#http.requests.isClosed) return
    const used = this.#session
    this.#stream = new GetStream({
      runtime: this.#ports.runtime,
      note: this.#ports.note,
      open: (lastEventId, signal) =>
        this.#http.get(used.headers, lastEventId, signal, { retryMs: 0, bodyTimeoutMs: 0 }),
      message: (message) => this.#ports.unsolicited(message),
      sessionLost: () => {
        if (used.id !== undefined) void this.#renew(used).catch(() => {})
      },
    })
  }

  #sendInSession(message: WireMessage, options: Sending): Promise<void> {
    const recording = this.#state.recording(message, options)
    const isAnswer = message.envelope.kind === 'response'
    const renewals = { count: 0 }
    return this.#http.post(message, recording, async (): Promise<PostAttempt> => {
      // An answer of the client may be what the server waits for before it accepts anything else.
      if (!isAnswer) await this.#barrier.opened().then(() => this.#renewing)
      const used = this.#session
      return {
        headers: used.headers,
        accepted: () => this.#stream?.revive(),
        resume: (lastEventId) => this.#http.get(used.headers, lastEventId, options.signal),
        refused: (refused) => this.#afterRefusal(refused, used, isAnswer, renewals),
      }
    })
  }

  /** A server that refused a message for its session has not executed it: it goes again in a new one, once. */
  async #afterRefusal(
    refused: RefusedPost,
    used: Session,
    isAnswer: boolean,
    renewals: { count: number },
  ): ReturnType<NonNullable<PostAttempt['refused']>> {
    if (!isSessionLost(refused, used)) return undefined
    if (renewals.count > 0) throw lostSessionError()
    renewals.count += 1
    await this.#renew(used)
    if (!isAnswer) return 'again'
    // The question that it answers was asked in the session that is gone.
    this.#ports.note('dropped a response in a lost session')
    return 'done'
  }

  /** Opens one new session for all who found the old one gone. */
  async #renew(lost: Session): Promise<void> {
    if (lost !== this.#session && this.#renewing === undefined) return
    this.#renewing ??= this.#http.requests
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
      await this.#initialize(messages.initialize, { ...silent, signal })
      await this.#confirmSession(messages.initialized, { ...silent, signal })
    } catch (error) {
      // A session that was only half opened would refuse everything; the lost one is found lost again.
      this.#session = lost
      throw error
    }
    for (const choice of this.#state.choices()) void this.#restore(choice)
  }

  async #restore(choice: WireMessage): Promise<void> {
    const { requests } = this.#http
    const restoring = requests.run(undefined, (signal) => this.#sendInSession(choice, { ...silent, signal }))
    await restoring.catch(() => this.#ports.note('a log level or subscription could not be restored'))
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
