import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcNotification } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError } from '../call-error.ts'
import type { ModernUpstream } from './upstream.ts'
import { announcedFilter } from '../subscription-filter.ts'
import { createListenKeeper } from './listen-stream.ts'
import type { ListenFilter } from '../subscription-filter.ts'

/** The subscriptions of a client of the 2025 era, kept for it in one `subscriptions/listen`. */
export interface Subscriptions {
  /** Listens for what the server announces in its capabilities. */
  begin(): void
  /** The result of `resources/subscribe`, once the server listens. Throws {@link CallError}, and as {@link ModernUpstream} does. */
  subscribe(uri: unknown): Promise<JsonObject>
  /** The result of `resources/unsubscribe`. */
  unsubscribe(uri: unknown): Promise<JsonObject>
  /** Listens anew for the same, if it does. */
  reopen(): void
  close(): void
}

/** What subscriptions need. */
export interface SubscriptionPorts {
  /** Tells the client about a change. */
  notice(notification: JsonRpcNotification): Promise<void>
  upstream: ModernUpstream
  runtime: Runtime
  serverCapabilities(): Promise<JsonObject>
}

/** All of them travel in one request. */
const mostSubscriptions = 1000

/** Nothing is sent before `begin` or the first `subscribe`. */
export function createSubscriptions(ports: SubscriptionPorts): Subscriptions {
  const uris = new Set<string>()
  const keeper = createListenKeeper({
    runtime: ports.runtime,
    listen: (notifications, options) =>
      ports.upstream.ask('subscriptions/listen', { notifications }, options),
    notice: ports.notice,
  })

  async function listen(): Promise<ListenFilter> {
    const announced = announcedFilter(await ports.serverCapabilities())
    return keeper.want(uris.size > 0 ? { ...announced, resourceSubscriptions: [...uris] } : announced)
  }

  return {
    begin() {
      // The keeper goes on trying by itself; a client that was not asked for anything has nothing to be told.
      listen().catch(() => {})
    },
    async subscribe(value) {
      const uri = readUri(value)
      if (uris.has(uri)) return {}
      if (uris.size >= mostSubscriptions)
        throw new CallError(
          jsonRpcCode.internalError,
          `No more than ${mostSubscriptions} subscriptions are kept.`,
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
    reopen: () => keeper.reopen(),
    close() {
      keeper.close()
    },
  }
}

function readUri(value: unknown): string {
  if (typeof value === 'string') return value
  throw new CallError(jsonRpcCode.invalidParams, 'uri must be a string')
}
