import { isJsonObject, parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isNestedDeeply, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import {
  intercepted,
  pipeline,
  unheard,
  type Context,
  type Send,
  type Step,
} from '@drawbridge/shared/mcp/pipeline.ts'
import { NetworkError } from '../http/http-client.ts'
import type { SessionOpening } from '../sign-in/session-opening.ts'
import type { SignInStep } from '../sign-in/sign-in-step.ts'
import { isModernDiscovery, mayBeSseServer } from '../transport/revision-detection.ts'
import type { RememberedServer } from '../transport/server-memory.ts'
import { SessionTransport } from '../transport/session-transport.ts'
import { SseTransport } from '../transport/sse.ts'
import { StatelessTransport, type StatelessTransportPorts } from '../transport/stateless-transport.ts'
import {
  TransportError,
  type StreamingTransport,
  type Transport,
  type TransportConfig,
  type TransportPorts,
} from '../transport/transport.ts'
import { mayRepeat } from '../http/retry.ts'

/** A connection to the server, in one revision. */
export interface ServerConnection {
  era: McpEra
  send: Send
  /** The same without sign-in, for requests of the bridge itself. */
  sendBare: Send
  opening: SessionOpening
  close(graceMs: number): Promise<void>
}

export interface ServerConnectionsPorts {
  transport: Omit<StatelessTransportPorts, 'knownTools'>
  remembered: RememberedServer
  signIn(era: McpEra): SignInStep
}

export class ServerConnections {
  readonly #config: TransportConfig & { transport: TransportOrder }
  readonly #ports: ServerConnectionsPorts
  readonly #made = new Set<ServerConnection>()
  readonly #streaming = new Set<StreamingTransport>()
  #modern: ServerConnection | undefined
  #legacy: ServerConnection | undefined
  #latest: ServerConnection | undefined

  constructor(config: TransportConfig & { transport: TransportOrder }, ports: ServerConnectionsPorts) {
    this.#config = config
    this.#ports = ports
  }

  of(era: McpEra): ServerConnection {
    return era === 'modern' ? this.modern() : this.legacy()
  }

  modern(): ServerConnection {
    const { remembered, transport } = this.#ports
    const knownTools = (): readonly JsonObject[] => remembered.known()?.tools ?? []
    return (this.#modern ??= this.#complete(
      new StatelessTransport(this.#config, { ...transport, knownTools }),
      'modern',
      () => 'http',
    ))
  }

  /** The one whose messages pass through unchanged. */
  legacy(): ServerConnection {
    return (this.#legacy ??= this.session(this.#ports.transport.unsolicited))
  }

  /** Makes one more session of the 2025 era, for an adapter. */
  session(unsolicited: (message: WireMessage) => void | Promise<void>): ServerConnection {
    const { remembered, transport } = this.#ports
    const memory = remembered.known()
    const known = memory?.era === 'legacy' ? memory.transport : undefined
    const fallback = new FallbackTransport(this.#config, { ...transport, unsolicited }, known)
    this.#streaming.add(fallback)
    this.#latest = this.#complete(fallback, 'legacy', () => fallback.used ?? 'http')
    return this.#latest
  }

  /**
   * Asks the server of that era for any answer at all. Rejects with `NetworkError` when none comes. Calls `asked` when the question
   * goes out: to wait for a token says nothing about the server.
   */
  async ping(
    era: McpEra | undefined,
    claims: () => JsonObject,
    { signal, asked }: { signal: AbortSignal; asked: () => void },
  ): Promise<void> {
    const { randomId, tokens } = this.#ports.transport
    await tokens.authorization(signal).catch(() => {})
    asked()
    const isModern = era === 'modern'
    const question = isModern
      ? { method: 'server/discover', params: { _meta: claims() } }
      : { method: 'ping' }
    const server = isModern ? this.modern() : (this.#latest ?? this.legacy())
    const message = toWireMessage({ jsonrpc: '2.0', id: randomId(), ...question })
    await server.sendBare(message, { ...unheard, signal }).catch((error: unknown) => {
      if (error instanceof NetworkError) throw error
    })
  }

  reopen(answered: boolean): void {
    for (const transport of this.#streaming) transport.reopen(answered)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#made].map((made) => made.close(graceMs)))
  }

  /** Lists what a message to the server passes before its transport. */
  #complete(
    transport: Transport | StreamingTransport,
    era: McpEra,
    kindOf: () => 'http' | 'sse',
  ): ServerConnection {
    const signIn = this.#ports.signIn(era)
    const remember = new RememberStep(era, kindOf, this.#ports.remembered)
    const last: Send = (message, context) => transport.send(message, context)
    const made: ServerConnection = {
      era,
      send: pipeline([signIn, remember], last),
      sendBare: pipeline([remember], last),
      opening: signIn.opening,
      close: async (graceMs) => {
        signIn.opening.close()
        if ('reopen' in transport) this.#streaming.delete(transport)
        await transport.close(graceMs)
        this.#made.delete(made)
      },
    }
    this.#made.add(made)
    return made
  }
}

/** More is not remembered between connections either. */
const maxListedLength = 8_000_000

/** Learns what the server says of itself: its opening answer and its tools. */
class RememberStep implements Step {
  readonly #era: McpEra
  readonly #transport: () => 'http' | 'sse'
  readonly #remembered: RememberedServer
  #listed: JsonObject[] = []
  #listedLength = 0

  /** `transport`: the one that works, of the two that this era has. */
  constructor(era: McpEra, transport: () => 'http' | 'sse', remembered: RememberedServer) {
    this.#era = era
    this.#transport = transport
    this.#remembered = remembered
  }

  send(message: WireMessage, context: Context, next: Send): Promise<void> {
    const { envelope } = message
    const method = envelope.kind === 'request' ? envelope.method : ''
    const isOpening = method === (this.#era === 'modern' ? 'server/discover' : 'initialize')
    if (!isOpening && method !== 'tools/list') return next(message, context)
    const learning = intercepted(context, (answer, deliver) => {
      const isResult = answer.envelope.kind === 'response' && !answer.envelope.isError
      if (isResult && !isNestedDeeply(answer)) {
        if (isOpening) this.#learnOpening(memberOf(answer, 'result') ?? {})
        else this.#learnTools(message, answer)
      }
      return deliver(answer)
    })
    return next(message, learning)
  }

  #learnOpening(result: JsonObject): void {
    const era = this.#era
    if (era === 'modern' && !isModernDiscovery(result)) return
    const opening = era === 'modern' ? { discoverResult: result } : { initializeResult: result }
    this.#remembered.seen(era, { transport: this.#transport(), ...opening })
  }

  #learnTools(request: WireMessage, answer: WireMessage): void {
    const tools: unknown = memberOf(answer, 'result')?.['tools']
    if (!Array.isArray(tools)) return
    const isFirstPage = memberOf(request, 'params')?.['cursor'] === undefined
    if (isFirstPage) this.#listedLength = 0
    this.#listedLength += answer.text.length
    if (this.#listedLength > maxListedLength) return
    this.#listed = [...(isFirstPage ? [] : this.#listed), ...tools.filter(isJsonObject)]
    this.#remembered.learn({ tools: this.#listed })
  }
}

function memberOf({ text }: WireMessage, name: 'params' | 'result'): JsonObject | undefined {
  const member = parseJsonObject(text)?.[name]
  return isJsonObject(member) ? member : undefined
}

type Kind = 'http' | 'sse'

/** Which transport is tried first, and whether the other is tried too. */
export type TransportOrder = 'http-first' | 'sse-first' | 'http-only' | 'sse-only'

/**
 * A transport up to 2025-11-25 that finds out by its first message whether the server has Streamable HTTP or HTTP+SSE. What
 * is remembered is tried first, unless a transport is pinned. A fallback that fails too is not reported: the first failure is.
 */
class FallbackTransport implements StreamingTransport {
  /** The transport that worked; undefined as long as none did. */
  used: Kind | undefined
  readonly #config: TransportConfig & { transport: TransportOrder }
  readonly #ports: TransportPorts
  readonly #order: readonly [Kind, Kind?]
  readonly #created = new Map<Kind, StreamingTransport>()

  constructor(
    config: TransportConfig & { transport: TransportOrder },
    ports: TransportPorts,
    remembered: Kind | undefined,
  ) {
    this.#config = config
    this.#ports = ports
    this.#order = orderOf(config.transport, remembered)
  }

  async send(message: WireMessage, options: Context): Promise<void> {
    if (this.used !== undefined) return this.#transport(this.used).send(message, options)
    const [first, second] = this.#order
    try {
      await this.#attempt(first, message, options)
    } catch (error) {
      const isWrong = this.used === undefined && isWrongTransport(first, error)
      if (second === undefined || !isWrong || !mayRepeat('other_transport', message.envelope)) throw error
      await this.#attempt(second, message, options).catch((secondError: unknown) => {
        throw isWrongTransport(second, secondError) ? error : secondError
      })
      await this.#created.get(first)?.close(0)
      this.#created.delete(first)
    }
  }

  reopen(answered: boolean): void {
    for (const transport of this.#created.values()) transport.reopen(answered)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#created.values()].map((transport) => transport.close(graceMs)))
  }

  #transport(kind: Kind): StreamingTransport {
    const known = this.#created.get(kind)
    if (known !== undefined) return known
    const Transport = kind === 'http' ? SessionTransport : SseTransport
    const transport = new Transport(this.#config, this.#ports)
    this.#created.set(kind, transport)
    return transport
  }

  /** Any message that comes back shows that the transport is the right one. */
  #attempt(kind: Kind, message: WireMessage, options: Context): Promise<void> {
    const watched = intercepted(options, (answer, deliver) => {
      this.used ??= kind
      return deliver(answer)
    })
    return this.#transport(kind).send(message, watched)
  }
}

function orderOf(transport: TransportOrder, remembered: Kind | undefined): [Kind, Kind?] {
  if (transport === 'http-only') return ['http']
  if (transport === 'sse-only') return ['sse']
  const first = remembered ?? (transport === 'sse-first' ? 'sse' : 'http')
  return first === 'http' ? ['http', 'sse'] : ['sse', 'http']
}

/** A GET that brings no event stream is a 4xx, or 2xx with something else. */
function isWrongTransport(kind: Kind, error: unknown): boolean {
  if (kind === 'http') return mayBeSseServer(error)
  const isOther = error instanceof TransportError
  return isOther && (error.fault === 'not_found' || error.fault === 'refused' || error.fault === 'no_mcp')
}
