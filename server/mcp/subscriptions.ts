import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  isEmptyFilter,
  readSubscriptionFilter,
  type SubscriptionFilter,
} from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcNotification,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { McpEndpointConfig } from './endpoint-config.ts'
import { type Incoming, isTooLongToKeep, maxKeptLength } from './incoming.ts'
import { messageEvent, openEventStream } from './event-stream.ts'
import { isEventStream, type Reply } from '@drawbridge/shared/text-response.ts'
import type { OpenStreams } from './open-streams.ts'
import { signedIn } from '../core/tokens/caller.ts'

/** Maximum number of open `subscriptions/listen` streams. */
export interface SubscriptionLimits {
  total: number
  perUser: number
}

export const subscriptionLimits: SubscriptionLimits = { total: 1024, perUser: 64 }

/** A slot for one stream, acquired as soon as the stream is requested. */
export interface SubscriptionSlot {
  userId: string
  /** Aborted when a user with fewer streams needs the slot. */
  evicted: AbortSignal
  release(): void
}

/**
 * Limits the streams of `subscriptions/listen` in this process. A slot is taken before anything is awaited, so concurrent
 * requests get no more than sequential ones. When all slots are taken, the user with the most streams gives up the oldest, unless
 * that would leave them with fewer than the newcomer: no user can lock the others out.
 */
export class SubscriptionSlots {
  readonly #limits: SubscriptionLimits
  readonly #slots = new Set<SubscriptionSlot & { evict: () => void }>()

  constructor(limits: SubscriptionLimits) {
    this.#limits = limits
  }

  /** Undefined when none is left for that user. */
  acquire(userId: string): SubscriptionSlot | undefined {
    const { total, perUser } = this.#limits
    const own = [...this.#slots].filter((slot) => slot.userId === userId).length
    if (own >= perUser || (this.#slots.size >= total && !this.#makeRoom(own))) return undefined
    const eviction = new AbortController()
    const slot = {
      userId,
      evicted: eviction.signal,
      evict: () => eviction.abort(),
      release: () => void this.#slots.delete(slot),
    }
    this.#slots.add(slot)
    return slot
  }

  #makeRoom(own: number): boolean {
    const largest = largestGroup(this.#slots)
    const [oldest] = largest
    if (!oldest || largest.length <= own + 1) return false
    oldest.release()
    oldest.evict()
    return true
  }
}

/** Returns the entries of the user with the most; empty without entries. */
export function largestGroup<Entry extends { userId: string }>(entries: Iterable<Entry>): Entry[] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(entry.userId)
    if (group) group.push(entry)
    else groups.set(entry.userId, [entry])
  }
  return [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most), [])
}

/** Serves a `subscriptions/listen` request with the response of `open`: a stream, or a refusal. */
export type Subscribe = (
  id: JsonRpcId,
  incoming: Incoming,
  serverInfo: McpEndpointConfig['serverInfo'],
  open: () => Reply | Promise<Reply>,
) => Promise<Reply>

/** Creates {@link Subscribe}, which holds a slot for each open stream and closes the stream when its caller loses access. */
export function createSubscribe(limits: SubscriptionLimits, streams: OpenStreams): Subscribe {
  const slots = new SubscriptionSlots(limits)
  return async (id, { caller, body }, serverInfo, open) => {
    // The message lives as long as its stream.
    if (isTooLongToKeep(body)) {
      const text = `A subscriptions/listen message can have at most ${maxKeptLength} characters. Send a shorter one.`
      return Response.json(jsonRpcError(id, jsonRpcCode.invalidParams, text), { status: 400 })
    }
    const slot = slots.acquire(signedIn(caller).user.id)
    if (!slot) {
      return Response.json(jsonRpcError(id, jsonRpcCode.internalError, 'Subscription limit reached'))
    }
    let response: Reply
    try {
      response = await open()
    } catch (error) {
      slot.release()
      throw error
    }
    if (!isEventStream(response)) {
      slot.release()
      return response
    }
    return streams.track(response, {
      caller,
      kind: 'notifications',
      until: slot.evicted,
      closeFrame: messageEvent(subscriptionResult(id, serverInfo)),
      ended: slot.release,
    })
  }
}

export interface ChangeListener {
  filter: SubscriptionFilter
  send: (notification: Pick<JsonRpcNotification, 'method' | 'params'>) => void
  end?: () => void
}

export interface ChangeSource {
  /** Adds a listener. Resolves with it and the part of its filter that is honoured. */
  listen(wanted: ChangeListener): Promise<ChangeListener>
  remove(listener: ChangeListener): void
}

/** Opens the stream of a `subscriptions/listen` request, which sends the changes of `source` until the client disconnects. */
export async function openSubscription(
  { id, params }: { id: JsonRpcId; params?: JsonObject | undefined },
  serverInfo: McpEndpointConfig['serverInfo'],
  source: ChangeSource,
): Promise<Response> {
  const filter = readSubscriptionFilter(params?.['notifications'])
  if (!filter) {
    const text = "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter"
    return Response.json(jsonRpcError(id, jsonRpcCode.invalidParams, text))
  }
  const stream = openEventStream(() => source.remove(listener))
  const send: ChangeListener['send'] = ({ method, params: given }) => {
    const _meta = { ...metaOf(given), [mcpMetaKey.subscriptionId]: id }
    stream.send({ jsonrpc: '2.0', method, params: { ...given, _meta } })
  }
  const end = (): void => {
    stream.send(subscriptionResult(id, serverInfo))
    stream.end()
  }
  const listener = await source.listen({ filter, send, end })
  send({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: listener.filter },
  })
  if (isEmptyFilter(listener.filter)) {
    source.remove(listener)
    end()
  }
  return stream.response
}

function subscriptionResult(id: JsonRpcId, serverInfo: McpEndpointConfig['serverInfo']): object {
  const _meta = { [mcpMetaKey.subscriptionId]: id, [mcpMetaKey.serverInfo]: serverInfo }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } }
}
