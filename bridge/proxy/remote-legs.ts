import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import { createCorrectedLeg } from '../transport/corrected-leg.ts'
import { createLegacyLeg } from '../transport/legacy-leg.ts'
import { createLegacyTransport } from '../transport/legacy-transport.ts'
import { createModernLeg } from '../transport/modern-leg.ts'
import { createObservedLeg } from '../transport/observed-leg.ts'
import type { RelayConfig } from './relay-config.ts'
import type { RememberedServer } from '../transport/remembered-server.ts'
import type { RemoteLeg, RemoteLegPorts, StreamingLeg } from '../transport/remote-leg.ts'
import { createSignInBeside } from '../sign-in/sign-in-beside.ts'
import type { SignInBesidePorts } from '../sign-in/sign-in-beside.ts'
import { createSseLeg } from '../transport/sse-leg.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** A leg as calls use it, and what is below its sign-in, for requests of our own. */
export interface FullLeg {
  leg: RemoteLeg
  bare: RemoteLeg
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
  tokens: Pick<RemoteLegPorts, 'authorization' | 'refused'>
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
  const made = new Set<RemoteLeg>()
  const streaming = new Set<StreamingLeg>()
  let modern: FullLeg | undefined
  let legacy: FullLeg | undefined
  let latest: FullLeg | undefined

  function legPorts(unsolicited: RemoteLegPorts['unsolicited']): Parameters<typeof createModernLeg>[1] {
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
    leg: RemoteLeg,
    era: 'modern' | 'legacy',
    transport: () => 'http' | 'sse',
    closed: () => void = () => {},
  ): FullLeg {
    const { remembered, proved } = ports
    const bare = createObservedLeg(leg, { era, transport, remembered, proved })
    const full = createSignInBeside(bare, { era, waitMs: config.signInWaitMs, toolWaitMs }, ports)
    let closing: Promise<void> | undefined
    const once: RemoteLeg = {
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

  function makeLegacy(unsolicited: RemoteLegPorts['unsolicited']): FullLeg {
    const { transport } = config
    const memory = ports.remembered.known()
    const remembered = memory?.era === 'legacy' ? memory.transport : undefined
    const way = createLegacyTransport(
      { transport, remembered },
      {
        http: () => createLegacyLeg(legConfig, legPorts(unsolicited)),
        sse: () => createSseLeg(legConfig, legPorts(unsolicited)),
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
      const leg = createModernLeg(legConfig, legPorts(ports.unsolicited))
      const { warn, randomId } = ports
      const known = () => ports.remembered.known()?.tools ?? []
      modern = complete(createCorrectedLeg(leg, { known, warn, randomId }), 'modern', () => 'http')
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
