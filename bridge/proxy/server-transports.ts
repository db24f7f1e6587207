import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import { SessionTransport } from '../transport/session-transport.ts'
import { FallbackTransport } from '../transport/transport-fallback.ts'
import { StatelessTransport } from '../transport/stateless-transport.ts'
import { observeServer } from '../transport/server-memory.ts'
import type { McpProxyConfig } from './proxy-config.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import type { Transport, TransportPorts, StreamingTransport } from '../transport/transport.ts'
import { AuthMiddleware } from '../sign-in/auth-middleware.ts'
import type { AuthMiddlewarePorts } from '../sign-in/auth-middleware.ts'
import { SseTransport } from '../transport/sse.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** A transport with its auth middleware, and the bare one below, for requests of the bridge itself. */
export interface ServerTransport {
  transport: Transport
  bare: Transport
}

/** The transports of a connection, each made when it is first used. */
export interface ServerTransports {
  modern(): ServerTransport
  /** The one whose messages pass through. */
  legacy(): ServerTransport
  /** One more session of the 2025 era, for a translator. */
  legacySession(onMessage: (message: WireMessage) => void | Promise<void>): ServerTransport
  /** The newest transport up to 2025-11-25. */
  latestLegacy(): ServerTransport
  /** Opens the streams again that transports keep open. */
  reopen(answered: boolean): void
  close(graceMs: number): Promise<void>
}

/** What transports are made of. */
export interface ServerTransportsPorts extends AuthMiddlewarePorts {
  http: HttpClient
  runtime: Runtime
  tokens: Pick<TransportPorts, 'authorization' | 'refused'>
  remembered: RememberedServer
  unsolicited(message: WireMessage): Promise<void>
  proved(era: 'modern' | 'legacy'): void
  warn(text: string): void
  note(text: string): void
  randomId(): string
}

/** Host limits for a call are 60 s and more. */
const toolWaitMs = 20_000

/** Each transport, from the inside: HTTP, the memory of the server, the auth middleware. */
export function createServerTransports(
  config: McpProxyConfig,
  ports: ServerTransportsPorts,
): ServerTransports {
  const transportConfig = { serverUrl: config.serverUrl, headers: config.headers, retryMs: config.retryMs }
  const made = new Set<Transport>()
  const streaming = new Set<StreamingTransport>()
  let modern: ServerTransport | undefined
  let legacy: ServerTransport | undefined
  let latest: ServerTransport | undefined

  function transportPorts(unsolicited: TransportPorts['unsolicited']): TransportPorts {
    const { http, runtime, tokens, note } = ports
    return {
      http,
      runtime,
      note,
      unsolicited,
      authorization: (signal) => tokens.authorization(signal),
      refused: (refusal) => tokens.refused(refusal),
    }
  }

  function complete(
    inner: Transport,
    era: 'modern' | 'legacy',
    transport: () => 'http' | 'sse',
    closed: () => void = () => {},
  ): ServerTransport {
    const { remembered, proved } = ports
    const bare = observeServer(inner, { era, transport, remembered, proved })
    const { version, signInWaitMs: waitMs } = config
    const full = new AuthMiddleware(bare, { era, version, waitMs, toolWaitMs }, ports)
    let closing: Promise<void> | undefined
    const once: Transport = {
      send: (message, options) => full.send(message, options),
      // Translators close their sessions, and so does the end of the proxy: one DELETE is enough.
      close(graceMs) {
        closed()
        return (closing ??= full.close(graceMs).finally(() => made.delete(once)))
      },
    }
    made.add(once)
    return { transport: once, bare }
  }

  function makeLegacy(unsolicited: TransportPorts['unsolicited']): ServerTransport {
    const { transport } = config
    const memory = ports.remembered.known()
    const remembered = memory?.era === 'legacy' ? memory.transport : undefined
    const way = new FallbackTransport(
      { transport, remembered },
      {
        http: () => new SessionTransport(transportConfig, transportPorts(unsolicited)),
        sse: () => new SseTransport(transportConfig, transportPorts(unsolicited)),
      },
    )
    streaming.add(way)
    latest = complete(
      way,
      'legacy',
      () => way.used() ?? 'http',
      () => streaming.delete(way),
    )
    return latest
  }

  return {
    modern() {
      if (modern !== undefined) return modern
      const { warn, randomId } = ports
      const knownTools = () => ports.remembered.known()?.tools ?? []
      const own = { ...transportPorts(ports.unsolicited), knownTools, warn, randomId }
      modern = complete(new StatelessTransport(transportConfig, own), 'modern', () => 'http')
      return modern
    },
    legacy() {
      legacy ??= makeLegacy(ports.unsolicited)
      return legacy
    },
    legacySession: makeLegacy,
    latestLegacy() {
      return latest ?? this.legacy()
    },
    reopen(answered) {
      for (const transport of streaming) transport.reopen(answered)
    },
    async close(graceMs) {
      await Promise.all([...made].map((transport) => transport.close(graceMs)))
    },
  }
}
