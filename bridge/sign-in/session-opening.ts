import { createSignal, settledWithin } from '@drawbridge/shared/async.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { intercepted, unheard, type Context, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { TransportError } from '../transport/transport.ts'
import { cachedOpening, knownOpening } from './cached-answer.ts'
import { isSignInNeeded, type SignInAttempt } from './sign-in-attempt.ts'
import type { SignInPorts } from './sign-in-answers.ts'

/** Nobody has a reason to say more before the session is there. */
const maxKept = 1000

/** A server that was there the last time is answered for after that long without a word. */
const silentWaitMs = 2000

/** How long messages wait for a server to accept `notifications/initialized`. */
const maxConfirmMs = 10_000

/**
 * The first request to a server, `initialize` or `server/discover`, and what makes up for it when it was answered from memory.
 * Whatever else the client sends waits for it, and for the `notifications/initialized` that follows: clients send their
 * first requests right behind that, and Python servers answer with an error what overtakes it.
 */
export class SessionOpening {
  /** The client believes in a session that is not there yet. */
  isMissing = false
  /** Pending while the server has not accepted `notifications/initialized`. */
  confirming: Promise<unknown> | undefined
  readonly #era: McpEra
  readonly #ports: SignInPorts
  readonly #closed = new AbortController()
  #message: WireMessage | undefined
  #making: Promise<void> | undefined
  #kept: WireMessage[] = []
  /** The JSON-RPC error that the server answered with last. */
  #refusal: WireMessage | undefined
  /** Given while the first request waits for a person. */
  #asking = createSignal()

  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
  }

  /**
   * Sends the first request. When the server wants a sign-in, or is silent and known from before, the client gets a stand-in in
   * time; resolves when the server itself has answered.
   */
  async open(first: WireMessage, context: Context, next: Send): Promise<void> {
    this.#message = first
    const askedMs = performance.now()
    const { memory, signIns, version } = this.#ports
    let isAnswered = false
    const standInNow = async (): Promise<void> => {
      isAnswered = true
      this.isMissing = this.#era === 'legacy'
      await context.deliver(cachedOpening(first, memory(), version))
    }
    const watched = intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response') isAnswered = true
      return deliver(answer)
    })
    const { signal } = context
    const exchanged = this.#exchange(first, watched, next, (attempt) => void standInAfter(attempt))
    const isSilent = (): boolean => !isAnswered && this.#making === exchanged && signal?.aborted !== true
    async function standInAfter(attempt: SignInAttempt): Promise<void> {
      if ((await attempt.settled(signal, askedMs)) === 'waiting' && isSilent()) await standInNow()
    }
    this.#watch(exchanged)
    await settledWithin(exchanged, Math.min(signIns.waitMs, silentWaitMs), { signal })
    if (isSilent() && signIns.pending === undefined && knownOpening(memory()) !== undefined)
      await standInNow()
    await exchanged.catch((error: unknown) => {
      if (isAnswered || !isSignInNeeded(error) || !signIns.canSignIn) throw error
      return standInNow()
    })
  }

  /** Opens a session, at the next request, for a client that has long believed in one. */
  assume(initialize: WireMessage, isInitialized: boolean): void {
    this.#message = initialize
    this.isMissing = true
    if (isInitialized) this.#kept = [toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })]
  }

  /** Waits for the session; tries again to open one if the last try failed. */
  async made(next: Send): Promise<void> {
    const { signal } = this.#closed
    if (this.#message === undefined) return
    if (this.#making === undefined)
      this.#watch(this.#exchange(this.#message, { ...unheard, signal }, next, () => {}))
    if (this.#making !== undefined) await this.#madeOrAsking(this.#making)
    if (this.#refusal !== undefined)
      throw new TransportError('refused', 'The server did not open a session.', { response: this.#refusal })
    if (this.isMissing) throw new TransportError('unavailable', 'The server did not open a session.')
  }

  /** Keeps a notification until the session is there; drops one that cancels what never got there. */
  later({ envelope, text }: WireMessage): void {
    const isCancel = envelope.kind === 'notification' && envelope.method === 'notifications/cancelled'
    if (!isCancel && this.#kept.length < maxKept) this.#kept.push({ envelope, text })
  }

  /** Holds everything else until this is over, however it ends, and for ten seconds at most. */
  confirm(sending: Promise<void>): Promise<void> {
    const confirming = settledWithin(sending, maxConfirmMs).finally(() => {
      if (this.confirming === confirming) this.confirming = undefined
    })
    this.confirming = confirming
    return sending
  }

  close(): void {
    this.#closed.abort()
    this.#kept = []
  }

  /** Sends the first request, again after each sign-in that it takes. */
  async #exchange(
    first: WireMessage,
    context: Context,
    next: Send,
    began: (attempt: SignInAttempt) => void,
  ): Promise<void> {
    this.#refusal = undefined
    const watched = intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response' && answer.envelope.isError) this.#refusal = answer
      return deliver(answer)
    })
    for (let round = 0; ; round++) {
      try {
        await next(first, watched)
        if (this.#refusal === undefined) await this.#opened(next)
        return
      } catch (error) {
        if (!isSignInNeeded(error) || !mayRepeat('sign_in_needed', first.envelope, round)) throw error
        const attempt = this.#ports.signIns.begin(false)
        if (attempt === undefined) throw error
        began(attempt)
        this.#asking.give()
        const end = await settledWithin(attempt.done, Infinity, { signal: context.signal })
        this.#asking = createSignal()
        if (end !== 'done') throw error
      }
    }
  }

  /** The session is there: what the client has sent since it believed so goes first. */
  async #opened(next: Send): Promise<void> {
    const waiting = this.#kept
    this.#kept = []
    for (const notification of waiting) await next(notification, unheard)
    this.isMissing = false
  }

  /** Once the stand-in is out, a first request that fails is tried again when the client next wants something. */
  #watch(exchanged: Promise<void>): void {
    this.#making = exchanged
    const over = (): void => void (this.#making = undefined)
    exchanged.then(over, over)
  }

  async #madeOrAsking(made: Promise<void>): Promise<void> {
    const { signal } = this.#closed
    const end = await settledWithin(made, Infinity, { signal, when: this.#asking.given })
    if (end === 'waiting') throw new TransportError('sign_in_needed', 'The server needs a sign-in.')
    await made
  }
}
