import { encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { isEventStream, type Reply } from '@drawbridge/shared/text-response.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { IncomingCalls } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'

export interface StreamTerms {
  caller: Caller
  /** Calls that the stream answers. */
  calls?: Pick<IncomingCalls, 'over'>
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
  /** Called once when the stream ends; `refused`: the caller's credential is no longer valid. */
  ended?: (how: 'over' | 'refused') => void
}

/** A client that leaves more than this unread of a `notifications` stream is cut off. */
const maxUnreadBytes = 1024 * 1024
const checkedAtOnce = 20
const secondsAfterToken = 900

/**
 * Supervises the streams of this process: a credential is checked when a request begins, and a stream can outlive it (MCP
 * 2026-07-28 subscriptions: authorization holds for their whole life).
 */
export class OpenStreams {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #open = new Set<OpenStream>()
  /** The kinds of streams that end as soon as they open. */
  readonly #ending = new Set<StreamTerms['kind']>()

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Returns the same reply; an event stream is supervised until it ends. */
  track(reply: Reply, terms: StreamTerms): Reply {
    if (!isEventStream(reply) || !reply.body) return reply
    const stream = new OpenStream(reply.body, terms, () => void this.#open.delete(stream))
    this.#open.add(stream)
    if (this.#ending.has(terms.kind) || terms.until?.aborted) stream.end('over')
    terms.until?.addEventListener('abort', () => stream.end('over'), { once: true })
    const { status, headers } = reply
    // With the whole reply in place of these, the Node adapter would hold the stream back for a timer of a millisecond.
    return new Response(stream.readable, { status, headers })
  }

  /** Ends every stream whose caller has lost access. Never rejects. */
  async check(): Promise<void> {
    const streams = [...this.#open]
    for (let first = 0; first < streams.length; first += checkedAtOnce) {
      await Promise.all(
        streams.slice(first, first + checkedAtOnce).map(async (stream) => {
          if (!(await mayGoOn(stream.terms, this.#runtime))) stream.end('refused')
        }),
      )
    }
  }

  /** Ends the streams that wait for notifications, and those that open from now on. Calls continue. */
  endNotificationStreams(): void {
    this.#endAll('notifications')
  }

  /** Ends all streams, now and from now on. */
  close(): void {
    this.#endAll('notifications')
    this.#endAll('call')
  }

  #endAll(kind: StreamTerms['kind']): void {
    this.#ending.add(kind)
    for (const stream of this.#open) if (stream.terms.kind === kind) stream.end('over')
  }
}

/** Copies a body, and can end the copy at any time. */
class OpenStream {
  readonly terms: StreamTerms
  readonly readable: ReadableStream<Uint8Array>
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #onEnd: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #isOver = false

  constructor(body: ReadableStream<Uint8Array>, terms: StreamTerms, onEnd: () => void) {
    this.terms = terms
    this.#reader = body.getReader()
    this.#onEnd = onEnd
    const isCall = terms.kind === 'call'
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
          if (!isCall) void this.#copyAll()
        },
        ...(isCall && { pull: () => this.#copyChunk().catch((error: unknown) => this.#fail(error)) }),
        cancel: async (reason) => {
          this.#finish('over')
          await this.#reader.cancel(reason)
        },
      },
      isCall ? undefined : new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
    )
  }

  /** Ends the copy after the close frame. */
  end(how: 'over' | 'refused'): void {
    this.#close(how, this.terms.closeFrame)
  }

  #close(how: 'over' | 'refused', closeFrame?: string): void {
    if (!this.#finish(how)) return
    if (closeFrame !== undefined) this.#controller?.enqueue(encodeUtf8(closeFrame))
    this.#controller?.close()
    void this.#reader.cancel().catch(() => {})
  }

  #fail(error: unknown): void {
    if (this.#finish('over')) this.#controller?.error(error)
  }

  /** False if the stream was over already. */
  #finish(how: 'over' | 'refused'): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#onEnd()
    this.terms.ended?.(how)
    this.terms.calls?.over()
    return true
  }

  async #copyAll(): Promise<void> {
    try {
      while (!this.#isOver) await this.#copyChunk()
    } catch (error) {
      this.#fail(error)
    }
  }

  async #copyChunk(): Promise<void> {
    const { done, value } = await this.#reader.read()
    if (this.#isOver) return
    if (done) this.#close('over')
    // Notifications must not pile up for a client that does not read.
    else if (this.terms.kind === 'notifications' && (this.#controller?.desiredSize ?? 0) < 0)
      this.#close('over')
    else this.#controller?.enqueue(value)
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

/**
 * Returns an id for user, grant and workspace together. The provider's own credentials have no grant. Anonymous callers share one id.
 */
export function ownerOf({ user, grantId, credential, workspace }: Caller): string {
  return JSON.stringify([user?.id, grantId ?? credential, workspace?.id])
}

async function mayGoOn({ caller, kind }: StreamTerms, runtime: Pick<Runtime, 'now'>): Promise<boolean> {
  const overdue = runtime.now() - caller.expiresAt
  if (overdue >= 0) return kind === 'call' && overdue < secondsAfterToken
  // While the store is down the answer is unknown; the next round asks again.
  return caller.isLive().catch(() => true)
}
