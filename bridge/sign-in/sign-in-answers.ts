import { settledWithin } from '@drawbridge/shared/async.ts'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  jsonRpcError,
  type JsonRpcRequest,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { AuthorizationPrompt } from '../http/http-client.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import {
  elicitationComplete,
  elicitationRequest,
  inputRequired,
  isAccepted,
  offersUrlElicitation,
  signInStatePrefix,
  signInText,
  signInToolName,
  toolsWithSignIn,
  toolText,
  withoutSignInState,
} from './authorization-prompt.ts'
import { answerTo } from './cached-answer.ts'
import type { SignInAttempt, SignIns } from './sign-in-attempt.ts'

/** The ports of one connection to the server. All connections share `signIns`. */
export interface SignInPorts {
  signIns: SignIns
  /** How long a call waits while the user has the link in a browser, in milliseconds. */
  callWaitMs: number
  /** The bridge's own, shown in place of an unknown server's. */
  version: string
  memory(): ServerMemory | undefined
  describeFailure: DescribeFailure
  /** The sign-in tool was listed under this name. */
  offered(toolName: string): void
}

/** How long calls wait for the link, which needs discovery and registration. */
const promptWaitMs = 10_000

/**
 * Asks the client to open the link by URL elicitation, or else answers with the link. Holds requests as long as
 * {@link SignInAttempt.settled} says; calls longer: up to `callWaitMs` while the link is in the user's browser, and without
 * limit while the client is asking the user to open it.
 */
export class SignInAnswers {
  readonly #era: McpEra
  readonly #ports: SignInPorts
  /** Elicitations by id, until the client has answered; of 2026-07-28 by `requestState`. */
  readonly #elicited = new Map<string, SignInAttempt>()
  /** The client's `initialize` declares URL elicitation. */
  isUrlCapable = false
  /** The name under which the sign-in tool was listed. */
  #offeredTool: string | undefined

  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
  }

  toolName(): string {
    return signInToolName(this.#ports.memory()?.tools ?? [])
  }

  /** Returns whether the client calls the sign-in tool. A new list of tools withdraws it. */
  isSignInTool(message: WireMessage, method: string): boolean {
    if (method === 'tools/list') this.#offeredTool = undefined
    const name = this.#offeredTool
    if (name === undefined || method !== 'tools/call' || !message.text.includes(name)) return false
    return (parseWireMessage(message) as JsonRpcRequest).params?.['name'] === name
  }

  /** Returns whether the request answers an `input_required` of ours. */
  isResumed(message: WireMessage): boolean {
    return this.#elicited.size > 0 && message.text.includes(signInStatePrefix)
  }

  /** Handles the response to one of our elicitations; returns false for any other response. */
  takesResponse({ envelope, text }: WireMessage): boolean {
    const id = envelope.kind === 'response' && typeof envelope.id === 'string' ? envelope.id : ''
    const attempt = this.#elicited.get(id)
    if (attempt === undefined) return false
    this.#elicited.delete(id)
    if (!isAccepted(parseJsonObject(text)?.['result'])) attempt.declined.give()
    return true
  }

  /** Waits for the sign-in as long as this client can, and then answers with the link or the failure. */
  async wait(request: JsonRpcRequest, context: Context): Promise<'again' | 'answered'> {
    const { callWaitMs, signIns } = this.#ports
    const { signal } = context
    const attempt = signIns.begin(false)
    if (attempt === undefined) return this.#tell(request, context, undefined)
    if ((await attempt.settled(signal)) === 'done') return 'again'
    if (signIns.pending !== attempt) return this.#tell(request, context, undefined)
    const isCall = inputMethods.has(request.method)
    const prompt = await attempt.promptWithin(isCall ? promptWaitMs : 0, signal)
    const canElicit = this.#era === 'legacy' ? this.isUrlCapable : offersUrlElicitation(request)
    if (canElicit && prompt !== undefined) return this.#elicit(request, context, { attempt, prompt, isCall })
    const waitMs = isCall && attempt.isInBrowser ? callWaitMs : 0
    const end = await settledWithin(attempt.done, waitMs, { signal })
    if (end === 'done') return 'again'
    return this.#tell(request, context, end === 'failed' ? undefined : prompt)
  }

  /** Asks the client to open the link, once for all requests. Holds calls, which have a user behind them. */
  async #elicit(
    request: JsonRpcRequest,
    context: Context,
    { attempt, prompt, isCall }: { attempt: SignInAttempt; prompt: AuthorizationPrompt; isCall: boolean },
  ): Promise<'again' | 'answered'> {
    if (!attempt.isElicited) {
      if (this.#era === 'modern' && !isCall) return this.#tell(request, context, prompt)
      attempt.isElicited = true
      const key = signInStatePrefix + attempt.id
      this.#elicited.set(key, attempt)
      if (this.#era === 'modern') {
        await context.deliver(answerTo(request, inputRequired(key, prompt)))
        return 'answered'
      }
      await context.deliver(toWireMessage(elicitationRequest(key, prompt)))
      attempt.done.then(() => context.deliver(toWireMessage(elicitationComplete(key)))).catch(() => {})
    }
    // Clients list at startup, often before they can show anything to a user.
    if (!isCall) return this.#tell(request, context, prompt)
    const { declined, done } = attempt
    const end = await settledWithin(done, Infinity, { signal: context.signal, when: declined.given })
    return end === 'done' ? 'again' : this.#tell(request, context, end === 'waiting' ? prompt : undefined)
  }

  /** Answers a request that came back with its input, or returns the original request, to be sent now. */
  async resume(message: WireMessage, context: Context): Promise<WireMessage | undefined> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const { requestState, inputResponses } = request.params ?? {}
    const attempt = this.#elicited.get(String(requestState))
    if (attempt === undefined) return message
    const { signal } = context
    let prompt: AuthorizationPrompt | undefined
    if (isAccepted(isJsonObject(inputResponses) ? inputResponses[String(requestState)] : undefined)) {
      const end = await settledWithin(attempt.done, Infinity, { signal })
      if (end === 'done') return toWireMessage(withoutSignInState(request))
    } else {
      attempt.declined.give()
      prompt = await attempt.promptWithin(0, signal)
    }
    await this.#tell(request, context, prompt)
    return undefined
  }

  /** Runs the sign-in tool: returns the link. A user is behind this call, so it may always begin a sign-in. */
  async callTool(
    request: Pick<JsonRpcRequest, 'id'>,
    context: Context,
    isRefused: () => Promise<boolean>,
  ): Promise<void> {
    const { callWaitMs, describeFailure, signIns } = this.#ports
    const { signal } = context
    const say = async (text: string, isError: boolean): Promise<void> =>
      context.deliver(answerTo(request, toolText(text, isError, this.#era)))
    this.#offerTool()
    const attempt = signIns.pending ?? ((await isRefused()) ? signIns.begin(true) : undefined)
    if (attempt === undefined) return say('Signed in. The tools of the server can be used.', false)
    const settling = attempt.wasShown
      ? settledWithin(attempt.done, callWaitMs, { signal })
      : attempt.settled(signal)
    if ((await settling) === 'done') return say('Signed in. The tools of the server can be used now.', false)
    if (signIns.pending !== attempt) {
      const { message: failure } = describeFailure(signIns.lastFailure)
      return say(signInText(undefined, failure, this.toolName()), true)
    }
    const prompt = await attempt.promptWithin(promptWaitMs, signal)
    attempt.wasShown = prompt !== undefined
    return say(signInText(prompt, undefined, this.toolName()), prompt === undefined)
  }

  /** Answers a client without URL elicitation. */
  async #tell(
    request: JsonRpcRequest,
    context: Context,
    prompt: AuthorizationPrompt | undefined,
  ): Promise<'answered'> {
    await context.deliver(this.#answer(request, prompt))
    return 'answered'
  }

  #answer(request: JsonRpcRequest, prompt: AuthorizationPrompt | undefined): WireMessage {
    const { method, id } = request
    const { describeFailure, memory, signIns } = this.#ports
    if (method === 'tools/list') {
      this.#offerTool()
      return answerTo(request, toolsWithSignIn(memory()?.tools ?? [], this.#era))
    }
    const failure = signIns.lastFailure
    const said = failure === undefined ? undefined : describeFailure(failure).message
    const text = signInText(prompt, said, this.#offeredTool)
    if (method === 'tools/call') return answerTo(request, toolText(text, true, this.#era))
    const described = describeFailure(new TransportError('sign_in_needed', text, { status: 401 }))
    const data = { ...(isJsonObject(described.data) && described.data), ...(prompt && { signIn: prompt }) }
    return { ...toWireMessage(jsonRpcError(id, described.code, text, data)), isStandIn: true }
  }

  /** Lists the sign-in tool: from now on the bridge answers calls of that name. */
  #offerTool(): void {
    this.#offeredTool = this.toolName()
    this.#ports.offered(this.#offeredTool)
  }
}
