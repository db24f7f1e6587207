import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseWireMessage, toWireMessage } from './envelope.ts'
import { assumedEra, eraByDiscoverAnswer, eraByModernFailure, mayBeModern } from './era-detection.ts'
import type { CallInFlight, InFlight } from './in-flight.ts'
import { createLegacyToModern } from './legacy-to-modern.ts'
import { claimsOf } from './local-client.ts'
import type { LocalClient } from './local-client.ts'
import type { LocalEnd } from './local-end.ts'
import { createModernToLegacy } from './modern-to-legacy.ts'
import type { RememberedServer } from './remembered-server.ts'
import { RemoteError } from './remote-leg.ts'
import type { RemoteLegs } from './remote-legs.ts'
import { settledWithin } from './settled-within.ts'
import { isSignInNeeded } from './sign-in-attempt.ts'
import type { SignIns } from './sign-in-attempt.ts'
import { createModernServer, openLegacySession } from './translated-server.ts'
import type { DescribeFailure, LegacyServer, LocalPeer, ModernServer, Translator } from './translator.ts'
import type { WireMessage } from './wire-message.ts'

/** The server, whatever era it speaks. */
export interface RemoteConnection {
  /** Sees to it that the call is answered. Never throws. */
  request(call: CallInFlight): void
  /** Passes a notification or a response of the client on, if the server has a use for it. */
  pass(message: WireMessage, era: McpEra): void
  /** The client does not want the answer of this call any more; it is out of the in-flight calls already. */
  cancel(call: CallInFlight, message: WireMessage): void
  /** Resolves when the server answers anything at all, rejects when it does not. */
  ping(signal: AbortSignal): Promise<void>
  /** An answer was seen that only the assumed era has. */
  proved(): void
  close(graceMs: number): Promise<void>
}

/** What the connection is between. */
export interface RemoteConnectionPorts {
  legs: RemoteLegs
  local: LocalEnd
  inFlight: InFlight
  client: LocalClient
  remembered: RememberedServer
  signIns: SignIns
  runtime: Runtime
  describeFailure: DescribeFailure
  warn(text: string): void
  note(text: string): void
  randomId(): string
}

/** Carries the calls of one local era to a server of the other. */
interface Crossing {
  readonly translator: Translator
  /** The era of the server turned out to be another: what it still says is void. */
  isVoid: boolean
}

/**
 * Assumes an era for the server (see {@link assumedEra}) and holds on to it until the first answer proves or refutes it.
 * Refuted, it carries the calls in the other era; that happens once, and what then fails too is told to the client.
 */
export function createRemoteConnection(pin: 'auto' | McpEra, ports: RemoteConnectionPorts): RemoteConnection {
  const { legs, local, inFlight, client, remembered, note } = ports
  const direct = { modern: {}, legacy: {} }
  let era: McpEra | undefined
  let isProven = pin !== 'auto'
  let isTurned = false
  let crossing: Crossing | undefined
  /** These still answer the calls that they have. */
  const abandoned: Crossing[] = []
  /** Pending while a session is opened in the name of a client that believes it has one. */
  let replaying: Promise<void> | undefined

  function legFor(to: McpEra): ReturnType<RemoteLegs['modern']> {
    return to === 'modern' ? legs.modern() : legs.legacy()
  }

  function request(call: CallInFlight): void {
    const to = (era ??= assumedEra(call.era, pin, remembered.known(), ports.runtime.now()))
    if (to !== call.era) return cross(call, to)
    call.carrier = direct[to]
    if (!isProven) void requestUnproven(call, to)
    else if (replaying === undefined) send(call, to)
    else void replaying.then(() => send(call, to))
  }

  function send(call: CallInFlight, to: McpEra): void {
    legFor(to)
      .leg.send(call.wire, {
        signal: call.abort.signal,
        deliver: (message) => local.forCall(call, message),
      })
      .then(
        () => unanswered(call),
        (error: unknown) => local.fail(call, error),
      )
  }

  function unanswered(call: CallInFlight): void {
    if (inFlight.isOpen(call)) local.fail(call, new RemoteError('lost', 'The server ended without an answer.'))
  }

  /** Like {@link send}, but holds an error back until it is clear that it is not about the era. */
  async function requestUnproven(call: CallInFlight, to: McpEra): Promise<void> {
    await replaying
    if (to === 'modern' && call.method !== 'server/discover' && remembered.known()?.era !== 'modern') {
      const found = await askDiscover(call)
      if (found === 'legacy' && turnTo('legacy')) return request(call)
    }
    let error: WireMessage | undefined
    try {
      await legFor(to).leg.send(call.wire, {
        signal: call.abort.signal,
        deliver(message) {
          const { envelope } = message
          if (envelope.kind !== 'response' || !envelope.isError) return local.forCall(call, message)
          error = message
        },
      })
    } catch (failure) {
      return refuted(call, to, failure, () => local.fail(call, failure))
    }
    if (error === undefined) {
      // Unless it was us who answered: an answer that this era is understood in.
      if (ports.signIns.pending() === undefined && ports.signIns.lastFailure() === undefined) proved()
      return unanswered(call)
    }
    const answer = error
    const failure = new RemoteError('refused', 'The server answered with an error.', { response: answer })
    return refuted(call, to, failure, () => void local.forCall(call, answer))
  }

  /** Decides what a failure says about the era, and either carries the call in the other one or lets it fail. */
  async function refuted(call: CallInFlight, to: McpEra, failure: unknown, fail: () => void): Promise<void> {
    const found = await eraBy(call, to, failure)
    if (found === to) isProven = true
    else if (found !== undefined && (era === found || turnTo(found))) return request(call)
    fail()
    if (!isProven) forget()
  }

  async function eraBy(call: CallInFlight, to: McpEra, failure: unknown): Promise<McpEra | undefined> {
    if (to === 'legacy') {
      if (!mayBeModern(failure)) return undefined
      return (await askDiscover(call)) === 'modern' ? 'modern' : undefined
    }
    const found = eraByModernFailure(failure, call.method)
    const answer = failure instanceof RemoteError ? failure.response : undefined
    if (call.method !== 'server/discover' || found !== 'modern' || answer === undefined) return found
    // -32602 may be a server of the 2025 era that does not know the method, or one that minds what the client sent.
    return eraByDiscoverAnswer(answer) === 'modern' ? 'modern' : askDiscover(call)
  }

  /** Asks in the newer era, in the name of the client. Undefined: no evidence. */
  async function askDiscover(call: CallInFlight): Promise<McpEra | undefined> {
    const params = { _meta: claimsOf(client, call.era === 'modern' ? call.wire : undefined) }
    const question = toWireMessage({
      jsonrpc: '2.0',
      id: ports.randomId(),
      method: 'server/discover',
      params,
    })
    let found: McpEra | undefined
    const options = {
      signal: call.abort.signal,
      deliver(answer: WireMessage) {
        if (answer.envelope.kind === 'response') found = eraByDiscoverAnswer(answer)
      },
    }
    for (;;) {
      try {
        await legs.modern().bare.send(question, options)
        return found
      } catch (error) {
        // A refusal is no evidence: an era that is judged by it would be judged wrongly for good.
        const attempt = isSignInNeeded(error) ? ports.signIns.begin(false) : undefined
        if (attempt === undefined) return eraByModernFailure(error, 'server/discover')
        const end = await settledWithin(attempt.done, Infinity, { signal: call.abort.signal })
        if (end !== 'done') return undefined
      }
    }
  }

  /** False if the other era was tried already. */
  function turnTo(to: McpEra): boolean {
    if (isTurned || isProven) return false
    note(`the server does not speak the ${era ?? ''} era`)
    isTurned = true
    isProven = to === 'modern'
    era = to
    remembered.learn({ without: to === 'modern' ? 'legacy' : 'modern' })
    const left = crossing
    crossing = undefined
    if (to === 'legacy') replay()
    if (left === undefined) return true
    left.isVoid = true
    void left.translator.close()
    for (const call of [...inFlight.calls()]) if (call.carrier === left) request(call)
    return true
  }

  /** All that was assumed was wrong, or the server is ill: the next call begins anew. */
  function forget(): void {
    era = undefined
    isTurned = false
    if (crossing !== undefined) abandoned.push(crossing)
    crossing = undefined
  }

  /** Opens a session for a client that was told long ago that it has one. */
  function replay(): void {
    const { initialize, initialized } = client
    if (initialize === undefined || inFlight.get(initialize.id) !== undefined) return
    const { leg } = legs.legacy()
    const opened = leg
      .send(initialize.message, { deliver() {} })
      .then(() => (initialized === undefined ? undefined : leg.send(initialized, { deliver() {} })))
      .catch(() => note('a session could not be opened silently'))
      .finally(() => (replaying = undefined))
    replaying = opened
  }

  function cross(call: CallInFlight, to: McpEra): void {
    crossing ??= createCrossing(to)
    call.carrier = crossing
    void crossing.translator.take(parseWireMessage(call.wire))
  }

  function createCrossing(to: McpEra): Crossing {
    const { runtime, describeFailure, warn } = ports
    const shared = { local: peerOf(() => made), runtime, describeFailure, warn }
    const made: Crossing = { translator: to === 'modern' ? toModern() : toLegacy(), isVoid: false }
    return made

    function toModern(): Translator {
      const discovered = remembered.known()?.discoverResult
      const server = provingServer(() => made)
      const translator = createLegacyToModern({ ...shared, server, ...(discovered && { discovered }) })
      const { initialize, initialized } = client
      const isOver = initialize !== undefined && inFlight.get(initialize.id) === undefined
      if (isOver) void translator.take(parseWireMessage(initialize.message))
      if (isOver && initialized !== undefined) void translator.take(parseWireMessage(initialized))
      return translator
    }

    function toLegacy(): Translator {
      return createModernToLegacy({ ...shared, server: provingSessions(() => made) })
    }
  }

  function peerOf(crossing: () => Crossing): LocalPeer {
    return {
      async send(message) {
        if (crossing().isVoid) return
        const wire = toWireMessage(message)
        const { envelope } = wire
        if (envelope.kind !== 'response') return local.unsolicited(wire)
        const call = inFlight.get(envelope.id)
        if (call?.carrier === crossing()) await local.forCall(call, wire)
      },
    }
  }

  function provingServer(crossing: () => Crossing): ModernServer {
    const server = createModernServer(legs.modern().leg)
    return {
      async request(message, options) {
        const seen = (found: McpEra | undefined): void => {
          if (found === 'modern') proved()
          else if (found === 'legacy' && !crossing().isVoid) turnTo('legacy')
        }
        try {
          const response = await server.request(message, options)
          if (!isProven && message.method === 'server/discover') seen(eraByDiscoverAnswer(toWireMessage(response)))
          else if ('result' in response && isJsonObject(response.result) && 'resultType' in response.result)
            proved()
          return response
        } catch (error) {
          if (!isProven) seen(eraByModernFailure(error, message.method))
          throw error
        }
      },
    }
  }

  function provingSessions(crossing: () => Crossing): LegacyServer {
    return {
      async open(params, onMessage) {
        const { leg } = legs.legacySession((message) => takeUnsolicited(message, onMessage))
        const initialize = { jsonrpc: '2.0' as const, id: ports.randomId(), method: 'initialize', params }
        try {
          return await openLegacySession(leg, initialize)
        } catch (error) {
          await leg.close(0)
          if (!isProven && mayBeModern(error) && !crossing().isVoid && !turnTo('modern')) forget()
          throw error
        }
      },
    }
  }

  function proved(): void {
    isProven = true
  }

  return {
    request,
    pass(message, from) {
      if (era === undefined) return
      if (era !== from) void crossing?.translator.take(parseWireMessage(message))
      else legFor(era).leg.send(message, { deliver() {} }).catch(() => note('the server did not take a message'))
    },
    cancel(call, message) {
      if (call.carrier === direct.legacy) {
        legs
          .legacy()
          .leg.send(message, { deliver() {} })
          .catch(() => {})
          .finally(() => call.abort.abort())
      } else if (call.carrier === direct.modern) call.abort.abort()
      else if (call.carrier === crossing) void crossing?.translator.take(parseWireMessage(message))
    },
    async ping(signal) {
      const isModern = era === 'modern'
      const question = isModern
        ? { method: 'server/discover', params: { _meta: claimsOf(client, undefined) } }
        : { method: 'ping' }
      const { bare } = isModern ? legs.modern() : legs.latestLegacy()
      const message = toWireMessage({ jsonrpc: '2.0', id: ports.randomId(), ...question })
      await bare.send(message, { signal, deliver() {} }).catch((error: unknown) => {
        if (!(error instanceof RemoteError)) throw error
      })
    },
    proved,
    async close(graceMs) {
      const crossings = crossing === undefined ? abandoned : [...abandoned, crossing]
      await Promise.all([...crossings.map(({ translator }) => translator.close()), legs.close(graceMs)])
    },
  }
}

function takeUnsolicited(
  message: WireMessage,
  onMessage: (message: JsonRpcMessage) => void | Promise<void>,
): void | Promise<void> {
  const { kind } = message.envelope
  if (kind === 'request' || kind === 'notification') return onMessage(parseWireMessage(message))
}
