import { mayBeSseServer } from './era-detection.ts'
import type { RelayConfig } from '../proxy/relay-config.ts'
import { RemoteError } from './remote-leg.ts'
import type { RemoteLeg, StreamingLeg } from './remote-leg.ts'

/** A leg of the 2025 era that finds out by its first message whether the server has Streamable HTTP or HTTP+SSE. */
export interface LegacyTransport extends StreamingLeg {
  /** What worked; undefined as long as nothing did. */
  used(): 'http' | 'sse' | undefined
}

/** `remembered` is tried first, unless a transport is pinned. A fallback that fails too is not reported: the first failure is. */
export function createLegacyTransport(
  config: { transport: RelayConfig['transport']; remembered: 'http' | 'sse' | undefined },
  make: { http(): StreamingLeg; sse(): StreamingLeg },
): LegacyTransport {
  const order = transportOrder(config.transport, config.remembered)
  const legs = new Map<'http' | 'sse', StreamingLeg>()
  let used: 'http' | 'sse' | undefined

  function legOf(transport: 'http' | 'sse'): StreamingLeg {
    const leg = legs.get(transport) ?? make[transport]()
    legs.set(transport, leg)
    return leg
  }

  /** Any message that comes back shows that the transport is the right one. */
  function attempt(
    transport: 'http' | 'sse',
    ...[message, options]: Parameters<RemoteLeg['send']>
  ): Promise<void> {
    return legOf(transport).send(message, {
      ...options,
      deliver(answer) {
        used ??= transport
        return options.deliver(answer)
      },
    })
  }

  const findOut: RemoteLeg['send'] = async (message, options) => {
    const [first, second] = order
    try {
      await attempt(first, message, options)
    } catch (error) {
      if (second === undefined || used !== undefined || !isWrongTransport(first, error)) throw error
      await attempt(second, message, options).catch((secondError: unknown) => {
        throw isWrongTransport(second, secondError) ? error : secondError
      })
      await legs.get(first)?.close(0)
      legs.delete(first)
    }
  }

  return {
    send: (message, options) =>
      used === undefined ? findOut(message, options) : legOf(used).send(message, options),
    reopen(answered) {
      for (const leg of legs.values()) leg.reopen(answered)
    },
    async close(graceMs) {
      await Promise.all([...legs.values()].map((leg) => leg.close(graceMs)))
    },
    used: () => used,
  }
}

function transportOrder(
  transport: RelayConfig['transport'],
  remembered: 'http' | 'sse' | undefined,
): ['http' | 'sse', ('http' | 'sse')?] {
  if (transport === 'http-only') return ['http']
  if (transport === 'sse-only') return ['sse']
  const first = remembered ?? (transport === 'sse-first' ? 'sse' : 'http')
  return first === 'http' ? ['http', 'sse'] : ['sse', 'http']
}

/** A GET that brings no event stream is a 4xx, or 2xx with something else. */
function isWrongTransport(transport: 'http' | 'sse', error: unknown): boolean {
  if (transport === 'http') return mayBeSseServer(error)
  return (
    error instanceof RemoteError &&
    (error.fault === 'not_found' || error.fault === 'refused' || error.fault === 'no_mcp')
  )
}
