import { createSignal, settledWithin, type Signal } from '@drawbridge/shared/async.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { intercepted, discarding, type Context, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { TransportError } from '../transport/transport.ts'
import { cachedOpening, knownOpening } from './cached-answer.ts'
import { isSignInNeeded, type SignInAttempt } from './sign-in-attempt.ts'
import type { SignInPorts } from './sign-in-answers.ts'

/** A known server that stays silent for this long is answered for. */
const silentWaitMs = 2000

/** How long messages wait for a server to accept `notifications/initialized`. */
const maxConfirmMs = 10_000

type SessionState =
  /** Client and server agree: they have a session, or the client waits for the server's own answer. */
  | { kind: 'agreed' }
  /** `notifications/initialized` is on its way. */
  | { kind: 'confirming'; accepted: Promise<unknown> }
  /** The client was answered in place of the server, and believes in a session that does not exist yet. */
  | MissingSession

interface MissingSession {
  kind: 'missing'
  first: WireMessage
  /** The client has sent `notifications/initialized` since. */
  isInitialized: boolean
  attempt: OpeningAttempt | undefined
}

/** The first request, on its way to the server. */
interface OpeningAttempt {
  /** Given while the request waits for a person to sign in. */
  asking: Signal
  isOver: boolean
  /** The server's JSON-RPC error; undefined once the session is open. Rejects if the server did not answer. */
  outcome: Promise<WireMessage | undefined>
}

/**
 * Sends the first request to a server, `initialize` or `server/discover`, and opens the session later if the request was answered
 * from memory. Everything else waits for it and for the `notifications/initialized` that follows: clients send their first
 * requests right behind that, and Python servers refuse requests that overtake it.
 */
export class SessionOpening {
  /** Replaced here only. {@link SessionOpening.ready} comes before a request unless client and server agree. */
  state: SessionState = { kind: 'agreed' }
  readonly #era: McpEra
  readonly #ports: SignInPorts
  readonly #closed = new AbortController()

  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
  }

  /**
   * Sends the first request. If the server wants a sign-in, or is known and silent, the client gets an answer from memory in time.
   * Resolves when the server itself has answered.
   */
  async open(first: WireMessage, context: Context, next: Send): Promise<void> {
    const { memory, signIns, version } = this.#ports
    const { signal } = context
    const askedMs = performance.now()
    let isAnswered = false
    const watched = intercepted(context, (answer, deliver) => {
      isAnswered ||= answer.envelope.kind === 'response'
      return deliver(answer)
    })
    const standIn = async (): Promise<void> => {
      isAnswered = true
      if (this.#era === 'legacy') this.state = { kind: 'missing', first, isInitialized: false, attempt }
      await context.deliver(cachedOpening(first, memory(), version))
    }
    const isSilent = (): boolean => !isAnswered && !attempt.isOver && signal?.aborted !== true
    const standInLater = async (signIn: SignInAttempt): Promise<void> => {
      if ((await signIn.settled(signal, askedMs)) === 'waiting' && isSilent()) await standIn()
    }
    const attempt = this.#begin(first, watched, next, (signIn) => void standInLater(signIn))
    if (this.state.kind === 'missing') this.state = { ...this.state, first, attempt }
    await settledWithin(attempt.outcome, Math.min(signIns.waitMs, silentWaitMs), { signal })
    if (isSilent() && signIns.pending === undefined && knownOpening(memory()) !== undefined) await standIn()
    await attempt.outcome.catch((error: unknown) => {
      if (isAnswered || !isSignInNeeded(error) || !signIns.canSignIn) throw error
      return standIn()
    })
  }

  /** Makes the next request open a session for a client that believes in one. */
  assume(initialize: WireMessage, isInitialized: boolean): void {
    this.state = { kind: 'missing', first: initialize, isInitialized, attempt: undefined }
  }

  /** Waits for the session. Tries again to open one if the last attempt failed. */
  async ready(next: Send): Promise<void> {
    if (this.state.kind === 'missing') await this.#make(this.state, next)
    if (this.state.kind === 'confirming') await this.state.accepted
  }

  /** Holds everything else until `sending` has ended either way, for ten seconds at most. */
  confirm(sending: Promise<void>): Promise<void> {
    if (this.state.kind === 'missing') return sending
    const accepted = settledWithin(sending, maxConfirmMs).finally(() => {
      if (this.state === confirming) this.state = { kind: 'agreed' }
    })
    const confirming: SessionState = { kind: 'confirming', accepted }
    this.state = confirming
    return sending
  }

  close(): void {
    this.#closed.abort()
  }

  async #make(missing: MissingSession, next: Send): Promise<void> {
    const { signal } = this.#closed
    if (missing.attempt?.isOver !== false)
      missing.attempt = this.#begin(missing.first, { ...discarding, signal }, next, () => {})
    const { asking, outcome } = missing.attempt
    const end = await settledWithin(outcome, Infinity, { signal, when: asking.given })
    if (end === 'waiting') throw new TransportError('sign_in_needed', 'The server needs a sign-in.')
    const response = await outcome
    if (response !== undefined)
      throw new TransportError('refused', 'The server did not open a session.', { response })
    if (this.state.kind === 'missing')
      throw new TransportError('unavailable', 'The server did not open a session.')
  }

  #begin(
    first: WireMessage,
    context: Context,
    next: Send,
    onSignIn: (attempt: SignInAttempt) => void,
  ): OpeningAttempt {
    const progress = { asking: createSignal(), isOver: false }
    const outcome = this.#send(first, context, next, async (signIn) => {
      onSignIn(signIn)
      progress.asking.give()
      const end = await settledWithin(signIn.done, Infinity, { signal: context.signal })
      progress.asking = createSignal()
      return end === 'done'
    })
    const over = (): void => void (progress.isOver = true)
    outcome.then(over, over)
    return Object.assign(progress, { outcome })
  }

  /** Sends the first request, and again after each sign-in that it takes: `isSignedIn` waits for one. */
  async #send(
    first: WireMessage,
    context: Context,
    next: Send,
    isSignedIn: (attempt: SignInAttempt) => Promise<boolean>,
  ): Promise<WireMessage | undefined> {
    let refusal: WireMessage | undefined
    const watched = intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response' && answer.envelope.isError) refusal = answer
      return deliver(answer)
    })
    for (let round = 0; ; round++) {
      try {
        await next(first, watched)
        if (refusal !== undefined || this.state.kind !== 'missing') return refusal
        if (this.state.isInitialized) await next(initialized, discarding)
        this.state = { kind: 'agreed' }
        return undefined
      } catch (error) {
        if (!isSignInNeeded(error) || !mayRepeat('sign_in_needed', first.envelope, round)) throw error
        const attempt = this.#ports.signIns.begin(false)
        if (attempt === undefined || !(await isSignedIn(attempt))) throw error
      }
    }
  }
}

const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
