import { settledWithin } from '@drawbridge/shared/async.ts'
import {
  parseWireMessage,
  toWireMessage,
  type JsonRpcRequest,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { type Context, unheard, intercepted } from '@drawbridge/shared/mcp/pipeline.ts'
import { discard, type HttpResponse } from '../http/http-client.ts'
import { mayRepeat } from '../http/retry.ts'
import { GetStream } from './get-stream.ts'
import { hasUsableSessionId, isSessionLost, noSession, openedSession, type Session } from './session.ts'
import { StreamableHttp, type PostAttempt } from './streamable-http.ts'
import {
  TransportError,
  type Sending,
  type StreamingTransport,
  type TransportConfig,
  type TransportPorts,
} from './transport.ts'

const stateMethods: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Remembers what to say again to a server that lost a session. Replayed messages have ids of their own. */
export class SessionState {
  #initialize: JsonRpcRequest | undefined
  #level: JsonRpcRequest | undefined
  readonly #subscriptions = new Map<unknown, JsonRpcRequest>()
  #replays = 0

  /** Records what the server has accepted. */
  accepted(wire: WireMessage): void {
    const message = parseWireMessage(wire)
    if (!('method' in message) || !('id' in message)) return
    const uri = message.params?.['uri']
    if (message.method === 'initialize') this.#initialize = message
    else if (message.method === 'logging/setLevel') this.#level = message
    else if (message.method === 'resources/subscribe') this.#subscriptions.set(uri, message)
    else if (message.method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  /** Returns the context of a request, with its acceptance recorded. */
  recording<C extends Context>(message: WireMessage, context: C): C {
    const { envelope } = message
    if (envelope.kind !== 'request' || !stateMethods.has(envelope.method)) return context
    return intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response' && !answer.envelope.isError) this.accepted(message)
      return deliver(answer)
    })
  }

  /** Forgets log level and subscriptions: the client starts anew. */
  restart(): void {
    this.#level = undefined
    this.#subscriptions.clear()
  }

  /** Returns what opens a session; undefined as long as the client has not opened one. */
  opening(): { initialize: WireMessage; initialized: WireMessage } | undefined {
    if (this.#initialize === undefined) return undefined
    const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return { initialize: this.#again(this.#initialize), initialized }
  }

  /** Returns what sets log level and subscriptions again. */
  choices(): WireMessage[] {
    const requests = [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscriptions.values()]
    return requests.map((request) => this.#again(request))
  }

  #again(request: JsonRpcRequest): WireMessage {
    this.#replays += 1
    return toWireMessage({ ...request, id: `drawbridge-replay-${this.#replays}` })
  }
}

/**
 * Streamable HTTP in the revisions 2025-03-26 to 2025-11-25, with sessions. Follows the messages that open a session, and those
 * that shape it; when the server loses the session, opens another one for all who wait, and sends again what was refused
 * for it. A batch is sent as one. An `initialize` that is answered with an error is a {@link TransportError} `refused`.
 */
export class SessionTransport implements StreamingTransport {
  readonly #http: StreamableHttp
  readonly #ports: TransportPorts
  readonly #state = new SessionState()
  #session: Session = noSession
  #stream: GetStream | undefined
  #renewing: Promise<void> | undefined
  /** Resolves when the session has ended at the server. */
  #ended: Promise<unknown> | undefined

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#ports = ports
    this.#http = new StreamableHttp(config, ports)
  }

  send(message: WireMessage, options: Context): Promise<void> {
    return this.#http.requests.run(options.signal, (signal) => {
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
    const { requests } = this.#http
    if (requests.isClosed) return void (await this.#ended)
    requests.close()
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
    let renewals = 0
    return this.#http.post(message, recording, async (): Promise<PostAttempt> => {
      // An answer of the client may be what the server waits for before it accepts anything else.
      if (!isAnswer) await this.#renewing
      const used = this.#session
      return {
        headers: used.headers,
        accepted: () => this.#stream?.isRefused === true && this.#stream.revive(),
        resume: (lastEventId) => this.#http.get(used.headers, lastEventId, options.signal),
        refused: async (refused) => {
          if (!isSessionLost(refused, used)) return undefined
          // A server that refused a message for its session has not executed it.
          if (!mayRepeat('session_lost', message.envelope, renewals)) throw lostSessionError()
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
    const { requests } = this.#http
    const restoring = requests.run(undefined, (signal) => this.#sendInSession(choice, { ...unheard, signal }))
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
