import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseWireMessage, toWireMessage } from './envelope.ts'
import { eraByDiscoverAnswer, eraByModernFailure, mayBeModern } from './era-detection.ts'
import type { InFlight } from './in-flight.ts'
import { createLegacyToModern } from './legacy-to-modern.ts'
import type { LocalClient } from './local-client.ts'
import type { LocalEnd } from './local-end.ts'
import { createModernToLegacy } from './modern-to-legacy.ts'
import { isNestedDeeply } from './nesting.ts'
import type { RememberedServer } from './remembered-server.ts'
import type { RemoteLegs } from './remote-legs.ts'
import { createModernServer, openLegacySession } from './translated-server.ts'
import type { DescribeFailure, LegacyServer, LocalPeer, ModernServer, Translator } from './translator.ts'
import type { WireMessage } from './wire-message.ts'

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
    const server = doubtedServer()
    const translator = createLegacyToModern({ ...shared, server, ...(discovered && { discovered }) })
    const { initialize, initialized } = client
    if (initialize === undefined || inFlight.get(initialize.id) !== undefined) return translator
    void translator.take(parseWireMessage(initialize.message))
    if (initialized !== undefined) void translator.take(parseWireMessage(initialized))
    return translator
  }

  function toLegacy(): Translator {
    return createModernToLegacy({ ...shared, warn, server: { open } satisfies LegacyServer })
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

  function doubtedServer(): ModernServer {
    const server = createModernServer(legs.modern().leg)
    return {
      async request(message, options) {
        try {
          const response = await server.request(message, options)
          if (!doubt.isOpen()) return response
          if (message.method === 'server/discover') seen(eraByDiscoverAnswer(toWireMessage(response)))
          else if ('result' in response && isJsonObject(response.result) && 'resultType' in response.result)
            seen('modern')
          return response
        } catch (error) {
          if (doubt.isOpen()) seen(eraByModernFailure(error, message.method))
          throw error
        }
      },
    }
  }

  async function open(
    ...[params, onMessage]: Parameters<LegacyServer['open']>
  ): ReturnType<LegacyServer['open']> {
    const { leg } = legs.legacySession((message) => takeUnsolicited(message, onMessage))
    const initialize = { jsonrpc: '2.0' as const, id: ports.randomId(), method: 'initialize', params }
    try {
      return await openLegacySession(leg, initialize)
    } catch (error) {
      await leg.close(0)
      const isRefuted = doubt.isOpen() && mayBeModern(error) && !crossing.isVoid
      if (isRefuted && !doubt.refuted('modern')) doubt.forget()
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
  if (isWanted && !isNestedDeeply(message.bytes)) return onMessage(parseWireMessage(message))
}
