import { encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Caller } from '../core/tokens/caller.ts'

/** How to supervise a response that stays open. */
export interface StreamTerms {
  caller: Caller
  /**
   * `notifications` waits for notifications, and ends with the caller's token. `call` belongs to a running call: it ends with
   * the grant, and may outlast its token by a quarter of an hour, since an expired token cannot tell whether the
   * grant is alive.
   */
  kind: 'notifications' | 'call'
  /** Ends the stream when it is aborted. */
  until?: AbortSignal
  /** Written before the server ends the stream. */
  closeFrame?: string
  /** Called once when the stream ends; `refused`: because the caller's credential is no longer valid. */
  ended?: (how: 'over' | 'refused') => void
}

/** The responses of this process that are still being written. */
export interface OpenStreams {
  /** Returns the same response, supervised until its body ends. Only for event streams. */
  track(response: Response, terms: StreamTerms): Response
  /** Ends every stream whose caller has lost access. Never rejects. */
  check(): Promise<void>
  /** Ends the streams that wait for notifications, now and from now on. Calls go on. */
  endNotificationStreams(): void
  /** Ends all streams, now and from now on. */
  close(): void
}

/** A client that leaves more than this unread of a `notifications` stream is cut off. */
const maxUnreadBytes = 1024 * 1024
const checkedAtOnce = 20
const secondsAfterToken = 900

interface OpenStream {
  terms: StreamTerms
  end(how: 'over' | 'refused'): void
}

/**
 * Supervises streams: a credential is checked when a request begins, and a stream can outlive it (MCP 2026-07-28
 * subscriptions: authorization holds for their whole life).
 */
export function createOpenStreams(runtime: Pick<Runtime, 'now'>): OpenStreams {
  const open = new Set<OpenStream>()
  const ending = new Set<StreamTerms['kind']>()

  const endAll = (kind: StreamTerms['kind']): void => {
    ending.add(kind)
    for (const stream of open) if (stream.terms.kind === kind) stream.end('over')
  }

  return {
    track(response, terms) {
      if (!response.body) return response
      const { stream, readable } = watch(response.body, terms, () => void open.delete(stream))
      open.add(stream)
      if (ending.has(terms.kind) || terms.until?.aborted) stream.end('over')
      terms.until?.addEventListener('abort', () => stream.end('over'), { once: true })
      return new Response(readable, response)
    },
    async check() {
      const streams = [...open]
      for (let first = 0; first < streams.length; first += checkedAtOnce) {
        await Promise.all(
          streams.slice(first, first + checkedAtOnce).map(async (stream) => {
            if (!(await mayGoOn(stream.terms, runtime))) stream.end('refused')
          }),
        )
      }
    },
    endNotificationStreams: () => endAll('notifications'),
    close() {
      endAll('notifications')
      endAll('call')
    },
  }
}

/** The interval of checks, which is also how long a stream may outlive its grant. */
const checkEveryMs = 15_000

/** Runs `check` at intervals, never twice at once, until the returned function is called. */
export function repeatChecks(check: () => Promise<void>): () => void {
  let running = false
  const timer = setInterval(() => {
    if (running) return
    running = true
    void check().finally(() => (running = false))
  }, checkEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** An identifier for user and grant together. The provider's own credentials have no grant. */
export function ownerOf({ user, grantId, credential }: Caller): string {
  return JSON.stringify([user.id, grantId ?? credential])
}

async function mayGoOn({ caller, kind }: StreamTerms, runtime: Pick<Runtime, 'now'>): Promise<boolean> {
  const overdue = runtime.now() - caller.expiresAt
  if (overdue >= 0) return kind === 'call' && overdue < secondsAfterToken
  // While the store is down the answer is unknown; the next round asks again.
  return caller.isLive().catch(() => true)
}

/** Copies `body`, and can end the copy at any time. */
function watch(
  body: ReadableStream<Uint8Array>,
  terms: StreamTerms,
  onEnd: () => void,
): { stream: OpenStream; readable: ReadableStream<Uint8Array> } {
  const reader = body.getReader()
  let controller: ReadableStreamDefaultController<Uint8Array>
  let over = false

  const finish = (how: 'over' | 'refused'): boolean => {
    if (over) return false
    over = true
    onEnd()
    terms.ended?.(how)
    return true
  }
  const end = (how: 'over' | 'refused', last?: string): void => {
    if (!finish(how)) return
    if (last !== undefined) controller.enqueue(encodeUtf8(last))
    controller.close()
    void reader.cancel().catch(() => {})
  }
  const copy = async (): Promise<void> => {
    const { done, value } = await reader.read()
    if (over) return
    if (done) end('over')
    // Notifications must not pile up for a client that does not read.
    else if (terms.kind === 'notifications' && (controller.desiredSize ?? 0) < 0) end('over')
    else controller.enqueue(value)
  }
  const fail = (error: unknown): void => {
    if (finish('over')) controller.error(error)
  }
  const copyAll = async (): Promise<void> => {
    for (;;) {
      await copy()
      if (over) return
    }
  }

  const readable = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
        if (terms.kind === 'notifications') void copyAll().catch(fail)
      },
      ...(terms.kind === 'call' && { pull: () => copy().catch(fail) }),
      async cancel(reason) {
        finish('over')
        await reader.cancel(reason)
      },
    },
    terms.kind === 'notifications'
      ? new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes })
      : undefined,
  )
  return { stream: { terms, end: (how) => end(how, terms.closeFrame) }, readable }
}
