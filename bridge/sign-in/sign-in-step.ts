import { settledWithin } from '@drawbridge/shared/async.ts'
import {
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
 * Does not fail when the server wants a sign-in: asks the client to open the link or answers with it ({@link SignInAnswers}),
 * and goes on when somebody has signed in. The opening request is answered in time from memory, and is made up for
 * afterwards without the client.
 */
export class SignInStep implements Step {
  readonly opening: SessionOpening
  readonly #era: McpEra
  readonly #ports: SignInPorts
  /** Undefined as long as no sign-in was wanted. */
  #answers: SignInAnswers | undefined
  /** The client can be asked to open a link, by its `initialize`. */
  #isUrlCapable = false

  /** `era`: of the messages that pass. */
  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
    this.opening = new SessionOpening(era, ports)
  }

  send(message: WireMessage, context: Context, next: Send): Promise<void> {
    const { envelope } = message
    if (envelope.kind === 'request') return this.#request(message, envelope.method, context, next)
    if (envelope.kind === 'response')
      return this.#answers?.takesResponse(message) === true ? Promise.resolve() : next(message, context)
    if (!this.opening.isMissing) return this.#notify(message, context, next)
    this.opening.later(message)
    return Promise.resolve()
  }

  #request(message: WireMessage, method: string, context: Context, next: Send): Promise<void> {
    if (method === 'initialize' || method === 'server/discover') {
      if (method === 'initialize')
        this.#isUrlCapable = offersUrlElicitation(parseWireMessage(message) as JsonRpcRequest)
      return this.opening.open(message, context, next)
    }
    const answers = this.#answers
    if (answers?.isSignInTool(message, method) === true) return this.#callTool(message, context, next, false)
    if (answers?.isResumed(message) === true) return this.#resume(answers, message, context, next)
    if (this.opening.isMissing || this.opening.confirming !== undefined)
      return this.#goOn(message, context, next)
    // This is where all calls of a signed-in client go.
    return next(message, context).catch((error: unknown) => this.#goOn(message, context, next, { error }))
  }

  /** Sends what a client would have sent now, once the session is there, and again after each sign-in that it takes. */
  async #goOn(
    message: WireMessage,
    context: Context,
    next: Send,
    refused?: { error: unknown },
    signIns = 0,
  ): Promise<void> {
    let refusal = refused
    for (let round = signIns; ; round += 1) {
      const isWaiting = this.opening.isMissing && this.#ports.signIns.pending !== undefined
      if (refusal === undefined && !isWaiting) {
        try {
          if (this.opening.isMissing) await this.opening.made(next)
          return await this.#pass(message, context, next)
        } catch (error) {
          refusal = { error }
        }
      }
      if (refusal !== undefined && !this.#leadsToSignIn(refusal.error, message, round)) throw refusal.error
      if ((await this.#waitForSignIn(message, context, next)) === 'answered') return
      refusal = undefined
    }
  }

  #leadsToSignIn(error: unknown, { envelope }: WireMessage, round: number): boolean {
    const canGoOn = isSignInNeeded(error) && this.#ports.signIns.canSignIn
    return canGoOn && mayRepeat('sign_in_needed', envelope, round)
  }

  /** Sends, behind the `notifications/initialized` that is on its way. */
  async #pass(message: WireMessage, context: Context, next: Send): Promise<void> {
    await this.opening.confirming
    return next(message, context)
  }

  /** Answers what can be answered without a sign-in, and waits for one with the rest. */
  async #waitForSignIn(message: WireMessage, context: Context, next: Send): Promise<'again' | 'answered'> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const empty = request.method === 'ping' ? {} : emptyList(request.method, this.#era, this.#ports.memory())
    if (empty !== undefined) await context.deliver(answerTo(message, empty))
    // A host may know the tool from an earlier start.
    else if (request.method === 'tools/call' && request.params?.['name'] === this.#prompting().toolName())
      await this.#callTool(message, context, next, true)
    else if (request.method === 'subscriptions/listen') await this.#subscribe(request, message, context, next)
    else return this.#prompting().wait(request, message, context, this.#isUrlCapable)
    return 'answered'
  }

  /** Accepts a subscription at once: the notice that somebody has signed in comes by it. */
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

  /** The client comes back with what it did about `input_required`. */
  async #resume(answers: SignInAnswers, message: WireMessage, context: Context, next: Send): Promise<void> {
    const bare = await answers.resume(message, context)
    if (bare !== undefined) await this.#goOn(bare, context, next, undefined, bare === message ? 0 : 1)
  }

  #prompting(): SignInAnswers {
    return (this.#answers ??= new SignInAnswers(this.#era, this.#ports))
  }

  #callTool(message: WireMessage, context: Context, next: Send, isRefused: boolean): Promise<void> {
    return this.#prompting().callTool(
      message,
      context,
      async () => isRefused || (await this.#isRefusedNow(next)),
    )
  }

  /** A session that is missing may be missing only because nobody wanted it since somebody signed in. */
  async #isRefusedNow(next: Send): Promise<boolean> {
    if (this.#ports.signIns.lastFailure !== undefined) return true
    try {
      if (this.opening.isMissing) await this.opening.made(next)
      return false
    } catch (error) {
      if (!isSignInNeeded(error)) throw error
      return true
    }
  }

  /** Sends a notification, again after a sign-in: not every server that serves `initialize` takes notifications before. */
  async #notify(message: WireMessage, context: Context, next: Send): Promise<void> {
    const { envelope } = message
    const isConfirming = envelope.kind === 'notification' && envelope.method === 'notifications/initialized'
    const send = (): Promise<void> =>
      isConfirming ? this.opening.confirm(next(message, context)) : this.#pass(message, context, next)
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
