import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcNotification } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError } from '../call-error.ts'
import type { Upstream2026 } from './request.ts'
import { announcedFilter } from '../subscription-filter.ts'
import { createListenStream } from './listen-stream.ts'
import type { SubscriptionFilter } from '../subscription-filter.ts'

/** The subscriptions of a 2025 client, held in one `subscriptions/listen`. */
export interface Subscriptions {
  /** Listens for what the server announces in its capabilities. */
  begin(): void
  /** The result of `resources/subscribe`, once the server listens. Throws {@link CallError}, and as {@link Upstream2026} does. */
  subscribe(uri: unknown): Promise<JsonObject>
  /** The result of `resources/unsubscribe`. */
  unsubscribe(uri: unknown): Promise<JsonObject>
  /** Reopens the stream, if there is one. */
  reopen(): void
  close(): void
}

export interface SubscriptionPorts {
  /** Tells the client about a change. */
  notice(notification: JsonRpcNotification): Promise<void>
  upstream: Upstream2026
  runtime: Runtime
  serverCapabilities(): Promise<JsonObject>
}

/** All of them travel in one request. */
const maxSubscriptions = 1000

/** Nothing is sent before `begin` or the first `subscribe`. */
export function createSubscriptions(ports: SubscriptionPorts): Subscriptions {
  const uris = new Set<string>()
  const stream = createListenStream({
    runtime: ports.runtime,
    listen: (notifications, options) =>
      ports.upstream.request('subscriptions/listen', { notifications }, options),
    notice: ports.notice,
  })

  async function listen(): Promise<SubscriptionFilter> {
    const announced = announcedFilter(await ports.serverCapabilities())
    return stream.want(uris.size > 0 ? { ...announced, resourceSubscriptions: [...uris] } : announced)
  }

  return {
    begin() {
      // The stream retries by itself, and no client request waits for the outcome.
      listen().catch(() => {})
    },
    async subscribe(value) {
      const uri = readUri(value)
      if (uris.has(uri)) return {}
      if (uris.size >= maxSubscriptions)
        throw new CallError(
          jsonRpcCode.internalError,
          `No more than ${maxSubscriptions} subscriptions are kept.`,
        )
      uris.add(uri)
      try {
        const { resourceSubscriptions: honoured = [] } = await listen()
        if (honoured.includes(uri)) return {}
        throw new CallError(
          jsonRpcCode.internalError,
          'The server does not tell about changes of this resource.',
        )
      } catch (error) {
        uris.delete(uri)
        listen().catch(() => {})
        throw error
      }
    },
    async unsubscribe(value) {
      if (uris.delete(readUri(value))) listen().catch(() => {})
      return {}
    },
    reopen: () => stream.reopen(),
    close() {
      stream.close()
    },
  }
}

function readUri(value: unknown): string {
  if (typeof value === 'string') return value
  throw new CallError(jsonRpcCode.invalidParams, 'uri must be a string')
}
