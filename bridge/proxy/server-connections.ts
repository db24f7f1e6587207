import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { pipeline, discarding, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { NetworkError } from '../http/http-client.ts'
import type { SessionOpening } from '../sign-in/session-opening.ts'
import type { SignIns } from '../sign-in/sign-in-attempt.ts'
import { SignInStep } from '../sign-in/sign-in-step.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { FallbackTransport, type TransportOrder } from '../transport/session-transport.ts'
import { StatelessTransport } from '../transport/stateless-transport.ts'
import type { Transport, TransportConfig, TransportPorts } from '../transport/transport.ts'
import type { PendingCalls } from './client-calls.ts'

/** A connection to the server, in one revision. */
export interface ServerConnection {
  send: Send
  /** The same without sign-in, for requests of the bridge itself. */
  sendBare: Send
  opening: SessionOpening
  close(graceMs: number): Promise<void>
}

export interface ServerConfig extends TransportConfig {
  transport: TransportOrder
  /** The bridge's own version, shown in place of an unknown server's. */
  version: string
}

export interface ServerConnectionsPorts extends Pick<TransportPorts, 'http' | 'runtime' | 'login' | 'note'> {
  pending: PendingCalls
  remembered: RememberedServer
  signIns: SignIns
  /** Allows a tool of the bridge itself, whatever the user's filter says. */
  allowTool(name: string): void
  describeFailure: DescribeFailure
  say(line: string): void
  randomId(): string
}

/** Clients give a call 60 s or more, and some of that passes before the link is known. */
const callWaitMs = 40_000

/** The connections to the server: one for each revision, opened when it is first needed. */
export class ServerConnections {
  readonly #config: ServerConfig
  readonly #ports: ServerConnectionsPorts
  readonly #open: Partial<Record<McpEra, ServerConnection>> = {}
  #streaming: FallbackTransport | undefined

  constructor(config: ServerConfig, ports: ServerConnectionsPorts) {
    this.#config = config
    this.#ports = ports
  }

  of(era: McpEra): ServerConnection {
    return (this.#open[era] ??= this.#connect(era))
  }

  /** Requests any answer at all. Calls `asked` when the request goes out: waiting for a token says nothing about the server. */
  async ping(
    era: McpEra = 'legacy',
    meta: JsonObject,
    signal: AbortSignal,
    asked: () => void,
  ): Promise<void> {
    const { randomId, login } = this.#ports
    await login.tokens.authorization(signal).catch(() => {})
    asked()
    const question =
      era === 'modern' ? { method: 'server/discover', params: { _meta: meta } } : { method: 'ping' }
    const message = toWireMessage({ jsonrpc: '2.0', id: randomId(), ...question })
    await this.of(era)
      .sendBare(message, { ...discarding, signal })
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

  /** A message to the server passes the sign-in, and then its transport. */
  #connect(era: McpEra): ServerConnection {
    const { describeFailure, allowTool, remembered, signIns } = this.#ports
    const signIn = new SignInStep(era, {
      signIns,
      version: this.#config.version,
      callWaitMs,
      memory: () => remembered.known(),
      describeFailure,
      offered: allowTool,
    })
    const transport = this.#openTransport(era)
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

  #openTransport(era: McpEra): Transport {
    const { pending, remembered, say: warn } = this.#ports
    const { answered } = remembered
    const ports = { ...this.#ports, answered, unsolicited: pending.unsolicited }
    if (era === 'modern') {
      const knownTools = (): readonly JsonObject[] => remembered.known()?.tools ?? []
      return new StatelessTransport(this.#config, { ...ports, knownTools, warn })
    }
    const memory = remembered.known()
    const known = memory?.era === 'legacy' ? memory.transport : undefined
    return (this.#streaming = new FallbackTransport(this.#config, ports, known))
  }
}
