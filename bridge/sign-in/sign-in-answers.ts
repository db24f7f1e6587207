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

/** The needs of one connection to the server; its `signIns` are those of all connections. */
export interface SignInPorts {
  signIns: SignIns
  /** How long a call waits for a person who has the link in front of them, in milliseconds. */
  callWaitMs: number
  /** The bridge's own: it stands in for a server that nothing is known of yet. */
  version: string
  memory(): ServerMemory | undefined
  describeFailure: DescribeFailure
  /** The tool that hands out the link was listed under this name. */
  offered(toolName: string): void
}

/** The link is known after discovery and registration: worth that wait to calls that hand it to a person. */
const promptWaitMs = 10_000

/**
 * Asks the client, as a server itself might, to open the link (URL elicitation), or else answers with the link. No request is
 * held longer than {@link SignInAttempt.settled} says, except a call: while the link is in a browser in front of the
 * person, up to `callWaitMs`, and as long as it takes when the client has asked the person to open it.
 */
export class SignInAnswers {
  readonly #era: McpEra
  readonly #ports: SignInPorts
  /** Elicitations that the client has not answered, by id; of 2026-07-28 by `requestState`. */
  readonly #elicitations = new Map<string, SignInAttempt>()
  readonly #inputStates = new Map<string, SignInAttempt>()
  /** The client can be asked to open a link, by its `initialize`. */
  isUrlCapable = false
  /** The name under which the client was told of the tool to sign in. */
  #offeredTool: string | undefined

  constructor(era: McpEra, ports: SignInPorts) {
    this.#era = era
    this.#ports = ports
  }

  toolName(): string {
    return signInToolName(this.#ports.memory()?.tools ?? [])
  }

  /** Returns whether the client calls the tool to sign in. A new list of tools takes its name back. */
  isSignInTool(message: WireMessage, method: string): boolean {
    if (method === 'tools/list') this.#offeredTool = undefined
    const name = this.#offeredTool
    if (name === undefined || method !== 'tools/call' || !message.text.includes(name)) return false
    return (parseWireMessage(message) as JsonRpcRequest).params?.['name'] === name
  }

  /** Returns whether the request answers an `input_required` of ours. */
  isResumed(message: WireMessage): boolean {
    return this.#inputStates.size > 0 && message.text.includes(signInStatePrefix)
  }

  /** Takes the response to an elicitation of ours. */
  takesResponse({ envelope, text }: WireMessage): boolean {
    const id = envelope.kind === 'response' && typeof envelope.id === 'string' ? envelope.id : ''
    const attempt = this.#elicitations.get(id)
    if (attempt === undefined) return false
    this.#elicitations.delete(id)
    if (!isAccepted(parseJsonObject(text)?.['result'])) attempt.declined.give()
    return true
  }

  /** Waits for the sign-in as long as this client can be made to; else answers with what there is. */
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

  /** Asks the client to open the link, once for all requests, and holds this one if a person is behind it. */
  async #elicit(
    request: JsonRpcRequest,
    context: Context,
    { attempt, prompt, isCall }: { attempt: SignInAttempt; prompt: AuthorizationPrompt; isCall: boolean },
  ): Promise<'again' | 'answered'> {
    if (!attempt.isElicited) {
      if (this.#era === 'modern' && !isCall) return this.#tell(request, context, prompt)
      attempt.isElicited = true
      const key = signInStatePrefix + attempt.id
      if (this.#era === 'modern') {
        this.#inputStates.set(key, attempt)
        await context.deliver(answerTo(request, inputRequired(key, prompt)))
        return 'answered'
      }
      this.#elicitations.set(key, attempt)
      await context.deliver(toWireMessage(elicitationRequest(key, prompt)))
      attempt.done.then(() => context.deliver(toWireMessage(elicitationComplete(key)))).catch(() => {})
    }
    // Clients list at their start, often before they can show anything to a person.
    if (!isCall) return this.#tell(request, context, prompt)
    const { declined, done } = attempt
    const end = await settledWithin(done, Infinity, { signal: context.signal, when: declined.given })
    return end === 'done' ? 'again' : this.#tell(request, context, end === 'waiting' ? prompt : undefined)
  }

  /** Answers a request that came back with its input, or returns it as it was, to be sent now. */
  async resume(message: WireMessage, context: Context): Promise<WireMessage | undefined> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const { requestState, inputResponses } = request.params ?? {}
    const attempt = this.#inputStates.get(String(requestState))
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

  /** Hands out the link. Calling the tool is a person's doing, so it may begin a sign-in at any time. */
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

  /** Answers a client that cannot be asked to open a link. */
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

  /** From now on a call of that name is for us: the client has it in its list. */
  #offerTool(): void {
    this.#offeredTool = this.toolName()
    this.#ports.offered(this.#offeredTool)
  }
}
