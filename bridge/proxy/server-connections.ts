import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
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

/** The connections to the server: one for each revision, opened when it is first needed. */
export class ServerConnections {
  readonly #config: TransportConfig & { transport: TransportOrder }
  readonly #ports: ServerConnectionsPorts
  readonly #open: Partial<Record<McpEra, ServerConnection>> = {}
  #streaming: FallbackTransport | undefined

  constructor(config: TransportConfig & { transport: TransportOrder }, ports: ServerConnectionsPorts) {
    this.#config = config
    this.#ports = ports
  }

  of(era: McpEra): ServerConnection {
    return (this.#open[era] ??= this.#connect(
      era,
      era === 'modern' ? this.#stateless() : (this.#streaming ??= this.#sessions()),
    ))
  }

  /** Requests any answer at all. Calls `asked` when the request goes out: waiting for a token says nothing about the server. */
  async ping(
    era: McpEra = 'legacy',
    meta: JsonObject,
    signal: AbortSignal,
    asked: () => void,
  ): Promise<void> {
    const { randomId, login } = this.#ports.transport
    await login.tokens.authorization(signal).catch(() => {})
    asked()
    const question =
      era === 'modern' ? { method: 'server/discover', params: { _meta: meta } } : { method: 'ping' }
    const message = toWireMessage({ jsonrpc: '2.0', id: randomId(), ...question })
    await this.of(era)
      .sendBare(message, { ...unheard, signal })
      .catch((error: unknown) => {
        if (error instanceof NetworkError) throw error
      })
  }

  reopen(answered: boolean): void {
    this.#streaming?.reopen(answered)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(Object.values(this.#open).map((connection) => connection.close(graceMs)))
  }

  #sessions(): FallbackTransport {
    const { remembered, transport } = this.#ports
    const memory = remembered.known()
    const known = memory?.era === 'legacy' ? memory.transport : undefined
    return new FallbackTransport(this.#config, { ...transport, answered: remembered.answered }, known)
  }

  #stateless(): StatelessTransport {
    const { remembered, transport } = this.#ports
    const knownTools = (): readonly JsonObject[] => remembered.known()?.tools ?? []
    const ports = { ...transport, answered: remembered.answered, knownTools }
    return new StatelessTransport(this.#config, ports)
  }

  /** A message to the server passes the sign-in, and then its transport. */
  #connect(era: McpEra, transport: Transport): ServerConnection {
    const signIn = this.#ports.signIn(era)
    const sendBare: Send = transport.send.bind(transport)
    return {
      send: pipeline([signIn], sendBare),
      sendBare,
      opening: signIn.opening,
      async close(graceMs) {
        signIn.opening.close()
        await transport.close(graceMs)
      },
    }
  }
}
