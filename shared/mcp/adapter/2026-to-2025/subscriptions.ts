import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcNotification } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import { CallError } from '../call-error.ts'
import {
  acceptsNotice,
  honouredFilter,
  isEmptyFilter,
  readSubscriptionFilter,
} from '../subscription-filter.ts'
import type { SubscriptionFilter } from '../subscription-filter.ts'
import type { LocalCall } from '../local-calls.ts'
import { metaOf } from '../params.ts'
import { signed } from './result.ts'
import type { UpstreamSession } from './sessions.ts'

/** Serves `subscriptions/listen` to a 2026-07-28 client from 2025 sessions. */
export interface Subscriptions {
  /**
   * Acknowledges, and keeps the call open until the client cancels it; answers it at once if there is nothing to listen for.
   * Releases the session in the end. Throws {@link CallError} for a filter that breaks the rules.
   */
  serve(call: LocalCall, session: UpstreamSession): Promise<void>
  /** Passes a change notice of a session to everyone who listens for it. */
  notice(session: UpstreamSession, notification: JsonRpcNotification): Promise<void>
}

interface Listener {
  call: LocalCall
  session: UpstreamSession
  filter: SubscriptionFilter
  /** Notices that came before the acknowledgement, which has to be the first message. */
  early: JsonRpcNotification[] | undefined
}

const maxListeners = 64
const maxResources = 1000
const maxEarly = 100

/** Resources are subscribed to once a session, however many listen. */
export function createSubscriptions(): Subscriptions {
  const listeners = new Set<Listener>()
  const subscribed = new WeakMap<
    UpstreamSession,
    Map<string, { listeners: number; works: Promise<boolean> }>
  >()

  async function subscribe(session: UpstreamSession, uri: string): Promise<boolean> {
    const uris = subscribed.get(session) ?? new Map<string, { listeners: number; works: Promise<boolean> }>()
    subscribed.set(session, uris)
    const entry = uris.get(uri) ?? { listeners: 0, works: request(session, 'resources/subscribe', uri) }
    uris.set(uri, entry)
    entry.listeners += 1
    return entry.works
  }

  function unsubscribe(session: UpstreamSession, uri: string): void {
    const uris = subscribed.get(session)
    const entry = uris?.get(uri)
    if (uris === undefined || entry === undefined) return
    entry.listeners -= 1
    if (entry.listeners > 0) return
    uris.delete(uri)
    void entry.works.then((works) => (works ? request(session, 'resources/unsubscribe', uri) : false))
  }

  async function subscribeAll(
    session: UpstreamSession,
    filter: SubscriptionFilter,
  ): Promise<SubscriptionFilter> {
    const { resourceSubscriptions: uris = [], ...kinds } = filter
    const works = await Promise.all(uris.map((uri) => subscribe(session, uri)))
    const honoured = uris.filter((uri, index) => {
      if (works[index] !== true) unsubscribe(session, uri)
      return works[index] === true
    })
    return honoured.length > 0 ? { ...kinds, resourceSubscriptions: honoured } : kinds
  }

  function leave(listener: Listener): void {
    if (!listeners.delete(listener)) return
    for (const uri of listener.filter.resourceSubscriptions ?? []) unsubscribe(listener.session, uri)
    listener.session.release()
  }

  return {
    async serve(call, session) {
      const wanted = readSubscriptionFilter(call.request.params?.['notifications'])
      const fault = refusal(wanted, listeners.size)
      if (wanted === undefined || fault !== undefined) {
        session.release()
        throw fault
      }
      const possible = honouredFilter(wanted, session.serverCapabilities)
      const listener: Listener = { call, session, filter: possible, early: [] }
      listeners.add(listener)
      const filter = await subscribeAll(session, possible)
      listener.filter = filter
      if (!call.isOpen()) return leave(listener)
      call.signal.addEventListener('abort', () => leave(listener), { once: true })
      const params = { notifications: filter }
      await call.notify(
        tagged(call, { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }),
      )
      for (const notice of listener.early ?? []) await call.notify(tagged(call, notice))
      listener.early = undefined
      if (!isEmptyFilter(filter)) return
      leave(listener)
      const meta = { [mcpMetaKey.subscriptionId]: call.request.id }
      await call.answer({
        resultType: 'complete',
        _meta: signed(meta, session.remote.initialized['serverInfo']),
      })
    },
    async notice(session, notification) {
      for (const { call, session: own, filter, early } of listeners) {
        if (own !== session || !acceptsNotice(filter, notification)) continue
        if (early === undefined) await call.notify(tagged(call, notification))
        else if (early.length < maxEarly) early.push(notification)
      }
    },
  }
}

function refusal(filter: SubscriptionFilter | undefined, listeners: number): CallError | undefined {
  if (filter === undefined) return new CallError(jsonRpcCode.invalidParams, 'notifications must be a filter')
  if ((filter.resourceSubscriptions ?? []).length > maxResources)
    return new CallError(jsonRpcCode.invalidParams, `No more than ${maxResources} resources a subscription.`)
  if (listeners < maxListeners) return undefined
  return new CallError(jsonRpcCode.internalError, `No more than ${maxListeners} subscriptions at a time.`)
}

/** Whether the server did it. */
async function request(session: UpstreamSession, method: string, uri: string): Promise<boolean> {
  try {
    return !('error' in (await session.request(session.nextId(), method, { uri })))
  } catch {
    return false
  }
}

function tagged({ request: { id } }: LocalCall, notification: JsonRpcNotification): JsonRpcNotification {
  const { params } = notification
  const _meta = { ...metaOf(params), [mcpMetaKey.subscriptionId]: id }
  return { ...notification, params: { ...params, _meta } }
}
