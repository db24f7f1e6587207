import type {
  JsonRpcErrorObject,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcResponse,
} from '../../json-rpc.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import { CallError, toError2025 } from '../call-error.ts'
import { isEmptyFilter, readSubscriptionFilter } from '../subscription-filter.ts'
import type { SubscriptionFilter } from '../subscription-filter.ts'
import { withoutMeta } from '../../params.ts'
import type { AdapterRuntime, RequestOptions } from '../ports.ts'

export interface ListenStreamPorts {
  /** Sends `subscriptions/listen` and resolves when it has ended. */
  listen(filter: SubscriptionFilter, options: RequestOptions): Promise<JsonRpcResponse>
  /** Receives each notification, without its `subscriptionId`. */
  notify(notification: JsonRpcNotification): Promise<void>
  runtime: AdapterRuntime
}

/** The part of a filter that the server honours, or why it refused. */
type Outcome = { honoured: SubscriptionFilter } | { error: unknown }

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
    const desired = new DesiredFilter(filter)
    this.#desired = desired
    if (previous === undefined) void this.#run()
    // Callers waiting on the old filter now wait on this one, which includes it.
    else previous.replaceBy(desired)
    const outcome = await desired.outcome
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
    this.#desired?.abandon()
  }

  /** Opens a stream for each filter, and again with backoff when it ends. */
  async #run(): Promise<void> {
    let failures = 0
    while (!this.#isClosed && this.#desired !== undefined) {
      const desired = this.#desired
      const { outcome, isStable } = await this.#serve(desired)
      if (isStable) failures = 0
      const isFinal = 'error' in outcome ? isPermanent(outcome.error) : isEmptyFilter(outcome.honoured)
      if (isFinal) await desired.replaced
      if (this.#desired !== desired) continue
      failures += 1
      await Promise.race([this.#ports.runtime.sleep(this.#backoffMs(failures)), desired.replaced])
    }
  }

  /** Opens the stream for a filter, and waits until it ends or the filter is replaced. */
  async #serve(desired: DesiredFilter): Promise<{ outcome: Outcome; isStable: boolean }> {
    const { runtime } = this.#ports
    const stream = isEmptyFilter(desired.filter) ? undefined : new OpenStream(desired.filter, this.#ports)
    this.#opening = stream
    const outcome = stream === undefined ? { honoured: {} } : await stream.outcome
    desired.settle(outcome)
    if ('error' in outcome) return { outcome, isStable: false }
    // Keep the old stream until the new one is acknowledged, so that no notification is lost in between.
    this.#current?.end()
    this.#current = stream
    const openedAt = runtime.now()
    if (stream !== undefined && !isEmptyFilter(outcome.honoured))
      await Promise.race([stream.over, desired.replaced])
    return { outcome, isStable: runtime.now() - openedAt >= stableSeconds }
  }

  #backoffMs(failures: number): number {
    const seconds = Math.min(2 ** (failures - 1), maxBackoffSeconds)
    // Many clients lose their streams at the same moment; jitter spreads their return.
    return seconds * 1000 * (0.5 + (this.#ports.runtime.randomBytes(1)[0] ?? 0) / 512)
  }
}

/** The filter that the client wants now. */
class DesiredFilter {
  readonly filter: SubscriptionFilter
  /** What came of it, or of the filter that replaced it. */
  readonly outcome: Promise<Outcome>
  /** Resolves when another filter replaces this one, or on close. */
  readonly replaced: Promise<void>
  #settle: (outcome: Outcome) => void = () => {}
  #replace: () => void = () => {}

  constructor(filter: SubscriptionFilter) {
    this.filter = filter
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.replaced = new Promise((resolve) => {
      this.#replace = resolve
    })
  }

  settle(outcome: Outcome): void {
    this.#settle(outcome)
  }

  replaceBy(next: DesiredFilter): void {
    void next.outcome.then((outcome) => this.settle(outcome))
    this.#replace()
  }

  abandon(): void {
    this.settle({ error: subscriptionEnded() })
    this.#replace()
  }
}

/** One `subscriptions/listen` request. */
class OpenStream {
  readonly outcome: Promise<Outcome>
  readonly over: Promise<void>
  readonly #controller = new AbortController()
  readonly #notify: ListenStreamPorts['notify']
  #settle: (outcome: Outcome) => void = () => {}

  constructor(filter: SubscriptionFilter, { listen, notify }: ListenStreamPorts) {
    const { signal } = this.#controller
    this.#notify = notify
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
    const answered = listen(filter, { signal, onMessage: (message) => this.#onMessage(message) }).then(
      (response) =>
        this.#settle('error' in response ? { error: callError(response.error) } : { honoured: {} }),
      (error: unknown) => this.#settle({ error }),
    )
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.over = Promise.race([answered, aborted])
    void this.over.then(() => this.#settle({ error: subscriptionEnded() }))
  }

  end(): void {
    this.#controller.abort()
  }

  async #onMessage(message: JsonRpcMessage): Promise<void> {
    if (this.#controller.signal.aborted || !('method' in message) || 'id' in message) return
    if (message.method === 'notifications/subscriptions/acknowledged')
      this.#settle({ honoured: readSubscriptionFilter(message.params?.['notifications']) ?? {} })
    // A server may end a subscription this way too; whatever id it names, it can only mean this one.
    else if (message.method === 'notifications/cancelled') this.end()
    else await this.#notify(withoutSubscriptionId(message))
  }
}

function isPermanent(error: unknown): boolean {
  return error instanceof CallError && permanentRefusals.has(error.code)
}

function subscriptionEnded(): CallError {
  return new CallError(jsonRpcCode.internalError, 'The subscription has ended.')
}

function callError(member: JsonRpcErrorObject): CallError {
  const { code, message, data } = toError2025(member, 'subscriptions/listen', undefined)
  return new CallError(code, message, data)
}

function withoutSubscriptionId(notification: JsonRpcNotification): JsonRpcNotification {
  const { params } = notification
  if (params === undefined) return notification
  return { ...notification, params: withoutMeta(params, [mcpMetaKey.subscriptionId]) }
}
