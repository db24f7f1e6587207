import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { mayBeSseServer } from './revision-detection.ts'
import { TransportError } from './transport.ts'
import type { SendOptions, StreamingTransport } from './transport.ts'

type Kind = 'http' | 'sse'

/** Which transport is tried first, and whether the other is tried too. */
export type TransportOrder = 'http-first' | 'sse-first' | 'http-only' | 'sse-only'

/**
 * A transport up to 2025-11-25 that finds out by its first message whether the server has Streamable HTTP or HTTP+SSE. What
 * is remembered is tried first, unless a transport is pinned. A fallback that fails too is not reported: the first failure is.
 */
export class FallbackTransport implements StreamingTransport {
  readonly #order: readonly [Kind, Kind?]
  readonly #create: Record<Kind, () => StreamingTransport>
  readonly #created = new Map<Kind, StreamingTransport>()
  #used: Kind | undefined

  constructor(
    config: { transport: TransportOrder; remembered: Kind | undefined },
    create: Record<Kind, () => StreamingTransport>,
  ) {
    this.#order = orderOf(config.transport, config.remembered)
    this.#create = create
  }

  /** What worked; undefined as long as nothing did. */
  used(): Kind | undefined {
    return this.#used
  }

  async send(message: WireMessage, options: SendOptions): Promise<void> {
    if (this.#used !== undefined) return this.#transport(this.#used).send(message, options)
    const [first, second] = this.#order
    try {
      await this.#attempt(first, message, options)
    } catch (error) {
      if (second === undefined || this.#used !== undefined || !isWrongTransport(first, error)) throw error
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
    const transport = this.#created.get(kind) ?? this.#create[kind]()
    this.#created.set(kind, transport)
    return transport
  }

  /** Any message that comes back shows that the transport is the right one. */
  #attempt(kind: Kind, message: WireMessage, options: SendOptions): Promise<void> {
    return this.#transport(kind).send(message, {
      ...options,
      deliver: (answer) => {
        this.#used ??= kind
        return options.deliver(answer)
      },
    })
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
