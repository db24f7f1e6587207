import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isNestedDeeply, parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { eraByModernAnswer, eraByModernFailure, mayBeModern } from '../transport/revision-detection.ts'
import type { PendingRequests } from './pending-requests.ts'
import { createAdapterFrom2025To2026 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import type { ClientState } from './client-state.ts'
import type { ClientConnection } from './client-connection.ts'
import { createAdapterFrom2026To2025 } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { ServerTransports } from './server-transports.ts'
import { createServer2026, errorResponse, openSession2025 } from './adapted-server.ts'
import type {
  DescribeFailure,
  Server2025,
  ClientPort,
  Adapter,
} from '@drawbridge/shared/mcp/adapter/ports.ts'

/** The adapter between the client and a server of the other revision. */
export interface AdaptedConnection {
  readonly adapter: Adapter
  /** The server turned out to speak another revision: drop what the adapter still sends. */
  isVoid: boolean
}

/** What is not known yet about the revision of the server. */
export interface EraDoubt {
  isOpen(): boolean
  proved(era: McpEra): void
  /** The server speaks this revision instead. False if that is impossible too. */
  refuted(as: McpEra): boolean
  /** Asks the server whether it speaks 2026-07-28. Undefined means no evidence. */
  ask(): Promise<McpEra | undefined>
  /** Nothing fits. */
  forget(): void
}

/** What a adapted is between. */
export interface AdaptedConnectionPorts {
  transports: ServerTransports
  local: ClientConnection
  pendingRequests: PendingRequests
  client: ClientState
  remembered: RememberedServer
  doubt: EraDoubt
  runtime: Runtime
  describeFailure: DescribeFailure
  warn(text: string): void
  randomId(): string
}

/** An adapter to a server of that revision. Its answers and failures are evidence of the server's revision. */
export function createAdaptedConnection(to: McpEra, ports: AdaptedConnectionPorts): AdaptedConnection {
  const { transports, local, pendingRequests, client, remembered, doubt, runtime, describeFailure, warn } =
    ports
  const shared = { client: { send } satisfies ClientPort, runtime, describeFailure }
  const adapted: AdaptedConnection = {
    adapter: to === 'modern' ? from2025To2026() : from2026To2025(),
    isVoid: false,
  }
  return adapted

  /** A client that has initialized before does not do so again: replay its `initialize`. */
  function from2025To2026(): Adapter {
    const discovered = remembered.known()?.discoverResult
    const server = createServer2026(observed2026(transports.modern().transport))
    const adapter = createAdapterFrom2025To2026({ ...shared, server, ...(discovered && { discovered }) })
    const { initialize, initialized } = client
    if (initialize === undefined || pendingRequests.get(initialize.id) !== undefined) return adapter
    void adapter.receive(parseWireMessage(initialize.message))
    if (initialized !== undefined) void adapter.receive(parseWireMessage(initialized))
    return adapter
  }

  function from2026To2025(): Adapter {
    return createAdapterFrom2026To2025({
      ...shared,
      warn,
      server: { open, errorResponse } satisfies Server2025,
    })
  }

  async function send(message: JsonRpcMessage): Promise<void> {
    if (adapted.isVoid) return
    const wire = toWireMessage(message)
    const { envelope } = wire
    if (envelope.kind !== 'response') return local.unsolicited(wire)
    const call = pendingRequests.get(envelope.id)
    if (call?.handler === adapted) await local.forCall(call, wire)
  }

  function seen(era: McpEra | undefined): void {
    if (era === 'modern') doubt.proved('modern')
    else if (era === 'legacy' && !adapted.isVoid) doubt.refuted('legacy')
  }

  /** Checks answers and failures while the server's revision is in doubt. */
  function observed2026(transport: Transport): Transport {
    const judge = (method: string, answer: WireMessage): void => {
      if (!doubt.isOpen() || answer.isStandIn || answer.envelope.kind !== 'response') return
      seen(eraByModernAnswer(answer, method))
    }
    return {
      async send(message, options) {
        const { envelope } = message
        const method = envelope.kind === 'request' ? envelope.method : ''
        const deliver = (answer: WireMessage): void | Promise<void> => {
          judge(method, answer)
          return options.deliver(answer)
        }
        try {
          await transport.send(message, { ...options, deliver })
        } catch (error) {
          if (doubt.isOpen()) seen(eraByModernFailure(error, method))
          throw error
        }
      },
      close: (graceMs) => transport.close(graceMs),
    }
  }

  /** Checks failures of a 2025 session, which may be opened only after sign-in, by any request. */
  function observed2025(transport: Transport): Transport {
    return {
      async send(message, options) {
        try {
          await transport.send(message, options)
        } catch (error) {
          await checkRevision(error)
          throw error
        }
      },
      close: (graceMs) => transport.close(graceMs),
    }
  }

  async function checkRevision(error: unknown): Promise<void> {
    const isInDoubt = (): boolean => doubt.isOpen() && !adapted.isVoid
    if (!isInDoubt() || !mayBeModern(error)) return
    const found = await doubt.ask()
    if (!isInDoubt()) return
    if (found !== 'modern' || !doubt.refuted('modern')) doubt.forget()
  }

  async function open(
    ...[params, onMessage]: Parameters<Server2025['open']>
  ): ReturnType<Server2025['open']> {
    const transport = observed2025(
      transports.legacySession((message) => takeUnsolicited(message, onMessage)).transport,
    )
    const initialize = { jsonrpc: '2.0' as const, id: ports.randomId(), method: 'initialize', params }
    try {
      return await openSession2025(transport, initialize)
    } catch (error) {
      await transport.close(0)
      // Failures of the transport were checked above. What is left is a JSON-RPC error with status 200.
      const isAnswered = error instanceof TransportError && error.status === undefined
      if (isAnswered && error.response !== undefined) await checkRevision(error)
      throw error
    }
  }
}

function takeUnsolicited(
  message: WireMessage,
  onMessage: (message: JsonRpcMessage) => void | Promise<void>,
): void | Promise<void> {
  const { kind } = message.envelope
  const isWanted = kind === 'request' || kind === 'notification'
  if (isWanted && !isNestedDeeply(message)) return onMessage(parseWireMessage(message))
}
