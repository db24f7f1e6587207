import { settledWithin } from '@drawbridge/shared/async.ts'
import {
  type JsonRpcId,
  type JsonRpcRequest,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { intercepted, type Context, type Send, type Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { isAcknowledgement, offersUrlElicitation, subscriptionAcknowledged } from './authorization-prompt.ts'
import { answerTo, emptyList } from './cached-answer.ts'
import { SessionOpening } from './session-opening.ts'
import { isSignInNeeded } from './sign-in-attempt.ts'
import { SignInAnswers, type SignInPorts } from './sign-in-answers.ts'

/**
 * Handles a server that requires a sign-in: asks the client to open the link or answers with it ({@link SignInAnswers}), and
 * continues after the sign-in. Answers the first request from memory in time, and opens the session later
 * ({@link SessionOpening}).
 */
export class SignInStep implements Step {
  readonly opening: SessionOpening
  readonly #era: McpEra
  readonly #ports: SignInPorts
  readonly #answers: SignInAnswers

  /** `era`: of the messages that pass. */
  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
    this.opening = new SessionOpening(era, ports)
    this.#answers = new SignInAnswers(era, ports)
  }

  send(message: WireMessage, context: Context, next: Send): Promise<void> {
    const { envelope } = message
    if (envelope.kind === 'request') return this.#request(message, envelope, context, next)
    if (envelope.kind === 'response')
      return this.#answers.takesResponse(message) ? Promise.resolve() : next(message, context)
    const { state } = this.opening
    if (state.kind !== 'missing') return this.#notify(message, context, next)
    // The session will have had no request that another notification could be about.
    if (isInitialized(message)) state.isInitialized = true
    return Promise.resolve()
  }

  #request(
    message: WireMessage,
    request: { id: JsonRpcId; method: string },
    context: Context,
    next: Send,
  ): Promise<void> {
    const { method } = request
    const answers = this.#answers
    if (method === 'initialize')
      answers.isUrlCapable = offersUrlElicitation(parseWireMessage(message) as JsonRpcRequest)
    if (method === 'initialize' || method === 'server/discover')
      return this.opening.open(message, context, next)
    if (answers.isSignInTool(message, method))
      return answers.callTool(request, context, () => this.#isRefusedNow(next))
    if (answers.isResumed(message)) return this.#resume(message, context, next)
    return this.#goOn(message, context, next)
  }

  /** Sends a request once the session is open, and again after each sign-in that it needs. */
  async #goOn(message: WireMessage, context: Context, next: Send, signIns = 0): Promise<void> {
    for (let round = signIns; ; round += 1) {
      const isWaiting = this.opening.state.kind === 'missing' && this.#ports.signIns.pending !== undefined
      try {
        if (!isWaiting) {
          await this.opening.ready(next)
          return await next(message, context)
        }
      } catch (error) {
        if (!this.#leadsToSignIn(error, message, round)) throw error
      }
      if ((await this.#waitForSignIn(message, context, next)) === 'answered') return
    }
  }

  #leadsToSignIn(error: unknown, { envelope }: WireMessage, round: number): boolean {
    const canGoOn = isSignInNeeded(error) && this.#ports.signIns.canSignIn
    return canGoOn && mayRepeat('sign_in_needed', envelope, round)
  }

  /** Answers a request that needs no sign-in, and waits for one otherwise. */
  async #waitForSignIn(message: WireMessage, context: Context, next: Send): Promise<'again' | 'answered'> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const { method, params } = request
    const answers = this.#answers
    const empty = method === 'ping' ? {} : emptyList(method, this.#era, this.#ports.memory())
    if (empty !== undefined) await context.deliver(answerTo(request, empty))
    // The client may know the tool from an earlier start.
    else if (method === 'tools/call' && params?.['name'] === answers.toolName())
      await answers.callTool(request, context, async () => true)
    else if (method === 'subscriptions/listen') await this.#subscribe(request, message, context, next)
    else return answers.wait(request, context)
    return 'answered'
  }

  /** Acknowledges a subscription at once: it will carry the notification of the sign-in. */
  async #subscribe(
    request: JsonRpcRequest,
    message: WireMessage,
    context: Context,
    next: Send,
  ): Promise<void> {
    const success = this.#ports.signIns.success
    this.#ports.signIns.begin(false)
    await context.deliver(toWireMessage(subscriptionAcknowledged(request)))
    if ((await settledWithin(success, Infinity, { signal: context.signal })) !== 'done') return
    await next(
      message,
      intercepted(context, (sent, deliver) => (isAcknowledgement(sent) ? undefined : deliver(sent))),
    )
  }

  /** Resumes a request that the client repeats after `input_required`. */
  async #resume(message: WireMessage, context: Context, next: Send): Promise<void> {
    const bare = await this.#answers.resume(message, context)
    if (bare !== undefined) await this.#goOn(bare, context, next, bare === message ? 0 : 1)
  }

  /** The session may be missing only because no request has been made since the sign-in. */
  async #isRefusedNow(next: Send): Promise<boolean> {
    if (this.#ports.signIns.lastFailure !== undefined) return true
    try {
      await this.opening.ready(next)
      return false
    } catch (error) {
      if (!isSignInNeeded(error)) throw error
      return true
    }
  }

  /** Sends a notification, and again after a sign-in: some servers allow `initialize` without one, but no notifications. */
  async #notify(message: WireMessage, context: Context, next: Send): Promise<void> {
    const send = async (): Promise<void> => {
      if (isInitialized(message)) return this.opening.confirm(next(message, context))
      await this.opening.ready(next)
      return next(message, context)
    }
    try {
      await send()
    } catch (error) {
      const attempt = isSignInNeeded(error) ? this.#ports.signIns.begin(false) : undefined
      if (attempt === undefined) throw error
      await attempt.done
      await send()
    }
  }
}

function isInitialized({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === 'notifications/initialized'
}
