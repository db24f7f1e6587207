import { TransportError } from '../transport/transport.ts'
import type { Transport, SendOptions } from '../transport/transport.ts'
import { settledWithin } from '../transport/settled-within.ts'
import { createSignal, isSignInNeeded } from './sign-in-attempt.ts'
import type { SignInAttempt, SignIns } from './sign-in-attempt.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** The first request of a client, `initialize` or `server/discover`, and what makes up for it when it was answered from memory. */
export interface DeferredInitialize {
  /**
   * Sends it. When the server wants a sign-in, or is silent and known from before, the client gets a stand-in in time; the
   * exchange is over when the server itself has answered.
   */
  open(message: WireMessage, options: SendOptions): Promise<void>
  /** Whether the client believes in a session that is not there yet. */
  isMissing(): boolean
  /** Waits for the session, and tries again to open one if the last try failed. */
  made(): Promise<void>
  /** Keeps a notification until the session is there. */
  later(message: WireMessage): Promise<void>
  close(): void
}

/** What is known about waiting. */
export interface DeferredInitializePorts {
  signIns: SignIns
  canSignIn: boolean
  hasMemory(): boolean
  standIn(message: WireMessage): WireMessage
}

/** After a sign-in the server may ask for one more; then the client is told. */
const maxRounds = 2

/** Nobody has a reason to say more before the session is there. */
const maxKept = 1000

/** A server that was there the last time, and says nothing for so long, is answered for. */
const silentWaitMs = 2000

/** `waitMs` is how long the client waits for its first answer. */
export function createDeferredInitialize(
  transport: Transport,
  config: { era: 'modern' | 'legacy'; waitMs: number },
  ports: DeferredInitializePorts,
): DeferredInitialize {
  const closed = new AbortController()
  let message: WireMessage | undefined
  let making: Promise<void> | undefined
  let isMissing = false
  let kept: WireMessage[] = []
  /** The JSON-RPC error with which the server has answered last. */
  let refusal: WireMessage | undefined
  /** Resolved while the exchange waits for a person. */
  let asking = createSignal()

  /** The exchange with the server, over all the sign-ins that it takes. */
  async function exchange(
    first: WireMessage,
    options: SendOptions,
    began: (attempt: SignInAttempt) => void,
  ): Promise<void> {
    refusal = undefined
    const watched: SendOptions = {
      ...options,
      deliver(answer) {
        if (answer.envelope.kind === 'response' && answer.envelope.isError) refusal = answer
        return options.deliver(answer)
      },
    }
    for (let round = 0; ; round++) {
      try {
        await transport.send(first, watched)
        if (refusal === undefined) await opened()
        return
      } catch (error) {
        if (!isSignInNeeded(error) || round >= maxRounds) throw error
        const attempt = ports.signIns.begin(false)
        if (attempt === undefined) throw error
        began(attempt)
        asking.give()
        const end = await settledWithin(attempt.done, Infinity, { signal: options.signal })
        asking = createSignal()
        if (end !== 'done') throw error
      }
    }
  }

  /** The session is there: what the client has sent since it believed so goes first. */
  async function opened(): Promise<void> {
    const waiting = kept
    kept = []
    for (const notification of waiting) await transport.send(notification, { deliver() {} })
    isMissing = false
  }

  /** Once the stand-in is out, an exchange that fails is tried again when the client next wants something. */
  function watch(exchanged: Promise<void>): void {
    making = exchanged
    const over = (): void => void (making = undefined)
    exchanged.then(over, over)
  }

  async function madeOrAsking(made: Promise<void>): Promise<void> {
    const end = await settledWithin(made, Infinity, { signal: closed.signal, when: asking.given })
    if (end === 'waiting') throw new TransportError('sign_in_needed', 'The server needs a sign-in.')
    await made
  }

  return {
    async open(first, options) {
      message = first
      const askedMs = performance.now()
      let isAnswered = false
      const answer = (standIn: WireMessage): Promise<void> => {
        isAnswered = true
        isMissing = config.era === 'legacy'
        return Promise.resolve(options.deliver(standIn))
      }
      const watched: SendOptions = {
        ...options,
        deliver(real) {
          if (real.envelope.kind === 'response') isAnswered = true
          return options.deliver(real)
        },
      }
      const { signal } = options
      const exchanged = exchange(first, watched, (attempt) => void standInAfter(attempt))
      async function standInAfter(attempt: SignInAttempt): Promise<void> {
        const end = await attempt.settled(signal, askedMs)
        if (end === 'waiting' && isSilent()) await answer(ports.standIn(first))
      }
      watch(exchanged)
      const isSilent = (): boolean => !isAnswered && making === exchanged && signal?.aborted !== true
      // Who chose to wait longer chose it for the person, not for the server.
      await settledWithin(exchanged, Math.min(config.waitMs, silentWaitMs), { signal })
      const isAsking = ports.signIns.pending() !== undefined
      if (isSilent() && !isAsking && ports.hasMemory()) await answer(ports.standIn(first))
      await exchanged.catch((error: unknown) => {
        if (isAnswered || !isSignInNeeded(error) || !ports.canSignIn) throw error
        return answer(ports.standIn(first))
      })
    },
    isMissing: () => isMissing,
    async made() {
      if (message === undefined) return
      if (making === undefined) watch(exchange(message, { signal: closed.signal, deliver() {} }, () => {}))
      if (making !== undefined) await madeOrAsking(making)
      if (refusal !== undefined)
        throw new TransportError('refused', 'The server did not open a session.', { response: refusal })
      if (isMissing) throw new TransportError('unavailable', 'The server did not open a session.')
    },
    later(notification) {
      const { envelope } = notification
      // What it cancels never got there.
      const isCancel = envelope.kind === 'notification' && envelope.method === 'notifications/cancelled'
      if (!isCancel && kept.length < maxKept) kept.push(notification)
      return Promise.resolve()
    },
    close() {
      closed.abort()
      kept = []
    },
  }
}
