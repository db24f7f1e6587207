import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { unheard } from '@drawbridge/shared/mcp/pipeline.ts'
import { AdaptedConnection } from './adapted-connection.ts'
import type { CallCarrier, ClientContext, PendingCall } from './pending-calls.ts'
import type { ServerConnection } from './server-connections.ts'
import { OtherRevision, ServerRevision, type RevisionPorts } from './server-revision.ts'

/** Carries each message to the server in the revision that it speaks ({@link ServerRevision}): as it is, or by the adapter. */
export class RevisionStep {
  readonly #ports: RevisionPorts
  readonly #revision: ServerRevision
  readonly #direct: Record<McpEra, CallCarrier>
  #adapted: AdaptedConnection | undefined
  /** These still answer the calls that they have. */
  readonly #abandoned = new Set<AdaptedConnection>()

  constructor(pin: 'auto' | McpEra, ports: RevisionPorts) {
    this.#ports = ports
    this.#revision = new ServerRevision(pin, ports, (to) => this.#changed(to))
    const direct = { keepsSubscriptions: false, drop() {} }
    this.#direct = {
      // In 2026-07-28 the end of the request is what cancels it.
      modern: { ...direct, cancel: () => Promise.resolve() },
      legacy: { ...direct, cancel: (notice) => this.#ports.servers.legacy().send(notice, unheard) },
    }
  }

  /** The last of the client's steps: it has no next one, but the way to a server. */
  send(message: WireMessage, context: ClientContext): Promise<void> {
    const { call } = context
    if (call !== undefined) return this.#request(message, context, call)
    // Without an era there was a failure; a session that is opened later keeps what belongs before that.
    const to = this.#revision.era ?? context.era
    if (to === context.era) return this.#ports.servers.of(to).send(message, context)
    this.#adapted?.pass(message)
    return Promise.resolve()
  }

  isOpen(): boolean {
    return this.#revision.era !== undefined
  }

  /** Opens the streams again that this side keeps open. `answered`: the server has just answered a ping. */
  reopen(answered: boolean): void {
    this.#ports.servers.reopen(answered)
    this.#adapted?.adapter.reopen()
  }

  /** Resolves when the server answers anything at all, rejects when it does not. */
  async ping(signal: AbortSignal, asked: () => void): Promise<void> {
    const { client, servers } = this.#ports
    await servers.ping(this.#revision.era, () => client.claims(undefined), { signal, asked })
  }

  async close(graceMs: number): Promise<void> {
    if (this.#adapted !== undefined) this.#abandoned.add(this.#adapted)
    const closing = [...this.#abandoned].map(({ adapter }) => adapter.close())
    await Promise.all([...closing, this.#ports.servers.close(graceMs)])
  }

  #request(message: WireMessage, context: ClientContext, call: PendingCall): Promise<void> {
    const to = this.#revision.era ?? this.#revision.assumed(call.era)
    if (to !== call.era) return this.#sendAdapted(message, context, call, to)
    call.carrier = this.#direct[to]
    const server = this.#ports.servers.of(to)
    if (this.#revision.isProven) return server.send(message, context)
    return this.#sendInDoubt(message, context, call, server)
  }

  async #sendAdapted(
    message: WireMessage,
    context: ClientContext,
    call: PendingCall,
    to: McpEra,
  ): Promise<void> {
    const adapted = (this.#adapted ??= this.#adapt(to))
    call.carrier = adapted
    if ((await adapted.send(message, context, call)) === 'left') await this.#request(message, context, call)
  }

  async #sendInDoubt(
    message: WireMessage,
    context: ClientContext,
    call: PendingCall,
    server: ServerConnection,
  ): Promise<void> {
    try {
      await this.#revision.askBefore(server.era, call)
      await this.#revision.judged(server, call)(message, context)
    } catch (error) {
      if (!(error instanceof OtherRevision)) throw error
      await this.#request(message, context, call)
    }
  }

  #adapt(to: McpEra): AdaptedConnection {
    return new AdaptedConnection(to, {
      ...this.#ports,
      judged: (server) => this.#revision.judged(server, undefined),
    })
  }

  /** Follows the revision: calls of an adapter that is wrong go another way, those of one in doubt stay with it. */
  #changed(to: McpEra | undefined): void {
    const left = this.#adapted
    this.#adapted = undefined
    if (to === 'legacy') this.#assumeSession()
    if (to !== undefined) return left?.leave()
    for (const abandoned of this.#abandoned) {
      if (abandoned.isCarrying) continue
      this.#abandoned.delete(abandoned)
      void abandoned.adapter.close()
    }
    if (left !== undefined) this.#abandoned.add(left)
  }

  /** A client that was told long ago that it has a session has to get one. */
  #assumeSession(): void {
    const { client, pending, servers } = this.#ports
    const { initialize, isInitialized } = client
    if (initialize === undefined || pending.get(initialize.id) !== undefined) return
    servers.legacy().opening.assume(initialize.message, isInitialized)
  }
}
