import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import { SessionTransport } from '../transport/session-transport.ts'
import { FallbackTransport } from '../transport/transport-fallback.ts'
import { StatelessTransport } from '../transport/stateless-transport.ts'
import { observeServer } from '../transport/server-memory.ts'
import type { RelayConfig } from './relay-config.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import type { Transport, TransportPorts, StreamingTransport } from '../transport/transport.ts'
import { createSignInBeside } from '../sign-in/sign-in-beside.ts'
import type { SignInBesidePorts } from '../sign-in/sign-in-beside.ts'
import { SseTransport } from '../transport/sse.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** A leg as calls use it, and what is below its sign-in, for requests of our own. */
export interface FullLeg {
  leg: Transport
  bare: Transport
}

/** The legs of a connection, each made when it is first used. */
export interface RemoteLegs {
  modern(): FullLeg
  /** The one whose messages pass through. */
  legacy(): FullLeg
  /** One more session of the 2025 era, for a translator. */
  legacySession(onMessage: (message: WireMessage) => void | Promise<void>): FullLeg
  /** The leg of the 2025 era that was made last. */
  latestLegacy(): FullLeg
  /** Opens the streams again that legs keep open. */
  reopen(answered: boolean): void
  close(graceMs: number): Promise<void>
}

/** What legs are made of. */
export interface RemoteLegsPorts extends SignInBesidePorts {
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

/** Each leg, from the inside: HTTP; for the newer era headers of tools; what is remembered; the sign-in beside. */
export function createRemoteLegs(config: RelayConfig, ports: RemoteLegsPorts): RemoteLegs {
  const legConfig = { serverUrl: config.serverUrl, headers: config.headers, retryMs: config.retryMs }
  const made = new Set<Transport>()
  const streaming = new Set<StreamingTransport>()
  let modern: FullLeg | undefined
  let legacy: FullLeg | undefined
  let latest: FullLeg | undefined

  function legPorts(unsolicited: TransportPorts['unsolicited']): TransportPorts {
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
    leg: Transport,
    era: 'modern' | 'legacy',
    transport: () => 'http' | 'sse',
    closed: () => void = () => {},
  ): FullLeg {
    const { remembered, proved } = ports
    const bare = observeServer(leg, { era, transport, remembered, proved })
    const full = createSignInBeside(bare, { era, waitMs: config.signInWaitMs, toolWaitMs }, ports)
    let closing: Promise<void> | undefined
    const once: Transport = {
      send: full.send,
      // Translators close their sessions, and so does the end of the relay: one DELETE is enough.
      close(graceMs) {
        closed()
        return (closing ??= full.close(graceMs).finally(() => made.delete(once)))
      },
    }
    made.add(once)
    return { leg: once, bare }
  }

  function makeLegacy(unsolicited: TransportPorts['unsolicited']): FullLeg {
    const { transport } = config
    const memory = ports.remembered.known()
    const remembered = memory?.era === 'legacy' ? memory.transport : undefined
    const way = new FallbackTransport(
      { transport, remembered },
      {
        http: () => new SessionTransport(legConfig, legPorts(unsolicited)),
        sse: () => new SseTransport(legConfig, legPorts(unsolicited)),
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
      const own = { ...legPorts(ports.unsolicited), knownTools, warn, randomId }
      modern = complete(new StatelessTransport(legConfig, own), 'modern', () => 'http')
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
      for (const leg of streaming) leg.reopen(answered)
    },
    async close(graceMs) {
      await Promise.all([...made].map((leg) => leg.close(graceMs)))
    },
  }
}
