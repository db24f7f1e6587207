import type { JsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcNotification } from '../json-rpc.ts'
import { CallError } from './call-error.ts'
import type { AdapterRuntime } from './ports.ts'
import { announcedFilter, type SubscriptionFilter } from './subscription-filter.ts'
import { ListenStream } from './listen-stream.ts'
import type { Upstream2026 } from './upstream.ts'

/** All of them travel in one request. */
const maxSubscriptions = 1000

/** The subscriptions of a 2025 client, held in one `subscriptions/listen`. Sends nothing before `start` or the first `subscribe`. */
export class Subscriptions {
  readonly #upstream: Upstream2026
  readonly #stream: ListenStream
  readonly #uris = new Set<string>()

  /** `notify` sends the client a change notification. */
  constructor(
    upstream: Upstream2026,
    runtime: AdapterRuntime,
    notify: (notification: JsonRpcNotification) => Promise<void>,
  ) {
    this.#upstream = upstream
    this.#stream = new ListenStream({
      listen: (notifications, options) =>
        upstream.request('subscriptions/listen', { notifications }, options),
      notify,
      runtime,
    })
  }

  /** The result of `resources/subscribe`, once the server listens. Throws {@link CallError}, and as {@link Upstream2026} does. */
  async subscribe(value: unknown): Promise<JsonObject> {
    const uri = readUri(value)
    if (this.#uris.has(uri)) return {}
    if (this.#uris.size >= maxSubscriptions)
      throw new CallError(
        jsonRpcCode.internalError,
        `At most ${maxSubscriptions} resources can be subscribed to.`,
      )
    this.#uris.add(uri)
    try {
      const { resourceSubscriptions: honoured = [] } = await this.#listen()
      if (honoured.includes(uri)) return {}
      throw new CallError(jsonRpcCode.internalError, 'The server does not report changes of this resource.')
    } catch (error) {
      this.#uris.delete(uri)
      this.start()
      throw error
    }
  }

  async unsubscribe(value: unknown): Promise<JsonObject> {
    if (this.#uris.delete(readUri(value))) this.start()
    return {}
  }

  reopen(): void {
    this.#stream.reopen()
  }

  close(): void {
    this.#stream.close()
  }

  /** Listens for the changes that the server announces. Does not wait: the stream retries by itself. */
  start(): void {
    this.#listen().catch(() => {})
  }

  async #listen(): Promise<SubscriptionFilter> {
    const announced = announcedFilter(await this.#upstream.capabilities())
    const uris = [...this.#uris]
    return this.#stream.setFilter(uris.length > 0 ? { ...announced, resourceSubscriptions: uris } : announced)
  }
}

function readUri(value: unknown): string {
  if (typeof value === 'string') return value
  throw new CallError(jsonRpcCode.invalidParams, 'uri must be a string')
}
