import type { Readable } from 'node:stream'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { splitBatch } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { mayAskAgain } from './broken-answer.ts'
import { discard } from './discarded-body.ts'
import { readEventStream } from './event-stream.ts'
import { backoffMs, pause } from './interruptible-pause.ts'
import type { LegConfig, LegPorts } from './leg-config.ts'
import { readMessage } from '@drawbridge/shared/mcp/message.ts'
import { createOpenExchanges } from './open-exchange.ts'
import { createOpeningGate } from './opening-gate.ts'
import { isEventStream } from './post-exchange.ts'
import { readRefusedPost, refusedPostError } from './refused-post.ts'
import { RemoteError } from './remote-leg.ts'
import type { SendOptions, StreamingLeg } from './remote-leg.ts'
import { createRemoteRequester } from './remote-request.ts'
import { isRepeatable } from './repeatable.ts'
import { lostError } from './message-body.ts'
import { createSessionMemory } from './session-memory.ts'
import type { StreamEvent } from './event-stream.ts'

/** A request that waits for its response on the stream. */
interface Waiting {
  deliver(answer: WireMessage): void | Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/** One stream of the server. It is a session too. */
interface Connection {
  endpoint: string
  waiting: Map<JsonRpcId, Waiting>
}

/** A stream that does not say where to send to is of no use. */
const endpointWaitMs = 20_000

const firstWaitMs = 1000
const longestWaitMs = 30_000

/**
 * The way to a server of 2024-11-05: one stream for all that comes back, and POSTs to the address that the stream names
 * first. It is opened by the first message. When it breaks, what waits is lost, and another one is opened and told what the
 * client told the first.
 */
export function createSseLeg(config: LegConfig, ports: LegPorts): StreamingLeg {
  const request = createRemoteRequester(config, ports)
  const open = createOpenExchanges(config.serverUrl)
  const memory = createSessionMemory()
  const gate = createOpeningGate()
  const closing = new AbortController()
  const again = { runtime: ports.runtime, note: ports.note, retryMs: config.retryMs }
  let connecting: Promise<Connection> | undefined
  let stream: Readable | undefined

  /** Opens the stream, and leaves it to {@link follow} as soon as it has named its endpoint. */
  async function connect(): Promise<Connection> {
    const response = await request({
      method: 'GET',
      url: config.serverUrl,
      headers: { Accept: 'text/event-stream' },
      signal: closing.signal,
      repeatable: true,
      bodyTimeoutMs: 0,
    })
    if (response.status >= 300) throw refusedPostError(await readRefusedPost(response, noMessage))
    if (!isEventStream(response)) {
      discard(response)
      throw new RemoteError('no_mcp', 'The server sent no stream of events.', { status: response.status })
    }
    stream = response.body
    return new Promise((resolve, reject) => {
      const connection: Connection = { endpoint: '', waiting: new Map() }
      const timer = setTimeout(() => response.body.destroy(), endpointWaitMs)
      const take = (event: StreamEvent): void | Promise<void> => {
        if (event.type === 'endpoint' && connection.endpoint === '') {
          connection.endpoint = readEndpoint(event.data.toString('utf8'), config.serverUrl)
          clearTimeout(timer)
          resolve(connection)
        } else if (event.type === 'message') return route(connection, readMessage(event.data))
        return undefined
      }
      const lost = (cause: unknown): void => {
        const error = cause instanceof RemoteError ? cause : lostError(cause)
        clearTimeout(timer)
        reject(error)
        abandon(connection, error)
      }
      readEventStream(response, { take, isDone: () => closing.signal.aborted }).then(
        (end) => lost(end.cause),
        lost,
      )
    })
  }

  function route(connection: Connection, message: WireMessage): void | Promise<void> {
    const { envelope } = message
    if (envelope.kind === 'batch') return routeAll(connection, splitBatch(message))
    if (envelope.kind === 'invalid') return ports.note(`dropped what is no message: ${envelope.reason}`)
    if (envelope.kind !== 'response') return ports.unsolicited(message)
    const waiting = connection.waiting.get(envelope.id)
    connection.waiting.delete(envelope.id)
    if (waiting === undefined) return ports.note('dropped a response that nobody waits for')
    return answer(waiting, message)
  }

  async function routeAll(connection: Connection, messages: readonly WireMessage[]): Promise<void> {
    for (const message of messages) await route(connection, message)
  }

  async function answer(waiting: Waiting, message: WireMessage): Promise<void> {
    try {
      await waiting.deliver(message)
      waiting.resolve()
    } catch (error) {
      waiting.reject(error)
    }
  }

  function abandon(connection: Connection, error: RemoteError): void {
    for (const waiting of connection.waiting.values()) waiting.reject(error)
    connection.waiting.clear()
    if (connection.endpoint === '') return
    connecting = undefined
    ports.note('the stream ended')
    if (memory.opening() !== undefined) void reconnect().catch(() => {})
  }

  /** The server may have something to say before the client asks again. */
  async function reconnect(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; failures += 1) {
      await pause(
        ports.runtime,
        backoffMs(ports.runtime, failures, firstWaitMs, longestWaitMs),
        closing.signal,
      )
      if (closing.signal.aborted || connecting !== undefined) return
      const isOpen = await connected().then(
        () => true,
        () => false,
      )
      if (isOpen) return
    }
  }

  function connected(): Promise<Connection> {
    if (connecting !== undefined) return connecting
    const started = start()
    connecting = started
    started.catch(() => {
      if (connecting === started) connecting = undefined
    })
    return started
  }

  async function start(): Promise<Connection> {
    const connection = await connect()
    const messages = memory.opening()
    if (messages === undefined) return connection
    const quiet = { signal: closing.signal, deliver: () => {} }
    await exchange(connection, messages.initialize, quiet)
    await exchange(connection, messages.initialized, quiet)
    for (const choice of memory.choices()) void exchange(connection, choice, quiet).catch(() => {})
    return connection
  }

  async function exchange(
    connection: Connection,
    message: WireMessage,
    options: SendOptions & { signal: AbortSignal },
  ): Promise<void> {
    if (message.envelope.kind !== 'request') return post(connection, message, options)
    const { id } = message.envelope
    const answered = new Promise<void>((resolve, reject) => {
      connection.waiting.set(id, { deliver: options.deliver, resolve, reject })
    })
    answered.catch(() => {})
    // Whichever is first: the response may overtake the 202, and a refused POST brings none.
    const posting = post(connection, message, options)
    try {
      await unlessAborted(Promise.race([answered, posting.then(() => answered)]), options.signal)
    } finally {
      connection.waiting.delete(id)
    }
  }

  async function post(
    connection: Connection,
    message: WireMessage,
    options: SendOptions & { signal: AbortSignal },
  ): Promise<void> {
    const response = await request({
      method: 'POST',
      url: connection.endpoint,
      headers: { 'Content-Type': 'application/json' },
      body: message.text,
      signal: options.signal,
      repeatable: isRepeatable(message.envelope),
    })
    open.watch(response)
    if (response.status < 300) return discard(response)
    const refused = await readRefusedPost(response, message)
    if (refused.answer === undefined) throw refusedPostError(refused)
    return route(connection, refused.answer)
  }

  function remembering(message: WireMessage, options: SendOptions): SendOptions['deliver'] {
    return (answer) => {
      if (answer.envelope.kind === 'response' && !answer.envelope.isError) memory.keep(message)
      return options.deliver(answer)
    }
  }

  async function carry(message: WireMessage, options: SendOptions, signal: AbortSignal): Promise<void> {
    const isHeldBack = message.envelope.kind !== 'response' && !confirmsOpening(message)
    const deliver = memory.concerns(message) ? remembering(message, options) : options.deliver
    for (let breaks = 0; ; breaks += 1) {
      if (isHeldBack) await unlessAborted(gate.opened(), signal)
      const connection = await unlessAborted(connected(), signal)
      try {
        return await exchange(connection, message, { ...options, signal, deliver })
      } catch (error) {
        // What failed at the POST was tried again there.
        if (
          !(error instanceof RemoteError) ||
          !(await mayAskAgain(error, message, breaks, { ...again, signal }))
        )
          throw error
      }
    }
  }

  return {
    send(message, options) {
      const sending = open.run(options.signal, (signal) => carry(message, options, signal))
      if (confirmsOpening(message)) gate.holdUntil(sending)
      return sending
    },
    reopen(answered) {
      // Here the answer to a request comes on the stream: it lives.
      if (!answered) stream?.destroy()
    },
    async close() {
      closing.abort()
      open.abortAll()
    },
  }
}

/** A GET carries no message. */
const noMessage: WireMessage = { text: '', envelope: { kind: 'notification', method: '' } }

/** Only at the same origin: the token is for that one, and the stream could name any other. */
function readEndpoint(text: string, serverUrl: string): string {
  const url = URL.canParse(text, serverUrl) ? new URL(text, serverUrl) : undefined
  if (url?.origin === new URL(serverUrl).origin) return url.href
  throw new RemoteError('refused', 'The server wants its messages sent to another server.')
}

function confirmsOpening({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === 'notifications/initialized'
}

/** What the work gives, or a rejection as soon as the signal is aborted. */
function unlessAborted<Value>(work: Promise<Value> | Value, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(lostError(undefined))
    signal.addEventListener('abort', stop, { once: true })
    Promise.resolve(work)
      .finally(() => signal.removeEventListener('abort', stop))
      .then(resolve, reject)
  })
}
