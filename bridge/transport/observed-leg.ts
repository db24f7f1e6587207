import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isModernDiscovery } from './era-detection.ts'
import { isNestedDeeply } from '@drawbridge/shared/mcp/message.ts'
import type { RememberedServer } from './remembered-server.ts'
import type { RemoteLeg, SendOptions } from './remote-leg.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** More is not remembered between connections either. */
const mostListedBytes = 8_000_000

/** A leg that learns what the server says of itself: its opening answer and its tools. Passes everything on as it is. */
export function createObservedLeg(
  leg: RemoteLeg,
  ports: {
    era: McpEra
    transport(): 'http' | 'sse'
    remembered: RememberedServer
    /** The server has given an answer that only this era has. A request of our own may have asked in another than is assumed. */
    proved(era: McpEra): void
  },
): RemoteLeg {
  let listed: JsonObject[] = []
  let listedBytes = 0

  function learnOpening(result: JsonObject): void {
    const { era } = ports
    if (era === 'modern' && !isModernDiscovery(result)) return
    ports.proved(era)
    const transport = ports.transport()
    ports.remembered.learn(
      era === 'modern'
        ? { era, transport, discoverResult: result }
        : { era, transport, initializeResult: result },
    )
  }

  function learnTools(request: WireMessage, answer: WireMessage): void {
    const result = resultOf(answer)
    const tools: unknown = result?.['tools']
    if (!Array.isArray(tools)) return
    const isFirstPage = paramsOf(request)?.['cursor'] === undefined
    if (isFirstPage) listedBytes = 0
    listedBytes += answer.text.length
    if (listedBytes > mostListedBytes) return
    listed = [...(isFirstPage ? [] : listed), ...tools.filter(isJsonObject)]
    ports.remembered.learn({ tools: listed })
  }

  function watch(options: SendOptions, learn: (answer: WireMessage) => void): SendOptions {
    return {
      ...options,
      deliver(message) {
        const { envelope } = message
        const isResult = envelope.kind === 'response' && !envelope.isError
        if (isResult && !isNestedDeeply(message)) learn(message)
        return options.deliver(message)
      },
    }
  }

  return {
    send(message, options) {
      const { envelope } = message
      if (envelope.kind !== 'request') return leg.send(message, options)
      switch (envelope.method) {
        case ports.era === 'modern' ? 'server/discover' : 'initialize':
          return leg.send(
            message,
            watch(options, (answer) => learnOpening(resultOf(answer) ?? {})),
          )
        case 'tools/list':
          return leg.send(
            message,
            watch(options, (answer) => learnTools(message, answer)),
          )
        default:
          return leg.send(message, options)
      }
    },
    close: (graceMs) => leg.close(graceMs),
  }
}

function resultOf(answer: WireMessage): JsonObject | undefined {
  const result = parseJsonObject(answer.text)?.['result']
  return isJsonObject(result) ? result : undefined
}

function paramsOf(request: WireMessage): JsonObject | undefined {
  const params = parseJsonObject(request.text)?.['params']
  return isJsonObject(params) ? params : undefined
}
