import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { pipeline, unheard, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { NetworkError } from '../http/http-client.ts'
import type { SessionOpening } from '../sign-in/session-opening.ts'
import type { SignInStep } from '../sign-in/sign-in-step.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { FallbackTransport, type TransportOrder } from '../transport/session-transport.ts'
import { StatelessTransport, type StatelessTransportPorts } from '../transport/stateless-transport.ts'
import type { Transport, TransportConfig } from '../transport/transport.ts'

/** A connection to the server, in one revision. */
export interface ServerConnection {
  era: McpEra
  send: Send
  /** The same without sign-in, for requests of the bridge itself. */
  sendBare: Send
  opening: SessionOpening
  close(graceMs: number): Promise<void>
}

export interface ServerConnectionsPorts {
  transport: Omit<StatelessTransportPorts, 'knownTools' | 'answered'>
  remembered: RememberedServer
  signIn(era: McpEra): SignInStep
}

/** The connections to the server: one that carries messages unchanged in each revision, and the sessions of adapters. */
export class ServerConnections {
  readonly #config: TransportConfig & { transport: TransportOrder }
  readonly #ports: ServerConnectionsPorts
  readonly #made = new Set<ServerConnection>()
  readonly #sessions = new Set<FallbackTransport>()
  readonly #direct: Partial<Record<McpEra, ServerConnection>> = {}
  #latest: ServerConnection | undefined

  constructor(config: TransportConfig & { transport: TransportOrder }, ports: ServerConnectionsPorts) {
    this.#config = config
    this.#ports = ports
  }

  of(era: McpEra): ServerConnection {
    return (this.#direct[era] ??=
      era === 'modern' ? this.#stateless() : this.session(this.#ports.transport.unsolicited))
  }

  /** Makes one more session of the 2025 era, for an adapter. */
  session(unsolicited: (message: WireMessage) => void | Promise<void>): ServerConnection {
    const { remembered, transport } = this.#ports
    const { answered } = remembered
    const memory = remembered.known()
    const known = memory?.era === 'legacy' ? memory.transport : undefined
    const fallback = new FallbackTransport(this.#config, { ...transport, answered, unsolicited }, known)
    this.#sessions.add(fallback)
    this.#latest = this.#complete(fallback, 'legacy', () => this.#sessions.delete(fallback))
    return this.#latest
  }

  /** Asks for any answer at all. Calls `asked` when the question goes out: a late token says nothing of the server. */
  async ping(
    era: McpEra | undefined,
    meta: JsonObject,
    signal: AbortSignal,
    asked: () => void,
  ): Promise<void> {
    const { randomId, login } = this.#ports.transport
    await login.tokens.authorization(signal).catch(() => {})
    asked()
    const isModern = era === 'modern'
    const question = isModern ? { method: 'server/discover', params: { _meta: meta } } : { method: 'ping' }
    const server = isModern ? this.of('modern') : (this.#latest ?? this.of('legacy'))
    const message = toWireMessage({ jsonrpc: '2.0', id: randomId(), ...question })
    await server.sendBare(message, { ...unheard, signal }).catch((error: unknown) => {
      if (error instanceof NetworkError) throw error
    })
  }

  reopen(answered: boolean): void {
    for (const transport of this.#sessions) transport.reopen(answered)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#made].map((made) => made.close(graceMs)))
  }

  #stateless(): ServerConnection {
    const { remembered, transport } = this.#ports
    const knownTools = (): readonly JsonObject[] => remembered.known()?.tools ?? []
    const ports = { ...transport, answered: remembered.answered, knownTools }
    return this.#complete(new StatelessTransport(this.#config, ports), 'modern')
  }

  /** Lists what a message to the server passes: the sign-in, and its transport. */
  #complete(transport: Transport, era: McpEra, closed?: () => void): ServerConnection {
    const signIn = this.#ports.signIn(era)
    const sendBare: Send = transport.send.bind(transport)
    const made: ServerConnection = {
      era,
      send: pipeline([signIn], sendBare),
      sendBare,
      opening: signIn.opening,
      close: async (graceMs) => {
        signIn.opening.close()
        closed?.()
        await transport.close(graceMs)
        this.#made.delete(made)
      },
    }
    this.#made.add(made)
    return made
  }
}
