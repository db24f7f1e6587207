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
export class ServerConnection {
  readonly #pin: 'auto' | McpEra
  readonly #ports: ServerConnectionPorts
  readonly #direct = { modern: {}, legacy: {} }
  #era: McpEra | undefined
  #isProven: boolean
  #hasSwitched = false
  #hasAsked = false
  /** Refuted; worth remembering once the other era is proven. */
  #lacking: McpEra | undefined
  #adapted: AdaptedConnection | undefined
  /** These still answer the calls that they have. */
  readonly #abandoned = new Set<AdaptedConnection>()
  /** Pending while a session is opened in the name of a client that believes it has one. */
  #replaying: Promise<void> | undefined

  constructor(pin: 'auto' | McpEra, ports: ServerConnectionPorts) {
    this.#pin = pin
    this.#ports = ports
    this.#isProven = pin !== 'auto'
  }

  #transportFor(to: McpEra): ReturnType<ServerTransports['modern']> {
    return to === 'modern' ? this.#ports.transports.modern() : this.#ports.transports.legacy()
  }

  /** Sees to it that the call is answered. Never throws. */
  request(call: PendingRequest): void {
    const to = (this.#era ??= assumedEra(
      call.era,
      this.#pin,
      this.#ports.remembered.known(),
      this.#ports.runtime.now(),
    ))
    if (to !== call.era) return this.#requestAdapted(call, to)
    call.handler = this.#direct[to]
    if (!this.#isProven)
      this.#requestUnproven(call, to).catch((error: unknown) => this.#ports.local.fail(call, error))
    else if (this.#replaying === undefined) this.#send(call, to)
    else void this.#replaying.then(() => this.#send(call, to))
  }

  #send(call: PendingRequest, to: McpEra): void {
    this.#transportFor(to)
      .transport.send(call.wire, {
        signal: call.abort.signal,
        deliver: (message) => this.#ports.local.forCall(call, message),
      })
      .then(
        () => this.#unanswered(call),
        (error: unknown) => this.#ports.local.fail(call, error),
      )
  }

  #unanswered(call: PendingRequest): void {
    if (this.#ports.pendingRequests.isOpen(call))
      this.#ports.local.fail(call, new TransportError('lost', 'The server ended without an answer.'))
  }

  /** Like {@link send}, but holds an error back until it is clear that it is not about the era. */
  async #requestUnproven(call: PendingRequest, to: McpEra): Promise<void> {
    await this.#replaying
    const isFirst = !this.#hasAsked
    this.#hasAsked = true
    if (
      isFirst &&
      to === 'modern' &&
      call.method !== 'server/discover' &&
      this.#ports.remembered.known()?.era !== 'modern'
    ) {
      const found = await this.#askDiscover(call, false)
      if (found === 'legacy' && this.#switchTo('legacy')) return this.request(call)
    }
    let withheld: WireMessage | undefined
    let isServers = false
    try {
      await this.#transportFor(to).transport.send(call.wire, {
        signal: call.abort.signal,
        deliver: (message) => {
          const { envelope, isStandIn } = message
          if (envelope.kind !== 'response' || isStandIn) return this.#ports.local.forCall(call, message)
          const isOld = call.method === 'server/discover' && eraByDiscoverAnswer(message) === 'legacy'
          if (envelope.isError || (to === 'modern' && isOld)) withheld = message
          else {
            isServers = true
            return this.#ports.local.forCall(call, message)
          }
        },
      })
    } catch (failure) {
      return this.#refuted(call, to, failure, () => this.#ports.local.fail(call, failure))
    }
    if (withheld === undefined) {
      if (isServers) this.proved(to)
      return this.#unanswered(call)
    }
    const answer = withheld
    return this.#refuted(call, to, answeredError(answer), () => void this.#ports.local.forCall(call, answer))
  }

  /** Decides what a failure says about the era, and either carries the call in the other one or lets it fail. */
  async #refuted(call: PendingRequest, to: McpEra, failure: unknown, fail: () => void): Promise<void> {
    const found = await this.#eraBy(call, to, failure)
    if (found === to) this.#isProven = true
    else if (found !== undefined && (this.#era === found || this.#switchTo(found))) return this.request(call)
    fail()
    if (!this.#isProven) this.#forget()
  }

  async #eraBy(call: PendingRequest, to: McpEra, failure: unknown): Promise<McpEra | undefined> {
    if (to === 'legacy') {
      if (!mayBeModern(failure)) return undefined
      return (await this.#askDiscover(call, true)) === 'modern' ? 'modern' : undefined
    }
    const found = eraByModernFailure(failure, call.method)
    const answer = failure instanceof TransportError ? failure.response : undefined
    if (call.method !== 'server/discover' || found !== 'modern' || answer === undefined) return found
    // -32602 may be a server of the 2025 era that does not know the method, or one that minds what the client sent.
    return eraByDiscoverAnswer(answer) === 'modern' ? 'modern' : this.#askDiscover(call, true)
  }

  #askDiscover(call: PendingRequest | undefined, mayWait: boolean): Promise<McpEra | undefined> {
    return askDiscover(call, mayWait, { ...this.#ports, transport: this.#ports.transports.modern().bare })
  }

  /** False if the other era was tried already. */
  #switchTo(to: McpEra): boolean {
    if (this.#hasSwitched || this.#isProven) return false
    this.#ports.note(`the server does not speak the ${this.#era ?? ''} this.#era`)
    this.#hasSwitched = true
    this.#isProven = to === 'modern'
    this.#era = to
    this.#lacking = to === 'modern' ? 'legacy' : 'modern'
    if (this.#isProven)
      this.#ports.remembered.learn({ lacks: { era: this.#lacking, at: this.#ports.runtime.now() } })
    const left = this.#adapted
    this.#adapted = undefined
    if (to === 'legacy') this.#replayInitialize()
    if (left === undefined) return true
    left.isVoid = true
    void left.adapter.close()
    for (const call of this.#ports.pendingRequests.calls()) if (call.handler === left) this.request(call)
    return true
  }

  /** All that was assumed was wrong, or the server is ill: the next call begins anew. */
  #forget(): void {
    this.#era = undefined
    this.#hasSwitched = false
    for (const left of this.#abandoned) if (!this.#isCarrying(left)) this.#drop(left)
    if (this.#adapted !== undefined) this.#abandoned.add(this.#adapted)
    this.#adapted = undefined
  }

  #isCarrying(left: AdaptedConnection): boolean {
    return [...this.#ports.pendingRequests.calls()].some((call) => call.handler === left)
  }

  #drop(left: AdaptedConnection): void {
    this.#abandoned.delete(left)
    void left.adapter.close()
  }

  /** Opens a session for a client that was told long ago that it has one. */
  #replayInitialize(): void {
    const { initialize, initialized } = this.#ports.client
    if (initialize === undefined || this.#ports.pendingRequests.get(initialize.id) !== undefined) return
    const { transport } = this.#ports.transports.legacy()
    const opened = transport
      .send(initialize.message, { deliver() {} })
      .then(() => (initialized === undefined ? undefined : transport.send(initialized, { deliver() {} })))
      .catch(() => this.#ports.note('a session could not be opened silently'))
      .finally(() => (this.#replaying = undefined))
    this.#replaying = opened
  }

  #requestAdapted(call: PendingRequest, to: McpEra): void {
    this.#adapted ??= createAdaptedConnection(to, {
      ...this.#ports,
      doubt: {
        isOpen: () => !this.#isProven,
        proved: (seen) => this.proved(seen),
        refuted: (as) => this.#switchTo(as),
        ask: () => this.#askDiscover(undefined, true),
        forget: () => this.#forget(),
      },
    })
    call.handler = this.#adapted
    void this.#adapted.adapter.receive(withoutSignInState(parseWireMessage(call.wire)))
  }

  /**
   * Sees to it that a call is answered whose connection is gone: asks the same again if it may reach the server twice. False if nothing can be done. A
   * subscription of a client is kept by the adapter, or it ends: the client has to know that it may have missed something.
   */
  repeat(call: PendingRequest): boolean {
    const { handler } = call
    // What still waits for its turn has no connection.
    if (handler === undefined) return true
    const isAdapted = handler === this.#adapted
    if (isSubscription(call)) return isAdapted
    if (openings.has(call.method) || !isRepeatable(call.wire.envelope)) return false
    this.#ports.pendingRequests.settle(call)
    const again = this.#ports.pendingRequests.open(call.id, call.method, call.era, call.wire)
    if (again === undefined) return false
    if (isAdapted) void this.#adapted?.adapter.receive(cancelledNotice(call.id))
    call.abort.abort()
    this.request(again)
    return true
  }

  /** An answer was seen that only this era has. */
  proved(seen: McpEra): void {
    if (this.#era !== seen || this.#isProven) return
    this.#isProven = true
    if (this.#lacking !== undefined)
      this.#ports.remembered.learn({
        era: seen,
        lacks: { era: this.#lacking, at: this.#ports.runtime.now() },
      })
  }

  /**
   * Passes a notification or a response of the client on, if the server has a use for it. `over` is called when the server has
   * it, or never will.
   */
  pass(message: WireMessage, from: McpEra, over: () => void = () => {}): void {
    // Without an era there was a failure; a transport that opens its session later keeps what belongs before that.
    const to = this.#era ?? from
    if (to !== from) {
      void this.#adapted?.adapter.receive(parseWireMessage(message))
      over()
    } else
      this.#transportFor(to)
        .transport.send(message, { deliver() {} })
        .catch(() => this.#ports.note('the server did not take a message'))
        .finally(over)
  }

  /** Opens the streams again that this side keeps open. `answered`: the server has just answered a ping. */
  reopen(answered: boolean): void {
    this.#ports.transports.reopen(answered)
    this.#adapted?.adapter.reopen()
  }

  /** The client does not want the answer of this call any more; it is out of the pending requests already. */
  cancel(call: PendingRequest, message: WireMessage): void {
    if (call.handler === this.#direct.legacy) {
      this.#ports.transports
        .legacy()
        .transport.send(message, { deliver() {} })
        .catch(() => {})
        .finally(() => call.abort.abort())
    } else if (call.handler === this.#direct.modern) call.abort.abort()
    else if (call.handler === this.#adapted) void this.#adapted?.adapter.receive(parseWireMessage(message))
  }

  /**
   * Resolves when the server answers anything at all, rejects when it does not. `asked` is called when the question goes
   * out: to wait for a token says nothing about the server.
   */
  async ping(signal: AbortSignal, asked: () => void): Promise<void> {
    await this.#ports.authorization(signal).catch(() => {})
    asked()
    const isModern = this.#era === 'modern'
    const question = isModern
      ? { method: 'server/discover', params: { _meta: claimsOf(this.#ports.client, undefined) } }
      : { method: 'ping' }
    const { bare } = isModern ? this.#ports.transports.modern() : this.#ports.transports.latestLegacy()
    const message = toWireMessage({ jsonrpc: '2.0', id: this.#ports.randomId(), ...question })
    await bare.send(message, { signal, deliver() {} }).catch((error: unknown) => {
      if (error instanceof NetworkError) throw error
    })
  }

  /** Whether anything was asked of the server yet. */
  isOpen(): boolean {
    return this.#era !== undefined
  }

  async close(graceMs: number): Promise<void> {
    if (this.#adapted !== undefined) this.#abandoned.add(this.#adapted)
    const closing = [...this.#abandoned].map(({ adapter }) => adapter.close())
    await Promise.all([...closing, this.#ports.transports.close(graceMs)])
  }
}

/** What goes with them, such as a session or what is waiting for it, does not begin a second time by itself. */
const openings: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

function cancelledNotice(requestId: JsonRpcId): JsonRpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
}
