import type { JsonRpcMessage, JsonRpcNotification, JsonRpcResponse } from '../../json-rpc.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, toError2025 } from '../call-error.ts'
import type { ErrorMember } from '../call-error.ts'
import { isEmptyFilter, readSubscriptionFilter } from '../subscription-filter.ts'
import type { SubscriptionFilter } from '../subscription-filter.ts'
import { withoutMeta } from '../params.ts'
import type { RequestOptions } from '../ports.ts'

/** Keeps one `subscriptions/listen` open for a client that knows only unsolicited notices. */
export interface ListenStream {
  /**
   * Replaces the desired filter. Resolves with what the server honours once it has acknowledged; rejects with why it did
   * not, and goes on trying if that may help.
   */
  want(filter: SubscriptionFilter): Promise<SubscriptionFilter>
  /** Reopens the stream with the same filter, if there is one. */
  reopen(): void
  close(): void
}

export interface ListenStreamPorts {
  /** Sends `subscriptions/listen` and resolves when it has ended. */
  listen(filter: SubscriptionFilter, options: RequestOptions): Promise<JsonRpcResponse>
  /** Takes each notice, without its `subscriptionId`. */
  notice(notification: JsonRpcNotification): Promise<void>
  runtime: Runtime
}

interface Stream {
  opened: Promise<Outcome>
  over: Promise<void>
  end(): void
}

/** What the server honours of a filter, or why it refused. */
type Outcome = { honoured: SubscriptionFilter } | { error: unknown }

interface DesiredFilter {
  filter: SubscriptionFilter
  /** Resolves when another filter replaces this one, or on close. */
  replaced: Promise<void>
  replace(): void
  settle(outcome: Outcome): void
}

/** A stream that lived this long resets the backoff. */
const stableSeconds = 30
const maxBackoffSeconds = 60
const lastingRefusals: ReadonlySet<number> = new Set([jsonRpcCode.methodNotFound, jsonRpcCode.invalidParams])

/** Opens nothing before the first `want`. */
export function createListenStream(ports: ListenStreamPorts): ListenStream {
  let desired: DesiredFilter | undefined
  let current: Stream | undefined
  let opening: Stream | undefined
  let closed = false

  function openStream(filter: SubscriptionFilter): Stream {
    const controller = new AbortController()
    let open: (outcome: Outcome) => void = () => {}
    const opened = new Promise<Outcome>((resolve) => {
      open = resolve
    })
    const onMessage = async (message: JsonRpcMessage) => {
      if (controller.signal.aborted || !('method' in message) || 'id' in message) return
      if (message.method === 'notifications/subscriptions/acknowledged')
        open({ honoured: readSubscriptionFilter(message.params?.['notifications']) ?? {} })
      // A server may end a subscription this way too; what it names can only be this one.
      else if (message.method === 'notifications/cancelled') controller.abort()
      else await ports.notice(withoutSubscription(message))
    }
    const answered = ports.listen(filter, { signal: controller.signal, onMessage }).then(
      (response) => open('error' in response ? { error: callError(response.error) } : { honoured: {} }),
      (error: unknown) => open({ error }),
    )
    const aborted = new Promise<void>((resolve) => {
      controller.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    const over = Promise.race([answered, aborted])
    void over.then(() => open({ error: ended() }))
    return { opened, over, end: () => controller.abort() }
  }

  function nextDesired(): DesiredFilter | undefined {
    return closed ? undefined : desired
  }

  async function keep(): Promise<void> {
    let failures = 0
    for (let next = nextDesired(); next !== undefined; next = nextDesired()) {
      const { filter, replaced, settle } = next
      opening = isEmptyFilter(filter) ? undefined : openStream(filter)
      const stream = opening
      const opened = stream === undefined ? { honoured: {} } : await stream.opened
      settle(opened)
      // Keep the old stream until the new one is acknowledged, so that no notice is lost in between.
      if ('honoured' in opened) {
        current?.end()
        current = stream
        const openedAt = ports.runtime.now()
        if (stream !== undefined && !isEmptyFilter(opened.honoured))
          await Promise.race([stream.over, replaced])
        if (ports.runtime.now() - openedAt >= stableSeconds) failures = 0
      }
      const settled = 'error' in opened ? isLasting(opened.error) : isEmptyFilter(opened.honoured)
      if (settled) await replaced
      if (desired !== next) continue
      failures += 1
      await Promise.race([ports.runtime.sleep(backoffMs(failures)), replaced])
    }
  }

  function backoffMs(failures: number): number {
    const seconds = Math.min(2 ** (failures - 1), maxBackoffSeconds)
    // Many clients lose their streams at the same moment; jitter spreads their return.
    return seconds * 1000 * (0.5 + (ports.runtime.randomBytes(1)[0] ?? 0) / 512)
  }

  async function want(filter: SubscriptionFilter): Promise<SubscriptionFilter> {
    if (closed) throw ended()
    const begin = desired === undefined
    const previous = desired
    const outcome = new Promise<Outcome>((resolve) => {
      desired = { filter, settle: resolve, ...createTurn() }
    })
    // Callers waiting on the old filter now wait on this one, which includes it.
    if (previous !== undefined) void outcome.then((value) => previous.settle(value))
    previous?.replace()
    if (begin) void keep()
    const value = await outcome
    if ('error' in value) throw value.error
    return value.honoured
  }

  return {
    want,
    reopen() {
      if (desired !== undefined) want(desired.filter).catch(() => {})
    },
    close() {
      closed = true
      current?.end()
      opening?.end()
      desired?.settle({ error: ended() })
      desired?.replace()
    },
  }
}

function createTurn(): { replaced: Promise<void>; replace(): void } {
  let replace = () => {}
  const replaced = new Promise<void>((resolve) => {
    replace = resolve
  })
  return { replaced, replace }
}

function isLasting(error: unknown): boolean {
  return error instanceof CallError && lastingRefusals.has(error.code)
}

function ended(): CallError {
  return new CallError(jsonRpcCode.internalError, 'The subscription has ended.')
}

function callError(member: ErrorMember): CallError {
  const { code, message, data } = toError2025(member, 'subscriptions/listen', undefined)
  return new CallError(code, message, data)
}

function withoutSubscription(notification: JsonRpcNotification): JsonRpcNotification {
  const { params } = notification
  if (params === undefined) return notification
  return { ...notification, params: withoutMeta(params, [mcpMetaKey.subscriptionId]) }
}
