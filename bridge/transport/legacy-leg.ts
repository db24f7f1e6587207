import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyBudget } from './body-budget.ts'
import { mayAskAgain } from './broken-answer.ts'
import { discard } from './discarded-body.ts'
import { atMost } from './interruptible-pause.ts'
import type { LegConfig, LegPorts } from './leg-config.ts'
import { hasUsableSessionId, isSessionLost, noSession, openedSession } from './legacy-session.ts'
import type { LegacySession } from './legacy-session.ts'
import { createOpenExchanges } from './open-exchange.ts'
import { createOpeningGate } from './opening-gate.ts'
import { createPostExchange } from './post-exchange.ts'
import type { PostExchange } from './post-exchange.ts'
import { readRefusedPost, refusedPostError } from './refused-post.ts'
import { RemoteError } from './remote-leg.ts'
import type { SendOptions, StreamingLeg } from './remote-leg.ts'
import { readResumed } from './resumed-answer.ts'
import { createRemoteRequester } from './remote-request.ts'
import { isRepeatable } from './repeatable.ts'
import { createSessionMemory } from './session-memory.ts'
import { createStandingStream } from './standing-stream.ts'
import type { StandingStream } from './standing-stream.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** The way to a server of the 2025 era. */
export interface LegacyLeg extends StreamingLeg {
  /** What the server agreed on; undefined before it answered `initialize`. */
  revision(): string | undefined
}

type Sending = SendOptions & { signal: AbortSignal }

/**
 * The way to a server that speaks Streamable HTTP in one of the revisions 2025-03-26 to 2025-11-25. Follows the messages
 * that open a session, and those that shape it; when the server loses the session, opens another one for all who wait, and
 * sends again what was refused for it. A batch is sent as one: whether the server takes any, {@link LegacyLeg.revision}
 * tells the caller. An `initialize` that is answered with an error is a `RemoteError` `refused`.
 */
export function createLegacyLeg(config: LegConfig, ports: LegPorts): LegacyLeg {
  const request = createRemoteRequester(config, ports)
  const open = createOpenExchanges(config.serverUrl)
  const exchangePorts = { note: ports.note, budget: new BodyBudget() }
  const again = { runtime: ports.runtime, note: ports.note, retryMs: config.retryMs }
  const memory = createSessionMemory()
  const gate = createOpeningGate()
  let session = noSession
  let standing: StandingStream | undefined
  let renewing: Promise<void> | undefined
  let isClosed = false

  async function post(message: WireMessage, used: LegacySession, signal: AbortSignal): Promise<HttpResponse> {
    const response = await request({
      method: 'POST',
      url: config.serverUrl,
      headers: used.postHeaders,
      body: message.text,
      signal,
      repeatable: isRepeatable(message.envelope),
    })
    return open.watch(response)
  }

  async function get(
    used: LegacySession,
    lastEventId: string | undefined,
    signal: AbortSignal,
    limits: { retryMs?: number; bodyTimeoutMs?: number },
  ): Promise<HttpResponse> {
    const response = await request({
      method: 'GET',
      url: config.serverUrl,
      headers: {
        Accept: 'text/event-stream',
        ...used.headers,
        ...(lastEventId !== undefined && { [mcpHeader.lastEventId]: lastEventId }),
      },
      signal,
      repeatable: true,
      ...limits,
    })
    return open.watch(response)
  }

  function finish(
    response: HttpResponse,
    exchange: PostExchange,
    used: LegacySession,
    signal: AbortSignal,
  ): Promise<void> {
    return readResumed(response, exchange, {
      runtime: ports.runtime,
      note: ports.note,
      signal,
      resume: (lastEventId) => get(used, lastEventId, signal, {}),
    })
  }

  async function initialize(message: WireMessage, options: Sending): Promise<void> {
    for (let breaks = 0; ; breaks += 1) {
      const response = await post(message, noSession, options.signal)
      if (response.status >= 300) throw refusedPostError(await readRefusedPost(response, message))
      if (!hasUsableSessionId(response)) throw unusableSession(response)
      // What names the session is there before the answer is.
      const half = openedSession(response, message)
      const exchange = createPostExchange(message, opening(response, message, options), exchangePorts)
      if (await isFinished(response, exchange, half, { message, breaks, signal: options.signal })) return
      if (half.id !== undefined) void endSession(half).catch(() => {})
    }
  }

  function opening(response: HttpResponse, message: WireMessage, options: Sending): Sending {
    return {
      ...options,
      deliver(answer) {
        if (answer.envelope.kind === 'response') {
          if (answer.envelope.isError)
            throw new RemoteError('refused', 'The server refused to open a session.', {
              status: response.status,
              response: answer,
            })
          session = openedSession(response, answer)
          memory.keep(message)
        }
        return options.deliver(answer)
      },
    }
  }

  /** The client opens a session, maybe not its first one. */
  async function openSession(message: WireMessage, options: Sending): Promise<void> {
    const before = session
    memory.restart()
    await initialize(message, options)
    if (before.id === undefined || before === session) return
    standing?.close()
    void endSession(before).catch(() => {})
  }

  async function confirmSession(message: WireMessage, signal: AbortSignal): Promise<void> {
    const response = await post(message, session, signal)
    if (response.status >= 300) throw refusedPostError(await readRefusedPost(response, message))
    discard(response)
    listen()
  }

  function listen(): void {
    standing?.close()
    if (isClosed) return
    const used = session
    standing = createStandingStream({
      runtime: ports.runtime,
      note: ports.note,
      open: (lastEventId, signal) => get(used, lastEventId, signal, { retryMs: 0, bodyTimeoutMs: 0 }),
      message: ports.unsolicited,
      sessionLost: () => {
        if (used.id !== undefined) void renew(used).catch(() => {})
      },
    })
  }

  /** One new session for all who found the old one gone. */
  async function renew(lost: LegacySession): Promise<void> {
    if (lost === session || renewing !== undefined) {
      renewing ??= open
        .run(undefined, (signal) => renewOnce(lost, signal))
        .finally(() => (renewing = undefined))
      await renewing
    }
  }

  async function renewOnce(lost: LegacySession, signal: AbortSignal): Promise<void> {
    const messages = memory.opening()
    if (messages === undefined) throw lostSessionError()
    ports.note('the server lost the session: opening another one')
    standing?.close()
    try {
      await initialize(messages.initialize, { signal, deliver: () => {} })
      await confirmSession(messages.initialized, signal)
    } catch (error) {
      // A session that was only half opened would refuse everything; the lost one is found lost again.
      session = lost
      throw error
    }
    for (const choice of memory.choices()) void restore(choice)
  }

  async function restore(choice: WireMessage): Promise<void> {
    const restoring = open.run(undefined, (signal) => inSession(choice, { signal, deliver: () => {} }))
    await restoring.catch(() => ports.note('a log level or subscription could not be restored'))
  }

  async function inSession(message: WireMessage, options: Sending): Promise<void> {
    const isAnswer = message.envelope.kind === 'response'
    let renewals = 0
    let breaks = 0
    for (;;) {
      // An answer of the client may be what the server waits for before it accepts anything else.
      const opening = isAnswer ? undefined : openToAll()
      if (opening !== undefined) await opening
      const used = session
      const response = await post(message, used, options.signal)
      const exchange = createPostExchange(message, remembering(message, options), exchangePorts)
      if (response.status < 300) {
        standing?.revive()
        if (await isFinished(response, exchange, used, { message, breaks, signal: options.signal })) return
        breaks += 1
        continue
      }
      const refused = await readRefusedPost(response, message)
      if (!isSessionLost(refused, used)) {
        if (refused.answer === undefined) throw refusedPostError(refused)
        return exchange.deliver(refused.answer)
      }
      if (renewals > 0) throw lostSessionError()
      renewals += 1
      await renew(used)
      // What it answers was asked in the session that is gone.
      if (isAnswer) return ports.note('dropped a response for a lost session')
    }
  }

  /** Undefined when nobody has to wait. */
  function openToAll(): Promise<void> | undefined {
    const opened = gate.opened()
    return opened === undefined ? renewing : opened.then(() => renewing)
  }

  /** False: the answer broke off, and the message is to be sent again. */
  async function isFinished(
    response: HttpResponse,
    exchange: PostExchange,
    used: LegacySession,
    { message, breaks, signal }: { message: WireMessage; breaks: number; signal: AbortSignal },
  ): Promise<boolean> {
    try {
      await finish(response, exchange, used, signal)
      return true
    } catch (error) {
      if (await mayAskAgain(error, message, breaks, { ...again, signal })) return false
      throw error
    }
  }

  function remembering(message: WireMessage, options: Sending): Sending {
    if (!memory.concerns(message)) return options
    return {
      ...options,
      deliver: (answer) => {
        if (answer.envelope.kind === 'response' && !answer.envelope.isError) memory.keep(message)
        return options.deliver(answer)
      },
    }
  }

  async function endSession(ended: LegacySession): Promise<void> {
    const response = await request({
      method: 'DELETE',
      url: config.serverUrl,
      headers: ended.headers,
      signal: undefined,
      repeatable: false,
      retryMs: 0,
    })
    discard(response)
  }

  return {
    send: (message, options) =>
      open.run(options.signal, async (signal) => {
        const sending = { ...options, signal }
        const { envelope } = message
        if (envelope.kind === 'request' && envelope.method === 'initialize')
          return openSession(message, sending)
        if (envelope.kind !== 'notification' || envelope.method !== 'notifications/initialized')
          return inSession(message, sending)
        const confirming = confirmSession(message, signal)
        gate.holdUntil(confirming)
        return confirming
      }),
    reopen() {
      standing?.reopen()
    },
    async close(graceMs) {
      isClosed = true
      standing?.close()
      open.abortAll()
      if (session.id !== undefined) await atMost(graceMs, endSession(session))
    },
    revision: () => session.revision,
  }
}

function lostSessionError(): RemoteError {
  return new RemoteError('lost', 'The server does not know the session, and a new one did not help.')
}

function unusableSession(response: HttpResponse): RemoteError {
  discard(response)
  const message = 'The server names its session with characters that no header may have.'
  return new RemoteError('refused', message, { status: response.status })
}
