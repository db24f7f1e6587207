import type { JsonRpcId, JsonRpcNotification } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { NetworkError } from '../http/http-client.ts'
import { createAdaptedConnection } from './adapted-connection.ts'
import type { AdaptedConnection } from './adapted-connection.ts'
import { askDiscover } from './discover-question.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import {
  answeredError,
  assumedEra,
  eraByDiscoverAnswer,
  eraByModernFailure,
  mayBeModern,
} from '../transport/revision-detection.ts'
import type { PendingRequest, PendingRequests } from './pending-requests.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import { claimsOf } from './client-state.ts'
import type { ClientState } from './client-state.ts'
import type { ClientConnection } from './client-connection.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { isRepeatable } from '../transport/retry.ts'
import { TransportError } from '../transport/transport.ts'
import type { TransportPorts } from '../transport/transport.ts'
import type { ServerTransports } from './server-transports.ts'
import type { SignIns } from '../sign-in/sign-in-attempt.ts'
import { withoutSignInState } from '../sign-in/authorization-prompt.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** The server, whatever era it speaks. */
export interface ServerConnection {
  /** Sees to it that the call is answered. Never throws. */
  request(call: PendingRequest): void
  /**
   * Passes a notification or a response of the client on, if the server has a use for it. `over` is called when the server has
   * it, or never will.
   */
  pass(message: WireMessage, era: McpEra, over?: () => void): void
  /**
   * Sees to it that a call is answered whose connection is gone: asks the same again if it may reach the server twice. False
   * if nothing can be done.
   */
  repeat(call: PendingRequest): boolean
  /** Opens the streams again that this side keeps open. `answered`: the server has just answered a ping. */
  reopen(answered: boolean): void
  /** The client does not want the answer of this call any more; it is out of the in-flight calls already. */
  cancel(call: PendingRequest, message: WireMessage): void
  /**
   * Resolves when the server answers anything at all, rejects when it does not. `asked` is called when the question goes
   * out: to wait for a token says nothing about the server.
   */
  ping(signal: AbortSignal, asked: () => void): Promise<void>
  /** Whether anything was asked of the server yet. */
  isOpen(): boolean
  /** An answer was seen that only this era has. */
  proved(era: McpEra): void
  close(graceMs: number): Promise<void>
}

/** What the connection is between. */
export interface ServerConnectionPorts {
  transports: ServerTransports
  local: ClientConnection
  pendingRequests: PendingRequests
  client: ClientState
  remembered: RememberedServer
  signIns: SignIns
  authorization: TransportPorts['authorization']
  runtime: Runtime
  describeFailure: DescribeFailure
  warn(text: string): void
  note(text: string): void
  randomId(): string
}

/**
 * Assumes an era for the server (see {@link assumedEra}) and holds on to it until the first answer proves or refutes it.
 * Refuted, it carries the calls in the other era; that happens once, and what then fails too is told to the client.
 */
export function createServerConnection(pin: 'auto' | McpEra, ports: ServerConnectionPorts): ServerConnection {
  const { transports, local, pendingRequests, client, remembered, note } = ports
  const direct = { modern: {}, legacy: {} }
  let era: McpEra | undefined
  let isProven = pin !== 'auto'
  let isTurned = false
  let hasAsked = false
  /** Refuted; worth remembering once the other era is proven. */
  let lacking: McpEra | undefined
  let adapted: AdaptedConnection | undefined
  /** These still answer the calls that they have. */
  const abandoned = new Set<AdaptedConnection>()
  /** Pending while a session is opened in the name of a client that believes it has one. */
  let replaying: Promise<void> | undefined

  function transportFor(to: McpEra): ReturnType<ServerTransports['modern']> {
    return to === 'modern' ? transports.modern() : transports.legacy()
  }

  function request(call: PendingRequest): void {
    const to = (era ??= assumedEra(call.era, pin, remembered.known(), ports.runtime.now()))
    if (to !== call.era) return cross(call, to)
    call.handler = direct[to]
    if (!isProven) requestUnproven(call, to).catch((error: unknown) => local.fail(call, error))
    else if (replaying === undefined) send(call, to)
    else void replaying.then(() => send(call, to))
  }

  function send(call: PendingRequest, to: McpEra): void {
    transportFor(to)
      .transport.send(call.wire, {
        signal: call.abort.signal,
        deliver: (message) => local.forCall(call, message),
      })
      .then(
        () => unanswered(call),
        (error: unknown) => local.fail(call, error),
      )
  }

  function unanswered(call: PendingRequest): void {
    if (pendingRequests.isOpen(call))
      local.fail(call, new TransportError('lost', 'The server ended without an answer.'))
  }

  /** Like {@link send}, but holds an error back until it is clear that it is not about the era. */
  async function requestUnproven(call: PendingRequest, to: McpEra): Promise<void> {
    await replaying
    const isFirst = !hasAsked
    hasAsked = true
    if (
      isFirst &&
      to === 'modern' &&
      call.method !== 'server/discover' &&
      remembered.known()?.era !== 'modern'
    ) {
      const found = await ask(call, false)
      if (found === 'legacy' && turnTo('legacy')) return request(call)
    }
    let withheld: WireMessage | undefined
    let isServers = false
    try {
      await transportFor(to).transport.send(call.wire, {
        signal: call.abort.signal,
        deliver(message) {
          const { envelope, isStandIn } = message
          if (envelope.kind !== 'response' || isStandIn) return local.forCall(call, message)
          const isOld = call.method === 'server/discover' && eraByDiscoverAnswer(message) === 'legacy'
          if (envelope.isError || (to === 'modern' && isOld)) withheld = message
          else {
            isServers = true
            return local.forCall(call, message)
          }
        },
      })
    } catch (failure) {
      return refuted(call, to, failure, () => local.fail(call, failure))
    }
    if (withheld === undefined) {
      if (isServers) proved(to)
      return unanswered(call)
    }
    const answer = withheld
    return refuted(call, to, answeredError(answer), () => void local.forCall(call, answer))
  }

  /** Decides what a failure says about the era, and either carries the call in the other one or lets it fail. */
  async function refuted(
    call: PendingRequest,
    to: McpEra,
    failure: unknown,
    fail: () => void,
  ): Promise<void> {
    const found = await eraBy(call, to, failure)
    if (found === to) isProven = true
    else if (found !== undefined && (era === found || turnTo(found))) return request(call)
    fail()
    if (!isProven) forget()
  }

  async function eraBy(call: PendingRequest, to: McpEra, failure: unknown): Promise<McpEra | undefined> {
    if (to === 'legacy') {
      if (!mayBeModern(failure)) return undefined
      return (await ask(call, true)) === 'modern' ? 'modern' : undefined
    }
    const found = eraByModernFailure(failure, call.method)
    const answer = failure instanceof TransportError ? failure.response : undefined
    if (call.method !== 'server/discover' || found !== 'modern' || answer === undefined) return found
    // -32602 may be a server of the 2025 era that does not know the method, or one that minds what the client sent.
    return eraByDiscoverAnswer(answer) === 'modern' ? 'modern' : ask(call, true)
  }

  function ask(call: PendingRequest | undefined, mayWait: boolean): Promise<McpEra | undefined> {
    return askDiscover(call, mayWait, { ...ports, transport: transports.modern().bare })
  }

  /** False if the other era was tried already. */
  function turnTo(to: McpEra): boolean {
    if (isTurned || isProven) return false
    note(`the server does not speak the ${era ?? ''} era`)
    isTurned = true
    isProven = to === 'modern'
    era = to
    lacking = to === 'modern' ? 'legacy' : 'modern'
    if (isProven) remembered.learn({ lacks: { era: lacking, at: ports.runtime.now() } })
    const left = adapted
    adapted = undefined
    if (to === 'legacy') replay()
    if (left === undefined) return true
    left.isVoid = true
    void left.adapter.close()
    for (const call of pendingRequests.calls()) if (call.handler === left) request(call)
    return true
  }

  /** All that was assumed was wrong, or the server is ill: the next call begins anew. */
  function forget(): void {
    era = undefined
    isTurned = false
    for (const left of abandoned) if (!isCarrying(left)) drop(left)
    if (adapted !== undefined) abandoned.add(adapted)
    adapted = undefined
  }

  function isCarrying(left: AdaptedConnection): boolean {
    return [...pendingRequests.calls()].some((call) => call.handler === left)
  }

  function drop(left: AdaptedConnection): void {
    abandoned.delete(left)
    void left.adapter.close()
  }

  /** Opens a session for a client that was told long ago that it has one. */
  function replay(): void {
    const { initialize, initialized } = client
    if (initialize === undefined || pendingRequests.get(initialize.id) !== undefined) return
    const { transport } = transports.legacy()
    const opened = transport
      .send(initialize.message, { deliver() {} })
      .then(() => (initialized === undefined ? undefined : transport.send(initialized, { deliver() {} })))
      .catch(() => note('a session could not be opened silently'))
      .finally(() => (replaying = undefined))
    replaying = opened
  }

  function cross(call: PendingRequest, to: McpEra): void {
    adapted ??= createAdaptedConnection(to, {
      ...ports,
      doubt: {
        isOpen: () => !isProven,
        proved,
        refuted: (as) => turnTo(as),
        ask: () => ask(undefined, true),
        forget,
      },
    })
    call.handler = adapted
    void adapted.adapter.receive(withoutSignInState(parseWireMessage(call.wire)))
  }

  /** A subscription of a client is kept by the adapter, or it ends: the client has to know that it may have missed something. */
  function repeat(call: PendingRequest): boolean {
    const { handler } = call
    // What still waits for its turn has no connection.
    if (handler === undefined) return true
    const isAdapted = handler === adapted
    if (isSubscription(call)) return isAdapted
    if (openings.has(call.method) || !isRepeatable(call.wire.envelope)) return false
    pendingRequests.settle(call)
    const again = pendingRequests.open(call.id, call.method, call.era, call.wire)
    if (again === undefined) return false
    if (isAdapted) void adapted?.adapter.receive(cancelledNotice(call.id))
    call.abort.abort()
    request(again)
    return true
  }

  function proved(seen: McpEra): void {
    if (era !== seen || isProven) return
    isProven = true
    if (lacking !== undefined) remembered.learn({ era, lacks: { era: lacking, at: ports.runtime.now() } })
  }

  return {
    request,
    pass(message, from, over = () => {}) {
      // Without an era there was a failure; a transport that opens its session later keeps what belongs before that.
      const to = era ?? from
      if (to !== from) {
        void adapted?.adapter.receive(parseWireMessage(message))
        over()
      } else
        transportFor(to)
          .transport.send(message, { deliver() {} })
          .catch(() => note('the server did not take a message'))
          .finally(over)
    },
    repeat,
    reopen(answered) {
      transports.reopen(answered)
      adapted?.adapter.reopen()
    },
    cancel(call, message) {
      if (call.handler === direct.legacy) {
        transports
          .legacy()
          .transport.send(message, { deliver() {} })
          .catch(() => {})
          .finally(() => call.abort.abort())
      } else if (call.handler === direct.modern) call.abort.abort()
      else if (call.handler === adapted) void adapted?.adapter.receive(parseWireMessage(message))
    },
    async ping(signal, asked) {
      await ports.authorization(signal).catch(() => {})
      asked()
      const isModern = era === 'modern'
      const question = isModern
        ? { method: 'server/discover', params: { _meta: claimsOf(client, undefined) } }
        : { method: 'ping' }
      const { bare } = isModern ? transports.modern() : transports.latestLegacy()
      const message = toWireMessage({ jsonrpc: '2.0', id: ports.randomId(), ...question })
      await bare.send(message, { signal, deliver() {} }).catch((error: unknown) => {
        if (error instanceof NetworkError) throw error
      })
    },
    isOpen: () => era !== undefined,
    proved,
    async close(graceMs) {
      if (adapted !== undefined) abandoned.add(adapted)
      const closing = [...abandoned].map(({ adapter }) => adapter.close())
      await Promise.all([...closing, transports.close(graceMs)])
    },
  }
}

/** What goes with them, such as a session or what is waiting for it, does not begin a second time by itself. */
const openings: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

function cancelledNotice(requestId: JsonRpcId): JsonRpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
}
