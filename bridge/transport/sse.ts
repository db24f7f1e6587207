import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Readable } from 'node:stream'
import { createSignal, settledWithin, unlessAborted } from '@drawbridge/shared/async.ts'
import { messagesIn, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { discard, type HttpResponse } from '../http/http-client.ts'
import { retriesOf, StreamWaits } from '../http/retry.ts'
import { readEventStream, type StreamEvent } from './event-stream.ts'
import { readRefusedPost, refusedPostError } from './failed-response.ts'
import { PendingResponses, SessionState } from './session.ts'
import { isEventStream, readAnswer, StreamableHttp } from './streamable-http.ts'
import {
  lostError,
  TransportError,
  type Sending,
  type StreamingTransport,
  type TransportConfig,
  type TransportPorts,
} from './transport.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** How long a stream may take to name its endpoint. */
const endpointWaitMs = 20_000

/**
 * HTTP+SSE, the transport of 2024-11-05: one stream for all responses, and POSTs to the endpoint that the stream names first. When
 * the stream breaks, waiting requests are lost; the next stream is initialized with the client's messages.
 */
export class SseTransport implements StreamingTransport {
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  readonly #http: StreamableHttp
  readonly #state: SessionState
  #connecting: Promise<SseConnection> | undefined
  #stream: Readable | undefined

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#config = config
    this.#ports = ports
    this.#http = new StreamableHttp(config, ports)
    this.#state = new SessionState((request, answer) => ports.answered('sse', request, answer))
  }

  send(message: WireMessage, options: Context): Promise<void> {
    return this.#http.run(options.signal, (signal) => this.#send(message, { ...options, signal }))
  }

  reopen(answered: boolean): void {
    // Responses arrive on the stream, so it is alive.
    if (!answered) this.#stream?.destroy()
  }

  async close(): Promise<void> {
    this.#http.close()
  }

  async #send(message: WireMessage, options: Sending): Promise<void> {
    const { signal } = options
    const { envelope } = message
    const recording = this.#state.recording(message, options)
    const retries = retriesOf(envelope, { retryMs: this.#config.retryMs, signal }, this.#ports)
    for (;;) {
      const connection = await unlessAborted(this.#connected(), signal, lostError)
      try {
        return await this.#roundTrip(connection, message, recording)
      } catch (error) {
        // Failures of the POST were retried there.
        const isLost = error instanceof TransportError && error.fault === 'lost'
        if (!isLost || !(await retries.after('cut_off', 'an answer that broke off'))) throw error
      }
    }
  }

  async #roundTrip(connection: SseConnection, message: WireMessage, options: Sending): Promise<void> {
    const { envelope } = message
    if (envelope.kind !== 'request') return this.#post(connection, message, options)
    const { answered, forget } = connection.pending.expect(envelope.id, options.deliver)
    // The response may overtake the 202, and a refused POST brings no response.
    const posting = this.#post(connection, message, options)
    try {
      await unlessAborted(Promise.race([answered, posting.then(() => answered)]), options.signal, lostError)
    } finally {
      forget()
    }
  }

  async #post(connection: SseConnection, message: WireMessage, { signal }: Sending): Promise<void> {
    const response = await this.#http.send({
      method: 'POST',
      url: connection.endpoint,
      headers: { 'Content-Type': 'application/json' },
      body: message.text,
      signal,
      what: message.envelope,
    })
    if (response.status < 300) return discard(response)
    const refused = await readRefusedPost(response, message)
    if (refused.answer === undefined) throw refusedPostError(refused)
    await connection.take(refused.answer)
  }

  #connected(): Promise<SseConnection> {
    if (this.#connecting !== undefined) return this.#connecting
    const started = this.#start()
    this.#connecting = started
    started.catch(() => {
      if (this.#connecting === started) this.#connecting = undefined
    })
    return started
  }

  /** Opens a stream and replays the client's initialization. */
  async #start(): Promise<SseConnection> {
    const connection = await this.#connect()
    const messages = this.#state.opening()
    if (messages === undefined) return connection
    const silent: Sending = { signal: this.#http.closed, deliver: () => {} }
    await this.#roundTrip(connection, messages.initialize, silent)
    await this.#roundTrip(connection, messages.initialized, silent)
    for (const choice of this.#state.choices())
      void this.#roundTrip(connection, choice, silent).catch(() => {})
    return connection
  }

  async #connect(): Promise<SseConnection> {
    const response = await this.#http.get({}, undefined, this.#http.closed, { bodyTimeoutMs: 0 })
    if (response.status >= 300) throw refusedPostError(await readRefusedPost(response))
    if (!isEventStream(response)) {
      discard(response)
      throw new TransportError('no_mcp', 'The server sent no stream of events.', { status: response.status })
    }
    this.#stream = response.body
    const connection = new SseConnection(response.url, this.#ports)
    void this.#follow(connection, response)
    if ((await settledWithin(connection.open.given, endpointWaitMs)) === 'waiting') response.body.destroy()
    const failure = await connection.open.given
    if (failure !== undefined) throw failure
    return connection
  }

  /** Reads the stream until it ends or breaks. */
  async #follow(connection: SseConnection, response: HttpResponse): Promise<void> {
    const isDone = (): boolean => this.#http.closed.aborted
    const take = (event: StreamEvent): Promise<void> => connection.takeEvent(event)
    const cause = await readEventStream(response, { take, isDone }).then(
      (end) => end.cause,
      (error: unknown) => error,
    )
    const isLost = connection.end(cause instanceof TransportError ? cause : lostError(cause))
    if (!isLost) return
    this.#connecting = undefined
    this.#ports.note('the stream ended')
    if (this.#state.opening() !== undefined) void this.#reconnect()
  }

  /** Opens the next stream, with backoff: the server may send messages before the client's next request. */
  async #reconnect(): Promise<void> {
    const signal = this.#http.closed
    const waits = new StreamWaits()
    do {
      await waits.wait(this.#ports.runtime, signal)
      if (signal.aborted || this.#connecting !== undefined) return
    } while ((await settledWithin(this.#connected(), Infinity)) !== 'done')
  }
}

/** One stream of the server, which is also a session. */
class SseConnection {
  endpoint = ''
  readonly pending = new PendingResponses()
  /** Given when the stream has named its endpoint, or with the failure when it has ended first. */
  readonly open = createSignal<TransportError | undefined>()
  readonly #streamUrl: string
  readonly #ports: Pick<TransportPorts, 'unsolicited' | 'note'>

  constructor(streamUrl: string, ports: Pick<TransportPorts, 'unsolicited' | 'note'>) {
    this.#streamUrl = streamUrl
    this.#ports = ports
  }

  async takeEvent({ type, data }: StreamEvent): Promise<void> {
    if (type === 'endpoint' && this.endpoint === '') {
      this.endpoint = readEndpoint(data.toString('utf8').trim(), this.#streamUrl)
      this.open.give(undefined)
    } else if (type === 'message') await this.take(readAnswer(data))
  }

  async take(message: WireMessage): Promise<void> {
    for (const one of messagesIn(message)) {
      const { envelope } = one
      if (await this.pending.take(one)) continue
      if (envelope.kind === 'invalid') this.#ports.note(`dropped an invalid message: ${envelope.reason}`)
      else if (envelope.kind === 'response') this.#ports.note('dropped a response to no pending request')
      else await this.#ports.unsolicited(one)
    }
  }

  /** Fails all waiting requests: the stream has ended. Returns whether it had been open. */
  end(error: TransportError): boolean {
    this.open.give(error)
    this.pending.fail(error)
    return this.endpoint !== ''
  }
}

/** Accepts the same origin only: the token must not go to any other. */
function readEndpoint(text: string, streamUrl: string): string {
  const url = isUrl(text, streamUrl) ? new URL(text, streamUrl) : undefined
  if (url?.origin === new URL(streamUrl).origin) return url.href
  throw new TransportError('refused', 'The server wants its messages sent to another server.')
}
