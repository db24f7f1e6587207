import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { mcpMetaKey, modernRevision, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isSignInNeeded, type SignIns } from '../sign-in/sign-in-attempt.ts'
import {
  eraByDiscoverAnswer,
  eraByModernAnswer,
  eraByModernFailure,
  mayBeModern,
} from '../transport/revision-detection.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import { isErrorResponse } from '../transport/withheld-error.ts'
import { paramsOf, type ClientInput, type PendingCalls } from './client-calls.ts'
import type { PendingCall } from './pending-call.ts'
import type { ServerConnections } from './server-connections.ts'

/** The parts that carry calls in the revision of the server. */
export interface RevisionPorts {
  servers: ServerConnections
  pending: PendingCalls
  client: ClientInput
  remembered: RememberedServer
  signIns: SignIns
  runtime: Runtime
  describeFailure: DescribeFailure
  note(text: string): void
  randomId(): string
}

/** `_meta` of the bridge's own requests in 2026-07-28: the client's claims in `about`, or else in its `initialize`. */
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

/**
 * Finds out the revision of the server. For 2025 clients it assumes the remembered one, or else 2025-11-25, until an answer
 * proves or refutes it.
 */
export class ServerRevision {
  /** Shown by an answer that only this revision has, or set by a flag. Final. */
  proven: McpEra | undefined
  readonly #ports: RevisionPorts
  #assumed: McpEra | undefined

  constructor(pin: 'auto' | McpEra, ports: RevisionPorts) {
    this.#ports = ports
    if (pin !== 'auto') this.proven = pin
    ports.remembered.onSeen = (era) => this.#prove(era)
  }

  /** The revision in which 2025 clients are served. */
  get serving(): McpEra {
    return this.proven ?? (this.#assumed ??= this.#ports.remembered.known()?.era ?? 'legacy')
  }

  /** Changes how 2025 clients are served. Returns false if the other revision was proven in the meantime. */
  switchTo(to: McpEra): boolean {
    if (this.serving === to) return true
    if (this.proven !== undefined) return false
    this.#ports.note(`the server does not speak the ${this.serving} revision`)
    if (to === 'modern') this.proven = to
    else this.#assumed = to
    return true
  }

  /** Drops the assumption: the next call starts from memory again. */
  forget(): void {
    this.#assumed = undefined
  }

  /**
   * Judges a response to a request in that revision. Returns true for one that must not reach the client before
   * {@link afterModernError} or {@link afterLegacyError} has decided; another one may prove the revision.
   */
  isInDoubt(answer: WireMessage, era: McpEra, method: string): boolean {
    if (answer.isStandIn === true) return false
    if (isErrorResponse(answer)) return true
    const found = era === 'modern' ? eraByModernAnswer(answer, method) : 'legacy'
    if (found === era) this.#prove(era)
    return found !== undefined && found !== era
  }

  /** Returns the revision that the error of a 2026-07-28 request shows; undefined if it shows nothing. `call`: of the client. */
  async afterModernError(
    failure: unknown,
    method: string,
    call: PendingCall | undefined,
  ): Promise<McpEra | undefined> {
    let found = eraByModernFailure(failure, method)
    const answer = failure instanceof TransportError ? failure.response : undefined
    // -32602 comes from 2025 servers that do not know the method, and from 2026-07-28 servers that reject its parameters.
    if (
      method === 'server/discover' &&
      found === 'modern' &&
      answer &&
      eraByDiscoverAnswer(answer) === 'legacy'
    )
      found = await this.#discover(call)
    if (found === 'modern') this.#prove(found)
    return found
  }

  /** Returns whether the error of a 2025 request came from a server that speaks 2026-07-28. */
  async afterLegacyError(failure: unknown, call: PendingCall): Promise<boolean> {
    return mayBeModern(failure) && (await this.#discover(call)) === 'modern'
  }

  /**
   * Sends a `server/discover` of our own on behalf of the client; undefined if the answer shows nothing. A refusal leads to a
   * sign-in and a second try, within the time that responses may wait for a sign-in.
   */
  async #discover(call: PendingCall | undefined): Promise<McpEra | undefined> {
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
        const attempt = isSignInNeeded(error) ? signIns.begin(false) : undefined
        if (attempt === undefined) return eraByModernFailure(error, 'server/discover')
        if ((await attempt.settled(signal)) !== 'done') return undefined
      }
    }
  }

  #prove(seen: McpEra): void {
    if ((this.#assumed ?? seen) === seen) this.proven ??= seen
  }
}
