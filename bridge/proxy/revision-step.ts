import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { unheard } from '@drawbridge/shared/mcp/pipeline.ts'
import { AdaptedConnection } from './adapted-connection.ts'
import type { CallCarrier, ClientContext, PendingCall } from './client-calls.ts'
import type { ServerConnection } from './server-connections.ts'
import { claimsOf, OtherRevision, ServerRevision, type RevisionPorts } from './server-revision.ts'

/** Carries each message to the server in the revision that it speaks ({@link ServerRevision}): as it is, or by the adapter. */
export class RevisionStep {
  readonly #ports: RevisionPorts
  readonly #revision: ServerRevision
  readonly #carriers: Record<McpEra, CallCarrier>
  /** The way of messages that go as they are, once it is proven that they may: that is for good. */
  #direct: ServerConnection | undefined
  #adapted: AdaptedConnection | undefined
  /** These still answer the calls that they have. */
  readonly #abandoned = new Set<AdaptedConnection>()

  constructor(pin: 'auto' | McpEra, ports: RevisionPorts) {
    this.#ports = ports
    this.#revision = new ServerRevision(pin, ports, (to) => this.#changed(to))
    const direct = { keepsSubscriptions: false, drop() {} }
    this.#carriers = {
      // In 2026-07-28 the end of the request is what cancels it.
      modern: { ...direct, cancel: () => Promise.resolve() },
      legacy: { ...direct, cancel: (notice) => ports.servers.of('legacy').send(notice, unheard) },
    }
  }

  /** The last of the client's steps: it has no next one, but the way to a server. */
  readonly send = async (message: WireMessage, context: ClientContext): Promise<void> => {
    const { call } = context
    if (this.#direct?.era === context.era) {
      if (call !== undefined) call.carrier = this.#carriers[context.era]
      return this.#direct.send(message, context)
    }
    if (call !== undefined) return this.#request(message, context, call)
    // Without an era there was a failure; a session that is opened later keeps what belongs before that.
    const to = this.#revision.era ?? context.era
    if (to === context.era) return this.#ports.servers.of(to).send(message, context)
    this.#adapted?.pass(message)
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
  ping(signal: AbortSignal, asked: () => void): Promise<void> {
    const { client, servers } = this.#ports
    return servers.ping(this.#revision.era, claimsOf(client, undefined), signal, asked)
  }

  async close(graceMs: number): Promise<void> {
    if (this.#adapted !== undefined) this.#abandoned.add(this.#adapted)
    const closing = [...this.#abandoned].map(({ adapter }) => adapter.close())
    await Promise.all([...closing, this.#ports.servers.close(graceMs)])
  }

  async #request(message: WireMessage, context: ClientContext, call: PendingCall): Promise<void> {
    const revision = this.#revision
    const to = revision.era ?? revision.assumed(call.era)
    if (to !== call.era) {
      const adapted = (this.#adapted ??= this.#adapt(to))
      call.carrier = adapted
      if ((await adapted.send(message, context, call)) === 'left') await this.#request(message, context, call)
      return
    }
    call.carrier = this.#carriers[to]
    const server = this.#ports.servers.of(to)
    try {
      if (!revision.isProven) await revision.askBefore(to, call)
      else if (revision.era === to) this.#direct = server
      await revision.judged(server, call)(message, context)
    } catch (error) {
      if (!(error instanceof OtherRevision)) throw error
      await this.#request(message, context, call)
    }
  }

  #adapt(to: McpEra): AdaptedConnection {
    const judged = (server: ServerConnection): ReturnType<ServerRevision['judged']> =>
      this.#revision.judged(server, undefined)
    return new AdaptedConnection(to, { ...this.#ports, judged })
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
    servers.of('legacy').opening.assume(initialize.message, isInitialized)
  }
}
