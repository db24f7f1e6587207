import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import {
  legacyRevisions,
  mcpErrorCode,
  mcpMetaKey,
  modernRevision,
  type McpEra,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type Context, type Send, discarding } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { supportedVersions } from '../transport/revision-detection.ts'
import { TransportError } from '../transport/transport.ts'
import { withholdError } from '../transport/withheld-error.ts'
import { AdaptedConnection } from './adapted-connection.ts'
import { paramsOf } from './client-calls.ts'
import type { ClientContext, PendingCall } from './pending-call.ts'
import { claimsOf, ServerRevision, type RevisionPorts } from './server-revision.ts'

/** In 2026-07-28, ending the request cancels it. */
const cancelledByEnd = (): Promise<void> => Promise.resolve()

/** A remembered 2025 server that says nothing for this long is not asked for 2026-07-28 any further. */
const silentMs = 2000

/**
 * Carries each message in the revision of the server ({@link ServerRevision}): as it is, or from a 2025 client to a server of
 * 2026-07-28 by the adapter. A client of 2026-07-28 whose server lacks that revision gets -32022 with the versions that work.
 */
export class RevisionStep {
  readonly #ports: RevisionPorts
  readonly #pin: 'auto' | McpEra
  readonly #revision: ServerRevision
  #adapted: AdaptedConnection | undefined
  /** The revision of the last request to the server. */
  #used: McpEra | undefined

  constructor(pin: 'auto' | McpEra, ports: RevisionPorts) {
    this.#ports = ports
    this.#pin = pin
    this.#revision = new ServerRevision(pin, ports)
  }

  /** The last of the client's steps: ends at a connection to the server. */
  readonly send = async (message: WireMessage, context: ClientContext): Promise<void> => {
    const { call, era } = context
    if (call !== undefined)
      return era === 'modern'
        ? this.#requestModern(message, context, call)
        : this.#requestLegacy(message, context, call)
    if (era === 'modern' || this.#revision.serving === 'legacy')
      return this.#ports.servers.of(era).send(message, context)
    this.#adapted?.pass(message)
  }

  isOpen(): boolean {
    return this.#used !== undefined
  }

  /** Reopens the streams that this side keeps open. `answered`: the server has just answered a ping. */
  reopen(answered: boolean): void {
    this.#ports.servers.reopen(answered)
    this.#adapted?.reopen()
  }

  /** Resolves if the server answers anything at all; rejects if it does not. */
  ping(signal: AbortSignal, asked: () => void): Promise<void> {
    const { client, servers } = this.#ports
    return servers.ping(this.#used, claimsOf(client, undefined), signal, asked)
  }

  async close(graceMs: number): Promise<void> {
    this.#adapted?.close()
    await this.#ports.servers.close(graceMs)
  }

  /** Sends to a server of 2026-07-28. A server that turns out to lack the revision has not executed the request. */
  async #requestModern(message: WireMessage, context: ClientContext, call: PendingCall): Promise<void> {
    if (this.#pin === 'legacy') return context.deliver(this.#unsupportedVersion(message, call))
    const { remembered, servers } = this.#ports
    const revision = this.#revision
    const { send, sendBare } = servers.of('modern')
    call.cancel = cancelledByEnd
    this.#used = 'modern'
    if (revision.proven === 'modern') return send(message, context)
    // While the revision is unknown, a client of both gets 2025-11-25 instead of a sign-in: it signs in with that.
    const isProbe = call.method === 'server/discover' && remembered.known()?.era !== 'modern'
    const sending = isProbe ? this.#withinProbeTime(context) : context
    const error = await this.#sendInDoubt(isProbe ? sendBare : send, message, sending, 'modern')
    if (error === undefined) return
    const found = await revision.afterModernError(error.failure, call.method, call)
    if ((found ?? (isProbe ? 'legacy' : 'modern')) === 'modern') return error.release()
    await context.deliver(this.#unsupportedVersion(message, call, error.failure, found === undefined))
  }

  /** Sends as it is, or by the adapter. Changes between the two once, if the server turns out to need it. */
  async #requestLegacy(message: WireMessage, context: ClientContext, call: PendingCall): Promise<void> {
    const revision = this.#revision
    this.#used = revision.proven ?? revision.serving
    if (this.#used === 'modern') {
      const adapted = (this.#adapted ??= this.#adapt())
      call.cancel = cancelledByEnd
      if ((await adapted.send(message, context)) === 'left') await this.#requestLegacy(message, context, call)
      return
    }
    const { send } = this.#ports.servers.of('legacy')
    const cancelledByNotice = (notice: WireMessage): Promise<void> => send(notice, discarding)
    call.cancel = cancelledByNotice
    if (revision.proven === 'legacy') return send(message, context)
    const error = await this.#sendInDoubt(send, message, context, 'legacy')
    if (error === undefined) return
    const isModern = await revision.afterLegacyError(error.failure, call)
    if (isModern && mayRepeat('other_revision', message.envelope) && revision.switchTo('modern'))
      return this.#requestLegacy(message, context, call)
    revision.forget()
    await error.release()
  }

  /** Sends a request in a revision that is not proven yet. */
  #sendInDoubt(
    send: Send,
    message: WireMessage,
    context: Context,
    era: McpEra,
  ): ReturnType<typeof withholdError> {
    const { envelope } = message
    const method = envelope.kind === 'request' ? envelope.method : ''
    return withholdError(send, message, context, (answer) => this.#revision.isInDoubt(answer, era, method))
  }

  #withinProbeTime(context: ClientContext): ClientContext {
    if (this.#ports.remembered.known()?.era !== 'legacy') return context
    const signals = [AbortSignal.timeout(silentMs), ...(context.signal ? [context.signal] : [])]
    return { ...context, signal: AbortSignal.any(signals) }
  }

  #adapt(): AdaptedConnection {
    const revision = this.#revision
    const adapted = new AdaptedConnection({
      ...this.#ports,
      send: async (message, context) => {
        const { envelope } = message
        const { send } = this.#ports.servers.of('modern')
        if (revision.proven === 'modern' || envelope.kind !== 'request') return send(message, context)
        const error = await this.#sendInDoubt(send, message, context, 'modern')
        if (error === undefined) return
        const found = await revision.afterModernError(error.failure, envelope.method, undefined)
        const mayLeave = found === 'legacy' && mayRepeat('other_revision', envelope)
        if (mayLeave && revision.switchTo('legacy')) this.#leave(adapted)
        await error.release()
      },
    })
    return adapted
  }

  /** Leaves an adapter that the server turned out not to need: its calls are sent as they are. */
  #leave(adapted: AdaptedConnection): void {
    if (this.#adapted !== adapted) return
    this.#adapted = undefined
    const { client, pending, servers } = this.#ports
    const { initialize, isInitialized } = client
    // A client that believes in its session has to get one.
    if (initialize !== undefined && pending.get(initialize.id) === undefined)
      servers.of('legacy').opening.assume(initialize.message, isInitialized)
    adapted.leave()
  }

  /** The error that makes a client of both revisions fall back to 2025-11-25 (MCP 2026-07-28 versioning). */
  #unsupportedVersion(
    message: WireMessage,
    { id }: PendingCall,
    failure?: unknown,
    isUnknown: boolean = false,
  ): WireMessage {
    const named = failure instanceof TransportError ? supportedVersions(failure.response) : undefined
    const supported = legacyRevisions.filter((revision) => named?.includes(revision) !== false)
    const meta = paramsOf(message)?.['_meta']
    const requested = isJsonObject(meta) ? meta[mcpMetaKey.protocolVersion] : undefined
    // A JSON-RPC error is about the revision only; another failure is worth telling.
    const isPlain = failure === undefined || (failure instanceof TransportError && failure.response)
    const reason = isPlain ? '. ' : `: ${this.#ports.describeFailure(failure).message}\n`
    const other = isUnknown ? ', or start the bridge with --protocol modern' : ''
    const text = `MCP ${modernRevision} is not available here${reason}Begin with initialize at ${legacyRevisions[0]} or earlier${other}.`
    const data = { supported: supported.length > 0 ? supported : legacyRevisions, requested }
    return toWireMessage(jsonRpcError(id, mcpErrorCode.unsupportedProtocolVersion, text, data))
  }
}
