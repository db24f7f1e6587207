import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcMessage, JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { cachedOpening, emptyList } from './cached-answer.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { Transport, SendOptions } from '../transport/transport.ts'
import { TransportError } from '../transport/transport.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { settledWithin } from '../transport/settled-within.ts'
import { isSignInNeeded } from './sign-in-attempt.ts'
import type { SignInAttempt, SignInPlace, SignIns } from './sign-in-attempt.ts'
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
import { createDeferredInitialize } from './deferred-initialize.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isAccepted, offersUrlElicitation } from './url-elicitation.ts'

/** Times in milliseconds. */
export interface AuthMiddlewareConfig {
  /** The era that this transport speaks. */
  era: McpEra
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
const placeWaitMs = 10_000

/**
 * A transport that does not fail when the server wants a sign-in. As a server itself might, it asks the client to open the link
 * (URL elicitation), or else answers with the link; requests go on when somebody has signed in. No request is held longer than
 * {@link SignInAttempt.settled} says, except a call for which the client has asked the person to open the link. The opening
 * request is answered in time from memory, and is made up for afterwards without the client.
 */
export function createAuthMiddleware(
  transport: Transport,
  config: AuthMiddlewareConfig,
  ports: AuthMiddlewarePorts,
): Transport {
  const { era } = config
  const { signIns } = ports
  const elicitations = new Map<string, SignInAttempt>()
  const states = new Map<string, SignInAttempt>()
  let ownTool: string | undefined
  let isUrlCapable = false
  const opening = createDeferredInitialize(transport, config, {
    signIns,
    canSignIn: ports.canSignIn,
    hasMemory: () => knownOpening(ports.memory()) !== undefined,
    standIn: (message) =>
      answerTo(message, cachedOpening(parseWireMessage(message) as JsonRpcRequest, ports.memory())),
  })

  /** Sends what a client would have sent now, once the session is there. */
  async function pass(message: WireMessage, options: SendOptions, round: number): Promise<void> {
    try {
      if (opening.isMissing()) {
        const pending = signIns.pending()
        if (pending !== undefined) return await meet(message, options, round)
        await opening.made()
      }
      return await transport.send(message, options)
    } catch (error) {
      if (!isSignInNeeded(error) || round >= maxRounds || !ports.canSignIn) throw error
      return meet(message, options, round)
    }
  }

  function toolName(): string {
    return signInToolName(ports.memory()?.tools ?? [])
  }

  /** A request that the server does not serve before somebody signs in. */
  async function meet(message: WireMessage, options: SendOptions, round: number): Promise<void> {
    const request = parseWireMessage(message) as JsonRpcRequest
    if (request.method === 'ping') return deliver(options, answerTo(message, {}))
    // A host may know the tool from an earlier start.
    if (request.method === 'tools/call' && request.params?.['name'] === toolName())
      return callOwnTool(message, options, true)
    if (request.method === 'subscriptions/listen') return listenLater(request, message, options)
    const empty = emptyList(request.method, era, ports.memory())
    if (empty !== undefined) return deliver(options, answerTo(message, empty))
    return wait(request, message, options, round)
  }

  /** Waits for the sign-in as long as this client can be made to, and goes on, or answers with what there is. */
  async function wait(
    request: JsonRpcRequest,
    message: WireMessage,
    options: SendOptions,
    round: number,
  ): Promise<void> {
    const attempt = signIns.begin(false)
    if (attempt === undefined) return refuse(message, options, undefined)
    const { signal } = options
    if ((await attempt.settled(signal)) === 'done') return pass(message, options, round + 1)
    if (signIns.pending() !== attempt) return refuse(message, options, undefined)
    const canElicit = era === 'legacy' ? isUrlCapable : offersUrlElicitation(request)
    // A call that is going to be held for a person anyway waits for the link, too.
    const placeMs = canElicit && inputMethods.has(request.method) ? placeWaitMs : 0
    const place = await placeOf(attempt, placeMs, signal)
    if (!canElicit || place === undefined) return refuse(message, options, place)
    return elicit(request, options, { attempt, place, round, message })
  }

  /** Asks the client to open the link, once for all requests, and holds this one if a person is behind it. */
  async function elicit(
    request: JsonRpcRequest,
    options: SendOptions,
    to: { attempt: SignInAttempt; place: SignInPlace; round: number; message: WireMessage },
  ): Promise<void> {
    const { attempt, place, message } = to
    if (!attempt.isElicited) {
      if (era === 'modern' && !inputMethods.has(request.method)) return refuse(message, options, place)
      attempt.isElicited = true
      const key = signInStatePrefix + attempt.id
      if (era === 'modern') {
        states.set(key, attempt)
        return deliver(options, answerTo(message, inputRequired(key, key, place)))
      }
      elicitations.set(key, attempt)
      await deliver(options, toWireMessage(elicitationRequest(key, key, place)))
      attempt.done.then(() => deliver(options, toWireMessage(elicitationComplete(key)))).catch(() => {})
    }
    // Clients list at their start, often before they can show anything to a person.
    if (!inputMethods.has(request.method)) return refuse(message, options, place)
    const end = await settledWithin(attempt.done, Infinity, {
      signal: options.signal,
      when: attempt.declined,
    })
    if (end === 'done') return pass(message, options, to.round + 1)
    return refuse(message, options, end === 'waiting' ? place : undefined)
  }

  /** A subscription is taken at once: the notice that somebody has signed in comes by it. */
  async function listenLater(
    request: JsonRpcRequest,
    message: WireMessage,
    options: SendOptions,
  ): Promise<void> {
    const success = signIns.success()
    signIns.begin(false)
    await deliver(options, toWireMessage(subscriptionAcknowledged(request)))
    if ((await settledWithin(success, Infinity, { signal: options.signal })) !== 'done') return
    await transport.send(message, {
      ...options,
      deliver: (sent) => (isAcknowledgement(sent) ? undefined : options.deliver(sent)),
    })
  }

  /** The client comes back with what it did about `input_required`. */
  async function resume(message: WireMessage, options: SendOptions): Promise<void> {
    const request = parseWireMessage(message) as JsonRpcRequest
    const { requestState, inputResponses } = request.params ?? {}
    const attempt = typeof requestState === 'string' ? states.get(requestState) : undefined
    if (attempt === undefined) return pass(message, options, 0)
    const bare = toWireMessage(withoutSignInState(request))
    if (!isAccepted(isJsonObject(inputResponses) ? inputResponses[String(requestState)] : undefined)) {
      attempt.decline()
      return refuse(bare, options, await placeOf(attempt, 0, options.signal))
    }
    const end = await settledWithin(attempt.done, Infinity, { signal: options.signal })
    return end === 'done' ? pass(bare, options, 1) : refuse(bare, options, undefined)
  }

  /** What a client gets that cannot be asked to open a link. */
  async function refuse(
    message: WireMessage,
    options: SendOptions,
    place: SignInPlace | undefined,
  ): Promise<void> {
    const { envelope } = message
    const method = envelope.kind === 'request' ? envelope.method : ''
    offerOwnTool()
    if (method === 'tools/list') {
      return deliver(options, answerTo(message, toolsWithSignIn(ports.memory()?.tools ?? [], era)))
    }
    const failure = signIns.lastFailure()
    const said = failure === undefined ? undefined : ports.describeFailure(failure).message
    const text = signInText(place, said, toolName())
    if (method === 'tools/call') return deliver(options, answerTo(message, toolText(text, true, era)))
    const described = ports.describeFailure(new TransportError('sign_in_needed', text, { status: 401 }))
    const { id } = envelope as { id: string | number }
    const data = isJsonObject(described.data) ? described.data : {}
    const error = jsonRpcError(
      id,
      described.code,
      text,
      place === undefined ? data : { ...data, signIn: place },
    )
    return deliver(options, { ...toWireMessage(error), isStandIn: true })
  }

  /** From now on a call of that name is for us: the client was told of it, if only in the text of a failure. */
  function offerOwnTool(): void {
    ownTool = toolName()
    ports.offered(ownTool)
  }

  /** The tool that hands out the link. Calling it is a person's doing, so it may begin a sign-in at any time. */
  async function callOwnTool(message: WireMessage, options: SendOptions, isRefused: boolean): Promise<void> {
    const say = (text: string, isError: boolean): Promise<void> =>
      deliver(options, answerTo(message, toolText(text, isError, era)))
    offerOwnTool()
    const attempt =
      signIns.pending() ?? (isRefused || (await isRefusedNow()) ? signIns.begin(true) : undefined)
    if (attempt === undefined) return say('Signed in. The tools of the server can be used.', false)
    const { signal } = options
    const settling = attempt.isHandedOut
      ? settledWithin(attempt.done, config.toolWaitMs, { signal })
      : attempt.settled(signal)
    if ((await settling) === 'done') return say('Signed in. The tools of the server can be used now.', false)
    if (signIns.pending() !== attempt) {
      const { message: failure } = ports.describeFailure(signIns.lastFailure())
      return say(signInText(undefined, failure, toolName()), true)
    }
    const place = await placeOf(attempt, placeWaitMs, signal)
    attempt.isHandedOut = place !== undefined
    return say(signInText(place, undefined, toolName()), place === undefined)
  }

  /** A session that is missing may be missing only because nobody wanted it since somebody signed in. */
  async function isRefusedNow(): Promise<boolean> {
    if (signIns.lastFailure() !== undefined) return true
    try {
      if (opening.isMissing()) await opening.made()
      return false
    } catch (error) {
      if (!isSignInNeeded(error)) throw error
      return true
    }
  }

  function isOwnTool(message: WireMessage): boolean {
    return ownTool !== undefined && message.text.includes(ownTool) && toolNameOf(message) === ownTool
  }

  function request(message: WireMessage, method: string, options: SendOptions): Promise<void> {
    if (method === 'initialize' || method === 'server/discover') {
      if (method === 'initialize')
        isUrlCapable = offersUrlElicitation(parseWireMessage(message) as JsonRpcRequest)
      return opening.open(message, options)
    }
    if (method === 'tools/list') ownTool = undefined
    if (method === 'tools/call' && isOwnTool(message)) return callOwnTool(message, options, false)
    if (states.size > 0 && message.text.includes(signInStatePrefix)) return resume(message, options)
    if (opening.isMissing()) return pass(message, options, 0)
    // Without a state machine in between: this is where all calls of a signed-in client go.
    return transport.send(message, options).catch((error: unknown) => {
      if (!isSignInNeeded(error) || !ports.canSignIn) throw error
      return meet(message, options, 0)
    })
  }

  /** Not every server lets notifications through that lets `initialize` through, and it waits for them later. */
  async function notify(message: WireMessage, options: SendOptions): Promise<void> {
    try {
      await transport.send(message, options)
    } catch (error) {
      const attempt = isSignInNeeded(error) ? signIns.begin(false) : undefined
      if (attempt === undefined) throw error
      await attempt.done
      await transport.send(message, options)
    }
  }

  function response(message: WireMessage, id: unknown, options: SendOptions): Promise<void> {
    const attempt = typeof id === 'string' ? elicitations.get(id) : undefined
    if (attempt === undefined) return transport.send(message, options)
    elicitations.delete(String(id))
    const answer = parseJsonObject(message.text)
    if (!isAccepted(answer?.['result'])) attempt.decline()
    return Promise.resolve()
  }

  return {
    send(message, options) {
      const { envelope } = message
      switch (envelope.kind) {
        case 'request':
          return request(message, envelope.method, options)
        case 'response':
          return elicitations.size > 0
            ? response(message, envelope.id, options)
            : transport.send(message, options)
        default:
          return opening.isMissing() ? opening.later(message) : notify(message, options)
      }
    },
    close(graceMs) {
      opening.close()
      return transport.close(graceMs)
    },
  }
}

async function deliver(options: SendOptions, message: WireMessage): Promise<void> {
  await options.deliver(message)
}

function answerTo(message: WireMessage, result: JsonObject): WireMessage {
  const { envelope } = message
  const id = envelope.kind === 'request' ? envelope.id : ''
  return { ...toWireMessage({ jsonrpc: '2.0', id, result } satisfies JsonRpcMessage), isStandIn: true }
}

async function placeOf(
  attempt: SignInAttempt,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<SignInPlace | undefined> {
  const end = await settledWithin(attempt.place, waitMs, { signal, when: attempt.done })
  return end === 'done' ? attempt.place : undefined
}

function knownOpening(memory: ServerMemory | undefined): JsonObject | undefined {
  return memory?.initializeResult ?? memory?.discoverResult
}

function toolNameOf(message: WireMessage): unknown {
  return (parseWireMessage(message) as JsonRpcRequest).params?.['name']
}

function isAcknowledgement({ envelope }: WireMessage): boolean {
  return envelope.kind === 'notification' && envelope.method === acknowledgedMethod
}
