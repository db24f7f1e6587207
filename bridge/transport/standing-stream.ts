import { discard } from './discarded-body.ts'
import { readEventStream } from './event-stream.ts'
import { backoffMs, pause, politeMs, shortTurnMs } from './interruptible-pause.ts'
import type { LegPorts } from './leg-config.ts'
import { readMessage } from '@drawbridge/shared/mcp/message.ts'
import { isEventStream } from './post-exchange.ts'
import { RemoteError } from './remote-leg.ts'
import type { RemoteFault } from './remote-leg.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { splitBatch } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** The stream of a session on which a server speaks unasked (MCP 2025-11-25 transports, listening for messages). */
export interface StandingStream {
  close(): void
  /** Opens it again, at the event where it is: its connection may be dead without a sign of it. */
  reopen(): void
  /** Opens it again if it was given up for want of a token; else nothing. */
  revive(): void
}

/** What a standing stream needs from its leg. */
export interface StandingStreamPorts extends Pick<LegPorts, 'runtime' | 'note'> {
  /** One GET, which continues after that event. Rejects with `RemoteError` or `NetworkError`. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpResponse>
  message(message: WireMessage): void | Promise<void>
  /** The server says that it does not know the session any more. */
  sessionLost(): void
}

const firstWaitMs = 1400
const longestWaitMs = 30_000

/** Balancers cut silent connections after a minute or so: that is no failure. */
const lastingMs = 10_000

/** These end by themselves. */
const passing: ReadonlySet<RemoteFault> = new Set(['unavailable', 'rate_limited', 'lost'])

/** Opens the stream, and again whenever it ends, until it is closed or the server says that there is none. */
export function createStandingStream(ports: StandingStreamPorts): StandingStream {
  let isClosed = false
  /** Ends the request, or the wait, that is under way. */
  let turn = new AbortController()
  let isRefused = false
  let wasOpen = false
  let failures = 0
  let idleTurns = 0
  let lastEventId: string | undefined
  let retryMs: number | undefined

  function take(message: WireMessage): void | Promise<void> {
    if (isClosed) return undefined
    const { envelope } = message
    if (envelope.kind === 'batch') return takeAll(splitBatch(message))
    if (envelope.kind === 'invalid') return ports.note(`dropped what is no message: ${envelope.reason}`)
    // A response too: its request may have been asked on a stream that broke.
    return ports.message(message)
  }

  async function takeAll(messages: readonly WireMessage[]): Promise<void> {
    for (const message of messages) await take(message)
  }

  /** Whether the stream is worth another try. */
  async function readOnce(signal: AbortSignal): Promise<boolean> {
    const response = await ports.open(lastEventId, signal)
    if (response.status >= 300 || !isEventStream(response)) {
      discard(response)
      // A server without such a stream may say 404 too, in a session that lives.
      if (response.status === 404 && wasOpen) ports.sessionLost()
      ports.note(`no standing stream: status ${response.status}`)
      return response.status >= 500
    }
    wasOpen = true
    ports.note('standing stream open')
    const end = await readEventStream(response, {
      take: (event) => {
        failures = 0
        idleTurns = 0
        return event.type === 'message' ? take(readMessage(event.data)) : undefined
      },
      isDone: () => signal.aborted,
    })
    lastEventId = end.lastEventId ?? lastEventId
    retryMs = end.retryMs ?? retryMs
    return true
  }

  function isPassing(error: unknown): boolean {
    isRefused = error instanceof RemoteError && error.fault === 'sign_in_needed'
    if (error instanceof RemoteError) return passing.has(error.fault)
    return true
  }

  async function run(): Promise<void> {
    for (;;) {
      turn = new AbortController()
      const { signal } = turn
      const since = performance.now()
      const goesOn = await readOnce(signal).catch(isPassing)
      const tookMs = performance.now() - since
      if (tookMs >= lastingMs) failures = 0
      if (tookMs >= shortTurnMs) idleTurns = 0
      if (isClosed || (!goesOn && !signal.aborted)) return
      ports.note('standing stream ended')
      await pause(ports.runtime, waitMs(), signal)
      failures += 1
      idleTurns += 1
      if (isClosed) return
    }
  }

  function waitMs(): number {
    return retryMs === undefined
      ? backoffMs(ports.runtime, failures, firstWaitMs, longestWaitMs)
      : politeMs(retryMs, idleTurns)
  }

  void run()
  return {
    close() {
      isClosed = true
      turn.abort()
    },
    reopen() {
      failures = 0
      idleTurns = 0
      turn.abort()
    },
    revive() {
      if (!isRefused || isClosed) return
      isRefused = false
      void run()
    },
  }
}
