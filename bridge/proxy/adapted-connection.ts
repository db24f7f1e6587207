import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isNestedDeeply, parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { eraByModernAnswer, eraByModernFailure, mayBeModern } from '../transport/revision-detection.ts'
import type { InFlight } from './in-flight.ts'
import { createLegacyToModern } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import type { LocalClient } from './local-client.ts'
import type { LocalEnd } from './local-end.ts'
import { createModernToLegacy } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { RemoteLegs } from './remote-legs.ts'
import { createModernServer, errorResponse, openLegacySession } from './adapted-server.ts'
import type {
  DescribeFailure,
  LegacyServer,
  LocalPeer,
  Translator,
} from '@drawbridge/shared/mcp/adapter/ports.ts'

/** Carries the calls of one local era to a server of the other. */
export interface Crossing {
  readonly translator: Translator
  /** The era of the server turned out to be another: what the translator still says is dropped. */
  isVoid: boolean
}

/** What is not known yet of the era of the server, and who wants to know. */
export interface EraDoubt {
  isOpen(): boolean
  proved(era: McpEra): void
  /** The server is of this era instead. False if that cannot be either. */
  refuted(as: McpEra): boolean
  /** Asks the server whether it is of the modern era. Undefined is no evidence. */
  ask(): Promise<McpEra | undefined>
  /** Nothing fits. */
  forget(): void
}

/** What a crossing is between. */
export interface CrossingPorts {
  legs: RemoteLegs
  local: LocalEnd
  inFlight: InFlight
  client: LocalClient
  remembered: RememberedServer
  doubt: EraDoubt
  runtime: Runtime
  describeFailure: DescribeFailure
  warn(text: string): void
  randomId(): string
}

/** A crossing to a server of that era. It looks at answers and failures for what they say about the era. */
export function createCrossing(to: McpEra, ports: CrossingPorts): Crossing {
  const { legs, local, inFlight, client, remembered, doubt, runtime, describeFailure, warn } = ports
  const shared = { local: { send } satisfies LocalPeer, runtime, describeFailure }
  const crossing: Crossing = { translator: to === 'modern' ? toModern() : toLegacy(), isVoid: false }
  return crossing

  /** A client that was told of a session before, by another way, does not open one again. */
  function toModern(): Translator {
    const discovered = remembered.known()?.discoverResult
    const server = createModernServer(doubtedModern(legs.modern().leg))
    const translator = createLegacyToModern({ ...shared, server, ...(discovered && { discovered }) })
    const { initialize, initialized } = client
    if (initialize === undefined || inFlight.get(initialize.id) !== undefined) return translator
    void translator.take(parseWireMessage(initialize.message))
    if (initialized !== undefined) void translator.take(parseWireMessage(initialized))
    return translator
  }

  function toLegacy(): Translator {
    return createModernToLegacy({ ...shared, warn, server: { open, errorResponse } satisfies LegacyServer })
  }

  async function send(message: JsonRpcMessage): Promise<void> {
    if (crossing.isVoid) return
    const wire = toWireMessage(message)
    const { envelope } = wire
    if (envelope.kind !== 'response') return local.unsolicited(wire)
    const call = inFlight.get(envelope.id)
    if (call?.carrier === crossing) await local.forCall(call, wire)
  }

  function seen(era: McpEra | undefined): void {
    if (era === 'modern') doubt.proved('modern')
    else if (era === 'legacy' && !crossing.isVoid) doubt.refuted('legacy')
  }

  /** A leg of the modern era whose answers and failures are looked at while the era is in doubt. */
  function doubtedModern(leg: Transport): Transport {
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
          await leg.send(message, { ...options, deliver })
        } catch (error) {
          if (doubt.isOpen()) seen(eraByModernFailure(error, method))
          throw error
        }
      },
      close: (graceMs) => leg.close(graceMs),
    }
  }

  /** A leg of the 2025 era. Its session may be opened only once somebody has signed in, by whatever request comes then. */
  function doubtedLegacy(leg: Transport): Transport {
    return {
      async send(message, options) {
        try {
          await leg.send(message, options)
        } catch (error) {
          await doubtLegacy(error)
          throw error
        }
      },
      close: (graceMs) => leg.close(graceMs),
    }
  }

  async function doubtLegacy(error: unknown): Promise<void> {
    const isInDoubt = (): boolean => doubt.isOpen() && !crossing.isVoid
    if (!isInDoubt() || !mayBeModern(error)) return
    const found = await doubt.ask()
    if (!isInDoubt()) return
    if (found !== 'modern' || !doubt.refuted('modern')) doubt.forget()
  }

  async function open(
    ...[params, onMessage]: Parameters<LegacyServer['open']>
  ): ReturnType<LegacyServer['open']> {
    const leg = doubtedLegacy(legs.legacySession((message) => takeUnsolicited(message, onMessage)).leg)
    const initialize = { jsonrpc: '2.0' as const, id: ports.randomId(), method: 'initialize', params }
    try {
      return await openLegacySession(leg, initialize)
    } catch (error) {
      await leg.close(0)
      // What the leg itself failed with was looked at there; a JSON-RPC error with 200 is one only to `initialize`.
      const isAnswered = error instanceof TransportError && error.status === undefined
      if (isAnswered && error.response !== undefined) await doubtLegacy(error)
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
