import { jsonRpcCode, type JsonRpcNotification } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import { CallError } from '../call-error.ts'
import {
  acceptsNotification,
  honouredFilter,
  isEmptyFilter,
  readSubscriptionFilter,
  type SubscriptionFilter,
} from '../subscription-filter.ts'
import type { ClientCall } from '../client-calls.ts'
import { metaOf } from '../../params.ts'
import { withServerInfo } from './result.ts'
import type { UpstreamSession } from './sessions.ts'

interface Listener {
  call: ClientCall
  session: UpstreamSession
  filter: SubscriptionFilter
  /** Notifications that came before the acknowledgement, which has to be the first message. */
  early: JsonRpcNotification[] | undefined
}

/** A resource of a session, subscribed to once however many listen. */
interface ResourceSubscription {
  listeners: number
  /** Resolves with true if the server accepted it. */
  isAccepted: Promise<boolean>
}

const maxListeners = 64
const maxResources = 1000
const maxEarly = 100

/** Serves `subscriptions/listen` to a 2026-07-28 client from 2025 sessions. */
export class Subscriptions {
  readonly #listeners = new Set<Listener>()
  readonly #resources = new WeakMap<UpstreamSession, Map<string, ResourceSubscription>>()

  /**
   * Acknowledges, and keeps the call open until the client cancels it; answers it at once if there is nothing to listen for.
   * Releases the session in the end. Throws {@link CallError} for an invalid filter.
   */
  async serve(call: ClientCall, session: UpstreamSession): Promise<void> {
    const listener = this.#addListener(call, session)
    listener.filter = await this.#subscribeAll(session, listener.filter)
    if (!call.isOpen()) return this.#removeListener(listener)
    call.signal.addEventListener('abort', () => this.#removeListener(listener), { once: true })
    const params = { notifications: listener.filter }
    await call.notify(
      withSubscriptionId(call, {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params,
      }),
    )
    for (const notification of listener.early ?? []) await call.notify(withSubscriptionId(call, notification))
    listener.early = undefined
    if (!isEmptyFilter(listener.filter)) return
    this.#removeListener(listener)
    const meta = { [mcpMetaKey.subscriptionId]: call.request.id }
    await call.answer({ resultType: 'complete', _meta: withServerInfo(meta, session.serverInfo) })
  }

  /** Passes a change notification of a session to everyone who listens for it. */
  async notify(session: UpstreamSession, notification: JsonRpcNotification): Promise<void> {
    for (const { call, session: own, filter, early } of this.#listeners) {
      if (own !== session || !acceptsNotification(filter, notification)) continue
      if (early === undefined) await call.notify(withSubscriptionId(call, notification))
      else if (early.length < maxEarly) early.push(notification)
    }
  }

  #addListener(call: ClientCall, session: UpstreamSession): Listener {
    try {
      const requested = readFilter(call, this.#listeners.size)
      const filter = honouredFilter(requested, session.serverCapabilities)
      const listener: Listener = { call, session, filter, early: [] }
      this.#listeners.add(listener)
      return listener
    } catch (error) {
      session.release()
      throw error
    }
  }

  #removeListener(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return
    for (const uri of listener.filter.resourceSubscriptions ?? []) this.#unsubscribe(listener.session, uri)
    listener.session.release()
  }

  /** The filter without the resources that the server does not accept. */
  async #subscribeAll(session: UpstreamSession, filter: SubscriptionFilter): Promise<SubscriptionFilter> {
    const { resourceSubscriptions: uris = [], ...lists } = filter
    const isAccepted = await Promise.all(uris.map((uri) => this.#subscribe(session, uri)))
    const honoured = uris.filter((uri, index) => {
      if (isAccepted[index] !== true) this.#unsubscribe(session, uri)
      return isAccepted[index] === true
    })
    return honoured.length > 0 ? { ...lists, resourceSubscriptions: honoured } : lists
  }

  async #subscribe(session: UpstreamSession, uri: string): Promise<boolean> {
    const resources = this.#resources.get(session) ?? new Map<string, ResourceSubscription>()
    this.#resources.set(session, resources)
    const resource = resources.get(uri) ?? {
      listeners: 0,
      isAccepted: request(session, 'resources/subscribe', uri),
    }
    resources.set(uri, resource)
    resource.listeners += 1
    return resource.isAccepted
  }

  #unsubscribe(session: UpstreamSession, uri: string): void {
    const resources = this.#resources.get(session)
    const resource = resources?.get(uri)
    if (resources === undefined || resource === undefined) return
    resource.listeners -= 1
    if (resource.listeners > 0) return
    resources.delete(uri)
    void resource.isAccepted.then((isAccepted) =>
      isAccepted ? request(session, 'resources/unsubscribe', uri) : false,
    )
  }
}

/** Throws {@link CallError} for an invalid filter, and if there are too many listeners. */
function readFilter({ request: { params } }: ClientCall, listeners: number): SubscriptionFilter {
  const filter = readSubscriptionFilter(params?.['notifications'])
  if (filter === undefined) throw new CallError(jsonRpcCode.invalidParams, 'notifications must be a filter')
  if ((filter.resourceSubscriptions ?? []).length > maxResources)
    throw new CallError(
      jsonRpcCode.invalidParams,
      `A subscription can have at most ${maxResources} resources.`,
    )
  if (listeners >= maxListeners)
    throw new CallError(
      jsonRpcCode.internalError,
      `At most ${maxListeners} subscriptions can be open at a time.`,
    )
  return filter
}

async function request(session: UpstreamSession, method: string, uri: string): Promise<boolean> {
  try {
    await session.request(method, { uri })
    return true
  } catch {
    return false
  }
}

function withSubscriptionId(
  { request: { id } }: ClientCall,
  notification: JsonRpcNotification,
): JsonRpcNotification {
  const { params } = notification
  const _meta = { ...metaOf(params), [mcpMetaKey.subscriptionId]: id }
  return { ...notification, params: { ...params, _meta } }
}
