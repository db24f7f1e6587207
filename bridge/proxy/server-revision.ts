import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { mcpMetaKey, modernRevision, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { intercepted, type Context, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { mayRepeat } from '../http/retry.ts'
import { isSignInNeeded, type SignIns } from '../sign-in/sign-in-attempt.ts'
import {
  answeredError,
  assumedEra,
  eraByDiscoverAnswer,
  eraByModernAnswer,
  eraByModernFailure,
  mayBeModern,
} from '../transport/revision-detection.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import { paramsOf, type ClientInput, type PendingCall, type PendingCalls } from './client-calls.ts'
import type { ServerConnection, ServerConnections } from './server-connections.ts'

/** The needs of all that carries calls in the revision of the server. */
export interface RevisionPorts {
  servers: ServerConnections
  pending: PendingCalls
  client: ClientInput
  remembered: RememberedServer
  signIns: SignIns
  runtime: Runtime
  describeFailure: DescribeFailure
  warn(text: string): void
  note(text: string): void
  randomId(): string
}

/** `_meta` of a request of our own in 2026-07-28: what the client claims in `about`, or else in its `initialize`. */
export function claimsOf(client: ClientInput, about: WireMessage | undefined): JsonObject {
  const said = client.initialize?.params
  const meta = about && paramsOf(about)?.['_meta']
  const own = isJsonObject(meta) ? meta : undefined
  const { clientCapabilities, clientInfo } = mcpMetaKey
  const claimed = (key: string, saidKey: string): unknown => [own?.[key], said?.[saidKey]].find(isJsonObject)
  const info = claimed(clientInfo, 'clientInfo')
  return {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [clientCapabilities]: claimed(clientCapabilities, 'capabilities') ?? {},
    ...(info !== undefined && { [clientInfo]: info }),
  }
}

/** The server speaks the other revision. */
export class OtherRevision extends Error {}

/**
 * Finds out the revision of the server: assumes one (see {@link assumedEra}) until the first answer proves or refutes it. It is
 * refuted once; the client is told what then fails too.
 */
export class ServerRevision {
  /** Undefined before the first call, and after a failure that fits neither. */
  era: McpEra | undefined
  isProven: boolean
  readonly #ports: RevisionPorts
  readonly #pin: 'auto' | McpEra
  readonly #onChange: (to: McpEra | undefined) => void
  #hasAsked = false
  /** Refuted; worth remembering once the other era is proven. */
  #lacking: McpEra | undefined

  /** `onChange` is called when the assumption was refuted, with what is assumed now: nothing if nothing fits. */
  constructor(pin: 'auto' | McpEra, ports: RevisionPorts, onChange: (to: McpEra | undefined) => void) {
    this.#pin = pin
    this.#ports = ports
    this.#onChange = onChange
    this.isProven = pin !== 'auto'
    ports.remembered.onSeen = (era) => this.#proved(era)
  }

  /** Settles on one for a call of that client. */
  assumed(local: McpEra): McpEra {
    const { remembered, runtime } = this.#ports
    return (this.era ??= assumedEra(local, this.#pin, remembered.known(), runtime.now()))
  }

  /** Asks first for a client of 2026-07-28 that opens with another method: a call may not be made twice. */
  async askBefore(to: McpEra, call: PendingCall): Promise<void> {
    const isFirst = !this.#hasAsked
    this.#hasAsked = true
    if (!isFirst || to === 'legacy' || call.method === 'server/discover') return
    if (this.#ports.remembered.known()?.era === 'modern') return
    if ((await this.#askDiscover(call, false)) === 'legacy' && this.#switchTo('legacy'))
      throw new OtherRevision()
  }

  /**
   * Sends to that server, of the revision that is assumed. While it is in doubt, holds an error back until it is clear that it is
   * not about the revision; else throws {@link OtherRevision}. `call`: of the client, if it is not the adapter that sends.
   */
  judged(server: ServerConnection, call: PendingCall | undefined): Send {
    return async (message, context) => {
      const { envelope } = message
      if (this.isProven || envelope.kind !== 'request') return server.send(message, context)
      const about = { to: server.era, method: envelope.method, message, call }
      const held: { answer?: WireMessage; proves?: boolean } = {}
      try {
        await server.send(message, this.#holdingErrors(about, held, context))
      } catch (failure) {
        await this.#judge(about, failure)
        throw failure
      }
      if (held.answer !== undefined) {
        await this.#judge(about, answeredError(held.answer))
        await context.deliver(held.answer)
      } else if (held.proves === true) this.#proved(server.era)
    }
  }

  /** Lets everything through but answers that may be about the revision. */
  #holdingErrors(about: Doubt, held: { answer?: WireMessage; proves?: boolean }, context: Context): Context {
    return intercepted(context, (answer, deliver) => {
      const { envelope, isStandIn } = answer
      if (envelope.kind !== 'response' || isStandIn) return deliver(answer)
      const found = about.to === 'modern' ? eraByModernAnswer(answer, about.method) : undefined
      if (envelope.isError || found === 'legacy') {
        held.answer = answer
        return undefined
      }
      held.proves = about.to === 'legacy' || found === 'modern' || about.call !== undefined
      return deliver(answer)
    })
  }

  /** Decides what a failure says about the revision. Throws {@link OtherRevision} if the message can go in the other one. */
  async #judge(about: Doubt, failure: unknown): Promise<void> {
    if (this.isProven) return
    const { call, message, to } = about
    const found = await this.#eraBy(about, failure)
    if (found === to) this.isProven = true
    else if (found !== undefined && mayRepeat('other_revision', message.envelope)) {
      if (this.#switchTo(found)) throw new OtherRevision()
    }
    if (!this.isProven && (call !== undefined || (to === 'legacy' && mayBeModern(failure)))) this.#forget()
  }

  async #eraBy({ to, method, call }: Doubt, failure: unknown): Promise<McpEra | undefined> {
    if (to === 'legacy') {
      if (!mayBeModern(failure)) return undefined
      return (await this.#askDiscover(call, true)) === 'modern' ? 'modern' : undefined
    }
    const found = eraByModernFailure(failure, method)
    const answer = failure instanceof TransportError ? failure.response : undefined
    if (method !== 'server/discover' || found !== 'modern' || answer === undefined) return found
    // -32602 may be a server of the 2025 era that does not know the method, or one that minds what the client sent.
    return eraByDiscoverAnswer(answer) === 'modern' ? 'modern' : this.#askDiscover(call, true)
  }

  /**
   * Asks the server for its era by a `server/discover` of our own, in the name of the client. Undefined is no evidence. With
   * `mayWait` a refusal leads to a sign-in and another try, within the time that answers wait for one.
   */
  async #askDiscover(call: PendingCall | undefined, mayWait: boolean): Promise<McpEra | undefined> {
    const { client, randomId, servers, signIns } = this.#ports
    const signal = call?.abort.signal
    const params = { _meta: claimsOf(client, call?.era === 'modern' ? call.wire : undefined) }
    const question = toWireMessage({ jsonrpc: '2.0', id: randomId(), method: 'server/discover', params })
    let found: McpEra | undefined
    const deliver = (answer: WireMessage): void => {
      if (answer.envelope.kind === 'response') found = eraByDiscoverAnswer(answer)
    }
    for (;;) {
      try {
        await servers.of('modern').sendBare(question, { deliver, ...(signal && { signal }) })
        return found
      } catch (error) {
        const attempt = mayWait && isSignInNeeded(error) ? signIns.begin(false) : undefined
        if (attempt === undefined) return eraByModernFailure(error, 'server/discover')
        if ((await attempt.settled(signal)) !== 'done') return undefined
      }
    }
  }

  /** Returns whether that era is assumed now: not if the other one was proven in the meantime. */
  #switchTo(to: McpEra): boolean {
    if (this.era === to) return true
    if (this.isProven) return false
    const { note, remembered, runtime } = this.#ports
    note(`the server does not speak the revision of the ${this.era} era`)
    this.isProven = to === 'modern'
    this.era = to
    this.#lacking = to === 'modern' ? 'legacy' : 'modern'
    if (this.isProven) remembered.learn({ lacks: { era: this.#lacking, at: runtime.now() } })
    this.#onChange(to)
    return true
  }

  /** All that was assumed was wrong, or the server is ill: the next call begins anew. */
  #forget(): void {
    this.era = undefined
    this.#onChange(undefined)
  }

  /** An answer was seen that only this era has. */
  #proved(seen: McpEra): void {
    if (this.era !== seen || this.isProven) return
    this.isProven = true
    const { remembered, runtime } = this.#ports
    if (this.#lacking !== undefined)
      remembered.learn({ era: seen, lacks: { era: this.#lacking, at: runtime.now() } })
  }
}

/** A message whose failure may be about the revision. */
interface Doubt {
  to: McpEra
  method: string
  message: WireMessage
  call: PendingCall | undefined
}
