import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** What has to be said again to a server that lost a session. */
export interface SessionMemory {
  /** Whether {@link SessionMemory.keep} does something with such messages. */
  concerns(message: WireMessage): boolean
  /** Takes what the server has accepted. */
  keep(message: WireMessage): void
  /** Forgets log level and subscriptions: the client starts anew. */
  restart(): void
  /** What opens a session. Undefined as long as the client has not opened one. */
  opening(): { initialize: WireMessage; initialized: WireMessage } | undefined
  /** Log level and subscriptions. */
  choices(): WireMessage[]
}

const concerned: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** The replayed messages have ids of their own, so that they cannot meet those of the client. */
export function createSessionMemory(): SessionMemory {
  let initialize: JsonRpcRequest | undefined
  let level: JsonRpcRequest | undefined
  const subscriptions = new Map<unknown, JsonRpcRequest>()
  let replays = 0

  function again(request: JsonRpcRequest): WireMessage {
    replays += 1
    return toWireMessage({ ...request, id: `drawbridge-replay-${replays}` })
  }

  return {
    concerns: ({ envelope }) => envelope.kind === 'request' && concerned.has(envelope.method),
    keep(wire) {
      const message = parseWireMessage(wire)
      if (!('method' in message) || !('id' in message)) return
      const uri = isJsonObject(message.params) ? message.params['uri'] : undefined
      if (message.method === 'initialize') initialize = message
      else if (message.method === 'logging/setLevel') level = message
      else if (message.method === 'resources/subscribe') subscriptions.set(uri, message)
      else if (message.method === 'resources/unsubscribe') subscriptions.delete(uri)
    },
    restart() {
      level = undefined
      subscriptions.clear()
    },
    opening() {
      if (initialize === undefined) return undefined
      const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return { initialize: again(initialize), initialized }
    },
    choices() {
      const requests = [...(level === undefined ? [] : [level]), ...subscriptions.values()]
      return requests.map(again)
    },
  }
}
