import { createSignal, type Signal, unlessAborted } from '../../async.ts'
import type { JsonObject } from '../../json-object.ts'
import { type JsonRpcMessage, type JsonRpcNotification, jsonRpcCode } from '../json-rpc.ts'
import { mcpMetaKey } from '../mcp-protocol.ts'
import { metaOf } from '../params.ts'
import { CallError } from './call-error.ts'
import type { AdapterPorts, AdapterRuntime } from './ports.ts'
import {
  announcedFilter,
  isEmptyFilter,
  readSubscriptionFilter,
  type SubscriptionFilter,
} from './subscription-filter.ts'
import type { Upstream2026 } from './upstream.ts'

/** The part of a filter that the server honours, or why it refused. */
type Outcome = { honoured: SubscriptionFilter } | { error: unknown }

/** The filter that the client wants, until it is `replaced` by another one, or on close. */
interface DesiredFilter {
  filter: SubscriptionFilter
  outcome: Signal<Outcome>
  replaced: Signal
}

interface OpenStream {
  outcome: Promise<Outcome>
  /** Resolves when the request has ended. */
  over: Promise<void>
  end(): void
}

/** All of them travel in one request. */
const maxSubscriptions = 1000

/** A stream that lived this long resets the backoff. */
const stableSeconds = 30
const maxBackoffSeconds = 60
const permanentRefusals: ReadonlySet<number> = new Set([
  jsonRpcCode.methodNotFound,
  jsonRpcCode.invalidParams,
])

/**
 * The subscriptions of a 2025 client, which expects unsolicited notifications, held in one `subscriptions/listen`. Opens nothing
 * before `start` or the first `subscribe`.
 */
export class Subscriptions {
  readonly #upstream: Upstream2026
  readonly #runtime: AdapterRuntime
  readonly #notify: AdapterPorts['notify']
  readonly #uris = new Set<string>()
  #desired: DesiredFilter | undefined
  /** The stream that the server has acknowledged, and the one that shall replace it. */
  #current: OpenStream | undefined
  #opening: OpenStream | undefined
  #isClosed = false

  /** `notify` receives each notification, without its `subscriptionId`. */
  constructor(upstream: Upstream2026, runtime: AdapterRuntime, notify: AdapterPorts['notify']) {
    this.#upstream = upstream
    this.#runtime = runtime
    this.#notify = notify
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

  /** Listens for the changes that the server announces. Does not wait: retries by itself. */
  start(): void {
    this.#listen().catch(() => {})
  }

  /** Reopens the stream with the same filter, if there is one. */
  reopen(): void {
    if (this.#desired !== undefined) this.#setFilter(this.#desired.filter).catch(() => {})
  }

  close(): void {
    this.#isClosed = true
    this.#current?.end()
    this.#opening?.end()
    this.#desired?.outcome.give({ error: subscriptionEnded() })
    this.#desired?.replaced.give()
  }

  async #listen(): Promise<SubscriptionFilter> {
    const announced = announcedFilter(await this.#upstream.capabilities())
    const uris = [...this.#uris]
    return this.#setFilter(uris.length > 0 ? { ...announced, resourceSubscriptions: uris } : announced)
  }

  /**
   * Replaces the filter. Resolves with what the server honours once it has acknowledged; rejects if the server refused, and
   * goes on trying if that may help.
   */
  async #setFilter(filter: SubscriptionFilter): Promise<SubscriptionFilter> {
    if (this.#isClosed) throw subscriptionEnded()
    const previous = this.#desired
    const desired = { filter, outcome: createSignal<Outcome>(), replaced: createSignal() }
    this.#desired = desired
    if (previous === undefined) void this.#run()
    else {
      // Callers waiting on the old filter now wait on this one, which includes it.
      void desired.outcome.given.then(previous.outcome.give)
      previous.replaced.give()
    }
    const outcome = await desired.outcome.given
    if ('error' in outcome) throw outcome.error
    return outcome.honoured
  }

  /** Opens a stream for each filter, and again with backoff when it ends. */
  async #run(): Promise<void> {
    let failures = 0
    while (!this.#isClosed && this.#desired !== undefined) {
      const desired = this.#desired
      const { outcome, isStable } = await this.#serve(desired)
      if (isStable) failures = 0
      const isFinal = 'error' in outcome ? isPermanent(outcome.error) : isEmptyFilter(outcome.honoured)
      if (isFinal) await desired.replaced.given
      if (this.#desired !== desired) continue
      failures += 1
      await Promise.race([this.#runtime.sleep(this.#backoffMs(failures)), desired.replaced.given])
    }
  }

  /** Opens the stream for a filter, and waits until it ends or the filter is replaced. */
  async #serve(desired: DesiredFilter): Promise<{ outcome: Outcome; isStable: boolean }> {
    const stream = isEmptyFilter(desired.filter) ? undefined : this.#openStream(desired.filter)
    this.#opening = stream
    const outcome = stream === undefined ? { honoured: {} } : await stream.outcome
    desired.outcome.give(outcome)
    if ('error' in outcome) return { outcome, isStable: false }
    // Keep the old stream until the new one is acknowledged, so that no notification is lost in between.
    this.#current?.end()
    this.#current = stream
    const openedAt = this.#runtime.now()
    if (stream !== undefined && !isEmptyFilter(outcome.honoured))
      await Promise.race([stream.over, desired.replaced.given])
    return { outcome, isStable: this.#runtime.now() - openedAt >= stableSeconds }
  }

  #backoffMs(failures: number): number {
    const seconds = Math.min(2 ** (failures - 1), maxBackoffSeconds)
    // Many clients lose their streams at the same moment; jitter spreads their return.
    return seconds * 1000 * (0.5 + (this.#runtime.randomBytes(1)[0] ?? 0) / 512)
  }

  #openStream(notifications: SubscriptionFilter): OpenStream {
    const controller = new AbortController()
    const { signal } = controller
    const outcome = createSignal<Outcome>()
    const end = (): void => controller.abort()

    const onMessage = async (message: JsonRpcMessage): Promise<void> => {
      if (signal.aborted || !('method' in message) || 'id' in message) return
      if (message.method === 'notifications/subscriptions/acknowledged')
        outcome.give({ honoured: readSubscriptionFilter(message.params?.['notifications']) ?? {} })
      // A server may end a subscription this way too; whatever id it names, it can only mean this one.
      else if (message.method === 'notifications/cancelled') end()
      else await this.#notify(withoutSubscriptionId(message))
    }

    const answered = this.#upstream
      .request('subscriptions/listen', { notifications }, { signal, onMessage })
      .then(
        () => outcome.give({ honoured: {} }),
        (error: unknown) => outcome.give({ error }),
      )
    const over = unlessAborted(answered, signal, subscriptionEnded).catch((error: unknown) =>
      outcome.give({ error }),
    )
    return { outcome: outcome.given, over, end }
  }
}

function readUri(value: unknown): string {
  if (typeof value === 'string') return value
  throw new CallError(jsonRpcCode.invalidParams, 'uri must be a string')
}

function isPermanent(error: unknown): boolean {
  return error instanceof CallError && permanentRefusals.has(error.code)
}

function subscriptionEnded(): CallError {
  return new CallError(jsonRpcCode.internalError, 'The subscription has ended.')
}

function withoutSubscriptionId(notification: JsonRpcNotification): JsonRpcNotification {
  if (notification.params === undefined) return notification
  const { _meta: _, ...params } = notification.params
  const { [mcpMetaKey.subscriptionId]: __, ...meta } = metaOf(notification.params)
  const isBare = Object.keys(meta).length === 0
  return { ...notification, params: isBare ? params : { ...params, _meta: meta } }
}
