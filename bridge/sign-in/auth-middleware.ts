import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { answerTo, cachedOpening, emptyList, knownOpening } from './cached-answer.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { Transport, SendOptions } from '../transport/transport.ts'
import { TransportError } from '../transport/transport.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { settledWithin } from '../transport/settled-within.ts'
import { isSignInNeeded, promptOf } from './sign-in-attempt.ts'
import type { SignInAttempt, AuthorizationPrompt, SignIns } from './sign-in-attempt.ts'
import {
  acknowledgedMethod,
  elicitationComplete,
  elicitationRequest,
  inputRequired,
  signInText,
  signInToolName,
  signInStatePrefix,
  subscriptionAcknowledged,
  toolsWithSignIn,
  toolText,
  withoutSignInState,
} from './authorization-prompt.ts'
import { createDeferredInitialize, type DeferredInitialize } from './deferred-initialize.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isAccepted, offersUrlElicitation } from './url-elicitation.ts'

/** Times in milliseconds. */
export interface AuthMiddlewareConfig {
  /** The era that this transport speaks. */
  era: McpEra
  /** Of the bridge: it stands in for a server that nothing is known of yet. */
  version: string
  /** How long a silent server that is known may take for the first answer. */
  waitMs: number
  /** How long the tool to sign in waits when it is called again. */
  toolWaitMs: number
}

/** What the sign-in is made of. One {@link SignIns} for all transports. */
export interface AuthMiddlewarePorts {
  signIns: SignIns
  /** Whether there is a way to sign in at all; without one refusals go through as they are. */
  canSignIn: boolean
  memory(): ServerMemory | undefined
  describeFailure: DescribeFailure
  /** The tool that hands out the link was listed under this name. */
  offered(toolName: string): void
}

/** Only these may be answered by `input_required` (MCP 2026-07-28). */
const inputMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** So many sign-ins in a row may not have satisfied the server; then the client is told. */
const maxRounds = 2

/** The link is known after discovery and registration: worth that wait to calls that hand it to a person. */
const promptWaitMs = 10_000

/**
 * A transport that does not fail when the server wants a sign-in. As a server itself might, it asks the client to open the link
 * (URL elicitation), or else answers with the link; requests go on when somebody has signed in. No request is held longer than
 * {@link SignInAttempt.settled} says, except a call for which the client has asked the person to open the link. The opening
 * request is answered in time from memory, and is made up for afterwards without the client.
 */
export class AuthMiddleware implements Transport {
  readonly #transport: Transport
  readonly #era: McpEra
  readonly #toolWaitMs: number
  readonly #ports: AuthMiddlewarePorts
  readonly #signIns: SignIns
  readonly #opening: DeferredInitialize
  /** Elicitations that the client has not answered, by id; of 2026-07-28 by `requestState`. */
  readonly #elicitations = new Map<string, SignInAttempt>()
  readonly #inputStates = new Map<string, SignInAttempt>()
  /** The name under which the client was told of the tool to sign in. */
  #signInTool: string | undefined
  #isUrlCapable = false

  constructor(transport: Transport, config: AuthMiddlewareConfig, ports: AuthMiddlewarePorts) {
    this.#transport = transport
    this.#era = config.era
    this.#toolWaitMs = config.toolWaitMs
    this.#ports = ports
    this.#signIns = ports.signIns
    this.#opening = createDeferredInitialize(transport, config, {
      signIns: ports.signIns,
      canSignIn: ports.canSignIn,
      hasMemory: () => knownOpening(ports.memory()) !== undefined,
      standIn: (message) => cachedOpening(message, ports.memory(), config.version),
    })
  }

  send(message: WireMessage, options: SendOptions): Promise<void> {
    const { envelope } = message
    switch (envelope.kind) {
      case 'request':
        return this.#request(message, envelope.method, options)
      case 'response':
        return this.#elicitations.size > 0
          ? this.#answerElicitation(message, envelope.id, options)
          : this.#transport.send(message, options)
      default:
        return this.#opening.isMissing() ? this.#opening.later(message) : this.#notify(message, options)
    }
  }

  close(graceMs: number): Promise<void> {
    this.#opening.close()
    return this.#transport.close(graceMs)
  }

  /** Sends what a client would have sent now, once the session is there. */
  async #send(message: WireMessage, options: SendOptions, round: number): Promise<void> {
    try {
      if (this.#opening.isMissing()) {
        const pending = this.#signIns.pending()
        if (pending !== undefined) return await this.#sendAfterSignIn(message, options, round)
        await this.#opening.made()
      }
      return await this.#transport.send(message, options)
    } catch (error) {
      if (!isSignInNeeded(error) || round >= maxRounds || !this.#ports.canSignIn) throw error
      return this.#sendAfterSignIn(message, options, round)
    }
  }

  #toolName(): string {
    return signInToolName(this.#ports.memory()?.tools ?? [])
  }

  /** A request that the server does not serve before somebody signs in. */
  async #sendAfterSignIn(message: WireMessage, options: SendOptions, round: number): Promise<void> {
    const request = parseWireMessage(message) as JsonRpcRequest
    if (request.method === 'ping') return deliver(options, answerTo(message, {}))
    // A host may know the tool from an earlier start.
    if (request.method === 'tools/call' && request.params?.['name'] === this.#toolName())
      return this.#callSignInTool(message, options, true)
    if (request.method === 'subscriptions/listen')
      return this.#subscribeAfterSignIn(request, message, options)
    const empty = emptyList(request.method, this.#era, this.#ports.memory())
    if (empty !== undefined) return deliver(options, answerTo(message, empty))
    return this.#waitForSignIn(request, message, options, round)
  }

  /** Waits for the sign-in as long as this client can be made to, and goes on, or answers with what there is. */
  async #waitForSignIn(
    request: JsonRpcRequest,
    message: WireMessage,
    options: SendOptions,
    round: number,
  ): Promise<void> {
    const attempt = this.#signIns.begin(false)
    if (attempt === undefined) return this.#answerWithPrompt(message, options, undefined)
    const { signal } = options
    if ((await attempt.settled(signal)) === 'done') return this.#send(message, options, round + 1)
    if (this.#signIns.pending() !== attempt) return this.#answerWithPrompt(message, options, undefined)
    const canElicit = this.#era === 'legacy' ? this.#isUrlCapable : offersUrlElicitation(request)
    // A call that is going to be held for a person anyway waits for the link, too.
    const promptMs = canElicit && inputMethods.has(request.method) ? promptWaitMs : 0
    const prompt = await promptOf(attempt, promptMs, signal)
    if (!canElicit || prompt === undefined) return this.#answerWithPrompt(message, options, prompt)
    return this.#elicit(request, options, { attempt, prompt, round, message })
  }

  /** Asks the client to open the link, once for all requests, and holds this one if a person is behind it. */
  async #elicit(
    request: JsonRpcRequest,
    options: SendOptions,
    to: { attempt: SignInAttempt; prompt: AuthorizationPrompt; round: number; message: WireMessage },
  ): Promise<void> {
    const { attempt, prompt, message } = to
    if (!attempt.isElicited) {
      if (this.#era === 'modern' && !inputMethods.has(request.method))
        return this.#answerWithPrompt(message, options, prompt)
      attempt.isElicited = true
      const key = signInStatePrefix + attempt.id
      if (this.#era === 'modern') {
        this.#inputStates.set(key, attempt)
        return deliver(options, answerTo(message, inputRequired(key, key, prompt)))
      }
      this.#elicitations.set(key, attempt)
      await deliver(options, toWireMessage(elicitationRequest(key, key, prompt)))
      attempt.done.then(() => deliver(options, toWireMessage(elicitationComplete(key)))).catch(() => {})
    }
    // Clients list at their start, often before they can show anything to a person.
    if (!inputMethods.has(request.method)) return this.#answerWithPrompt(message, options, prompt)
    const end = await settledWithin(attempt.done, Infinity, {
      signal: options.signal,
      when: attempt.declined,
    })
    if (end === 'done') return this.#send(message, options, to.round + 1)
    return this.#answerWithPrompt(message, options, end === 'waiting' ? prompt : undefined)
  }

  /** A subscription is taken at once: the notice that somebody has signed in comes by it. */
  async #subscribeAfterSignIn(
    request: JsonRpcRequest,
    message: WireMessage,
    options: SendOptions,
  ): Promise<void> {
    const success = this.#signIns.success()
    this.#signIns.begin(false)
    await deliver(options, toWireMessage(subscriptionAcknowledged(request)))
    if ((await settledWithin(success, Infinity, { signal: options.signal })) !== 'done') return
    await this.#transport.send(message, {
      ...options,
      deliver: (sent) => (isAcknowledgement(sent) ? undefined : options.deliver(sent)),
    })
  }

  /** The client comes back with what it did about `input_required`. */
  async #resume(message: WireMessage, options: SendOptions): Promise<void> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const { requestState, inputResponses } = request.params ?? {}
    const attempt = typeof requestState === 'string' ? this.#inputStates.get(requestState) : undefined
    if (attempt === undefined) return this.#send(message, options, 0)
    const bare = toWireMessage(withoutSignInState(request))
    if (!isAccepted(isJsonObject(inputResponses) ? inputResponses[String(requestState)] : undefined)) {
      attempt.decline()
      return this.#answerWithPrompt(bare, options, await promptOf(attempt, 0, options.signal))
    }
    const end = await settledWithin(attempt.done, Infinity, { signal: options.signal })
    return end === 'done' ? this.#send(bare, options, 1) : this.#answerWithPrompt(bare, options, undefined)
  }

  /** What a client gets that cannot be asked to open a link. */
  async #answerWithPrompt(
    message: WireMessage,
    options: SendOptions,
    prompt: AuthorizationPrompt | undefined,
  ): Promise<void> {
    const { envelope } = message
    const method = envelope.kind === 'request' ? envelope.method : ''
    this.#offerSignInTool()
    if (method === 'tools/list') {
      return deliver(
        options,
        answerTo(message, toolsWithSignIn(this.#ports.memory()?.tools ?? [], this.#era)),
      )
    }
    const failure = this.#signIns.lastFailure()
    const said = failure === undefined ? undefined : this.#ports.describeFailure(failure).message
    const text = signInText(prompt, said, this.#toolName())
    if (method === 'tools/call') return deliver(options, answerTo(message, toolText(text, true, this.#era)))
    const described = this.#ports.describeFailure(new TransportError('sign_in_needed', text, { status: 401 }))
    const { id } = envelope as { id: string | number }
    const data = isJsonObject(described.data) ? described.data : {}
    const error = jsonRpcError(
      id,
      described.code,
      text,
      prompt === undefined ? data : { ...data, signIn: prompt },
    )
    return deliver(options, { ...toWireMessage(error), isStandIn: true })
  }

  /** From now on a call of that name is for us: the client was told of it, if only in the text of a failure. */
  #offerSignInTool(): void {
    this.#signInTool = this.#toolName()
    this.#ports.offered(this.#signInTool)
  }

  /** The tool that hands out the link. Calling it is a person's doing, so it may begin a sign-in at any time. */
  async #callSignInTool(message: WireMessage, options: SendOptions, isRefused: boolean): Promise<void> {
    const say = (text: string, isError: boolean): Promise<void> =>
      deliver(options, answerTo(message, toolText(text, isError, this.#era)))
    this.#offerSignInTool()
    const attempt =
      this.#signIns.pending() ??
      (isRefused || (await this.#isRefusedNow()) ? this.#signIns.begin(true) : undefined)
    if (attempt === undefined) return say('Signed in. The tools of the server can be used.', false)
    const { signal } = options
    const settling = attempt.wasShown
      ? settledWithin(attempt.done, this.#toolWaitMs, { signal })
      : attempt.settled(signal)
    if ((await settling) === 'done') return say('Signed in. The tools of the server can be used now.', false)
    if (this.#signIns.pending() !== attempt) {
      const { message: failure } = this.#ports.describeFailure(this.#signIns.lastFailure())
      return say(signInText(undefined, failure, this.#toolName()), true)
    }
    const prompt = await promptOf(attempt, promptWaitMs, signal)
    attempt.wasShown = prompt !== undefined
    return say(signInText(prompt, undefined, this.#toolName()), prompt === undefined)
  }

  /** A session that is missing may be missing only because nobody wanted it since somebody signed in. */
  async #isRefusedNow(): Promise<boolean> {
    if (this.#signIns.lastFailure() !== undefined) return true
    try {
      if (this.#opening.isMissing()) await this.#opening.made()
      return false
    } catch (error) {
      if (!isSignInNeeded(error)) throw error
      return true
    }
  }

  #isSignInTool(message: WireMessage): boolean {
    return (
      this.#signInTool !== undefined &&
      message.text.includes(this.#signInTool) &&
      toolNameOf(message) === this.#signInTool
    )
  }

  #request(message: WireMessage, method: string, options: SendOptions): Promise<void> {
    if (method === 'initialize' || method === 'server/discover') {
      if (method === 'initialize')
        this.#isUrlCapable = offersUrlElicitation(parseWireMessage(message) as JsonRpcRequest)
      return this.#opening.open(message, options)
    }
    if (method === 'tools/list') this.#signInTool = undefined
    if (method === 'tools/call' && this.#isSignInTool(message))
      return this.#callSignInTool(message, options, false)
    if (this.#inputStates.size > 0 && message.text.includes(signInStatePrefix))
      return this.#resume(message, options)
    if (this.#opening.isMissing()) return this.#send(message, options, 0)
    // Without a state machine in between: this is where all calls of a signed-in client go.
    return this.#transport.send(message, options).catch((error: unknown) => {
      if (!isSignInNeeded(error) || !this.#ports.canSignIn) throw error
      return this.#sendAfterSignIn(message, options, 0)
    })
  }

  /** Not every server lets notifications through that lets `initialize` through, and it waits for them later. */
  async #notify(message: WireMessage, options: SendOptions): Promise<void> {
    try {
      await this.#transport.send(message, options)
    } catch (error) {
      const attempt = isSignInNeeded(error) ? this.#signIns.begin(false) : undefined
      if (attempt === undefined) throw error
      await attempt.done
      await this.#transport.send(message, options)
    }
  }

  #answerElicitation(message: WireMessage, id: unknown, options: SendOptions): Promise<void> {
    const attempt = typeof id === 'string' ? this.#elicitations.get(id) : undefined
    if (attempt === undefined) return this.#transport.send(message, options)
    this.#elicitations.delete(String(id))
    const answer = parseJsonObject(message.text)
    if (!isAccepted(answer?.['result'])) attempt.decline()
    return Promise.resolve()
  }
}

async function deliver(options: SendOptions, message: WireMessage): Promise<void> {
  await options.deliver(message)
}

function toolNameOf(message: WireMessage): unknown {
  return (parseWireMessage(message) as JsonRpcRequest).params?.['name']
}

function isAcknowledgement({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === acknowledgedMethod
}
