import type { JsonRpcMessage, JsonRpcNotification, JsonRpcResponse } from '../../json-rpc.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, toLegacyError } from '../call-error.ts'
import type { ErrorMember } from '../call-error.ts'
import { isEmptyFilter, readListenFilter } from '../subscription-filter.ts'
import type { ListenFilter } from '../subscription-filter.ts'
import { withoutMeta } from '../params.ts'
import type { AskOptions } from '../ports.ts'

/** Keeps one `subscriptions/listen` open for a client that knows only unsolicited notices. */
export interface ListenKeeper {
  /**
   * Says what to listen for from now on. Resolves with what the server honours once it has acknowledged; rejects with why it did
   * not, and goes on trying if that may help.
   */
  want(filter: ListenFilter): Promise<ListenFilter>
  /** Listens anew for the same, if it does. */
  reopen(): void
  close(): void
}

/** What a keeper needs. */
export interface ListenKeeperPorts {
  /** Sends `subscriptions/listen` and resolves when it has ended. */
  listen(filter: ListenFilter, options: AskOptions): Promise<JsonRpcResponse>
  /** Takes each notice, without its `subscriptionId`. */
  notice(notification: JsonRpcNotification): Promise<void>
  runtime: Runtime
}

interface Stream {
  opened: Promise<Outcome>
  over: Promise<void>
  end(): void
}

/** What became of a wish: what is honoured, or why there is nothing. */
type Outcome = { honoured: ListenFilter } | { error: unknown }

interface Wish {
  filter: ListenFilter
  /** Resolves when another wish has come, or the end. */
  replaced: Promise<void>
  replace(): void
  settle(outcome: Outcome): void
}

/** A stream that lived this long was cut by chance; what is cut sooner is tried less and less often. */
const stableSeconds = 30
const mostBackoffSeconds = 60
const lastingRefusals: ReadonlySet<number> = new Set([jsonRpcCode.methodNotFound, jsonRpcCode.invalidParams])

/** Nothing is opened before the first wish. */
export function createListenKeeper(ports: ListenKeeperPorts): ListenKeeper {
  let wish: Wish | undefined
  let current: Stream | undefined
  let opening: Stream | undefined
  let closed = false

  function openStream(filter: ListenFilter): Stream {
    const controller = new AbortController()
    let open: (outcome: Outcome) => void = () => {}
    const opened = new Promise<Outcome>((resolve) => {
      open = resolve
    })
    const onMessage = async (message: JsonRpcMessage) => {
      if (controller.signal.aborted || !('method' in message) || 'id' in message) return
      if (message.method === 'notifications/subscriptions/acknowledged')
        open({ honoured: readListenFilter(message.params?.['notifications']) ?? {} })
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

  function nextWish(): Wish | undefined {
    return closed ? undefined : wish
  }

  async function keep(): Promise<void> {
    let failures = 0
    for (let next = nextWish(); next !== undefined; next = nextWish()) {
      const { filter, replaced, settle } = next
      opening = isEmptyFilter(filter) ? undefined : openStream(filter)
      const stream = opening
      const opened = stream === undefined ? { honoured: {} } : await stream.opened
      settle(opened)
      // The old stream stays until the new one is acknowledged, so that no notice falls in between.
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
      if (wish !== next) continue
      failures += 1
      await Promise.race([ports.runtime.sleep(backoffMs(failures)), replaced])
    }
  }

  function backoffMs(failures: number): number {
    const seconds = Math.min(2 ** (failures - 1), mostBackoffSeconds)
    // Many bridges lose their streams at the same moment: they must not all come back at the same moment.
    return seconds * 1000 * (0.5 + (ports.runtime.randomBytes(1)[0] ?? 0) / 512)
  }

  async function want(filter: ListenFilter): Promise<ListenFilter> {
    if (closed) throw ended()
    const begin = wish === undefined
    const previous = wish
    const outcome = new Promise<Outcome>((resolve) => {
      wish = { filter, settle: resolve, ...createTurn() }
    })
    // Who waits for the earlier wish waits for this one now: what it asked for is in here as well.
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
      if (wish !== undefined) want(wish.filter).catch(() => {})
    },
    close() {
      closed = true
      current?.end()
      opening?.end()
      wish?.settle({ error: ended() })
      wish?.replace()
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
  const { code, message, data } = toLegacyError(member, 'subscriptions/listen', undefined)
  return new CallError(code, message, data)
}

function withoutSubscription(notification: JsonRpcNotification): JsonRpcNotification {
  const { params } = notification
  if (params === undefined) return notification
  return { ...notification, params: withoutMeta(params, [mcpMetaKey.subscriptionId]) }
}
