import { createSignal, type Signal, unlessAborted } from '../../async.ts'
import { type JsonRpcMessage, type JsonRpcNotification, jsonRpcCode } from '../json-rpc.ts'
import { mcpMetaKey } from '../mcp-protocol.ts'
import { CallError } from './call-error.ts'
import { isEmptyFilter, readSubscriptionFilter, type SubscriptionFilter } from './subscription-filter.ts'
import { withoutMeta } from '../params.ts'
import type { AdapterRuntime, RequestOptions } from './ports.ts'

export interface ListenStreamPorts {
  /** Sends `subscriptions/listen` and resolves when it has ended. Rejects if the server refuses. */
  listen(filter: SubscriptionFilter, options: RequestOptions): Promise<unknown>
  /** Receives each notification, without its `subscriptionId`. */
  notify(notification: JsonRpcNotification): Promise<void>
  runtime: AdapterRuntime
}

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

/** A stream that lived this long resets the backoff. */
const stableSeconds = 30
const maxBackoffSeconds = 60
const permanentRefusals: ReadonlySet<number> = new Set([
  jsonRpcCode.methodNotFound,
  jsonRpcCode.invalidParams,
])

/**
 * Keeps one `subscriptions/listen` open for a client that expects unsolicited notifications. Opens nothing before the first
 * `setFilter`.
 */
export class ListenStream {
  readonly #ports: ListenStreamPorts
  #desired: DesiredFilter | undefined
  /** The stream that the server has acknowledged, and the one that shall replace it. */
  #current: OpenStream | undefined
  #opening: OpenStream | undefined
  #isClosed = false

  constructor(ports: ListenStreamPorts) {
    this.#ports = ports
  }

  /**
   * Replaces the filter. Resolves with what the server honours once it has acknowledged; rejects if the server refused, and
   * goes on trying if that may help.
   */
  async setFilter(filter: SubscriptionFilter): Promise<SubscriptionFilter> {
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

  /** Reopens the stream with the same filter, if there is one. */
  reopen(): void {
    if (this.#desired !== undefined) this.setFilter(this.#desired.filter).catch(() => {})
  }

  close(): void {
    this.#isClosed = true
    this.#current?.end()
    this.#opening?.end()
    this.#desired?.outcome.give({ error: subscriptionEnded() })
    this.#desired?.replaced.give()
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
      await Promise.race([this.#ports.runtime.sleep(this.#backoffMs(failures)), desired.replaced.given])
    }
  }

  /** Opens the stream for a filter, and waits until it ends or the filter is replaced. */
  async #serve(desired: DesiredFilter): Promise<{ outcome: Outcome; isStable: boolean }> {
    const { runtime } = this.#ports
    const stream = isEmptyFilter(desired.filter) ? undefined : openStream(desired.filter, this.#ports)
    this.#opening = stream
    const outcome = stream === undefined ? { honoured: {} } : await stream.outcome
    desired.outcome.give(outcome)
    if ('error' in outcome) return { outcome, isStable: false }
    // Keep the old stream until the new one is acknowledged, so that no notification is lost in between.
    this.#current?.end()
    this.#current = stream
    const openedAt = runtime.now()
    if (stream !== undefined && !isEmptyFilter(outcome.honoured))
      await Promise.race([stream.over, desired.replaced.given])
    return { outcome, isStable: runtime.now() - openedAt >= stableSeconds }
  }

  #backoffMs(failures: number): number {
    const seconds = Math.min(2 ** (failures - 1), maxBackoffSeconds)
    // Many clients lose their streams at the same moment; jitter spreads their return.
    return seconds * 1000 * (0.5 + (this.#ports.runtime.randomBytes(1)[0] ?? 0) / 512)
  }
}

function openStream(filter: SubscriptionFilter, { listen, notify }: ListenStreamPorts): OpenStream {
  const controller = new AbortController()
  const { signal } = controller
  const outcome = createSignal<Outcome>()
  const end = (): void => controller.abort()

  async function onMessage(message: JsonRpcMessage): Promise<void> {
    if (signal.aborted || !('method' in message) || 'id' in message) return
    if (message.method === 'notifications/subscriptions/acknowledged')
      outcome.give({ honoured: readSubscriptionFilter(message.params?.['notifications']) ?? {} })
    // A server may end a subscription this way too; whatever id it names, it can only mean this one.
    else if (message.method === 'notifications/cancelled') end()
    else await notify(withoutSubscriptionId(message))
  }

  const answered = listen(filter, { signal, onMessage }).then(
    () => outcome.give({ honoured: {} }),
    (error: unknown) => outcome.give({ error }),
  )
  const over = unlessAborted(answered, signal, subscriptionEnded).catch((error: unknown) =>
    outcome.give({ error }),
  )
  return { outcome: outcome.given, over, end }
}

function isPermanent(error: unknown): boolean {
  return error instanceof CallError && permanentRefusals.has(error.code)
}

function subscriptionEnded(): CallError {
  return new CallError(jsonRpcCode.internalError, 'The subscription has ended.')
}

function withoutSubscriptionId(notification: JsonRpcNotification): JsonRpcNotification {
  const { params } = notification
  if (params === undefined) return notification
  return { ...notification, params: withoutMeta(params, [mcpMetaKey.subscriptionId]) }
}
