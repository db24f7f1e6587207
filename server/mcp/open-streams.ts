import { createSignal } from '@drawbridge/shared/async.ts'
import { encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { isEventStream, type Reply, type TextResponse } from '@drawbridge/shared/text-response.ts'
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

/** The source of a stream. */
export interface StreamSource {
  /** Resolves with the next events, or undefined once there are none. */
  read(): Promise<string | Uint8Array | undefined>
  /** Called when the stream ends before its source. */
  cancel(reason?: unknown): void
}

/** A client that leaves more than this unread of a `notifications` stream is cut off. */
const maxUnreadBytes = 1024 * 1024
const checkedAtOnce = 20
const secondsAfterToken = 900

/** How long the start of a call's stream waits for its end: most calls are over by then, and are sent as one text for half the CPU time. */
const collectMs = 100
/** The same, once a message waits. */
const messageWaitMs = 5

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

  /** Returns the reply; an event stream is supervised until it ends. */
  async track(reply: Reply, terms: StreamTerms): Promise<Reply> {
    if (!isEventStream(reply) || !reply.body) return reply
    const { status, headers } = reply
    const reader = reply.body.getReader()
    const source: StreamSource = {
      read: async () => (await reader.read()).value,
      cancel: (reason) => void reader.cancel(reason).catch(() => {}),
    }
    return this.serve(source, { status, headers: Object.fromEntries(headers) }, terms)
  }

  /** Returns an event stream, which is supervised until it ends; of a call that is over at once, all its events as a text. */
  async serve(
    source: StreamSource,
    head: Pick<TextResponse, 'status' | 'headers'>,
    terms: StreamTerms,
  ): Promise<Reply> {
    const stream = new OpenStream(source, terms, () => void this.#open.delete(stream))
    this.#open.add(stream)
    if (this.#ending.has(terms.kind) || terms.until?.aborted) stream.end('over')
    terms.until?.addEventListener('abort', () => stream.end('over'), { once: true })
    const body = terms.kind === 'call' ? await stream.collect() : stream.copy()
    return typeof body === 'string' ? { ...head, body } : new Response(body, head)
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

const decoder = new TextDecoder()

/** Passes on what a source has, and can end at any time. */
class OpenStream {
  readonly terms: StreamTerms
  readonly #source: StreamSource
  readonly #onEnd: () => void
  /** What is read and not passed on yet. */
  readonly #collected: (string | Uint8Array)[] = []
  #reading: ReturnType<StreamSource['read']> | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #isOver = false

  constructor(source: StreamSource, terms: StreamTerms, onEnd: () => void) {
    this.terms = terms
    this.#source = source
    this.#onEnd = onEnd
  }

  /** Resolves with all events if the stream is over soon, else with a copy of the stream. */
  async collect(): Promise<string | ReadableStream<Uint8Array>> {
    const { given: late, give } = createSignal<'late'>()
    let timer = setTimeout(give, collectMs, 'late')
    let hasMessage = false
    try {
      while (!this.#isOver) {
        this.#reading = this.#source.read()
        const chunk = await Promise.race([this.#reading, late])
        if (chunk === 'late') return this.copy()
        if (chunk === undefined) break
        const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk)
        this.#pass(text)
        if (hasMessage || !/^data: ./m.test(text)) continue
        hasMessage = true
        clearTimeout(timer)
        timer = setTimeout(give, messageWaitMs, 'late')
      }
    } catch (error) {
      this.#finish('over')
      throw error
    } finally {
      clearTimeout(timer)
    }
    this.#finish('over')
    return this.#collected.join('')
  }

  /** Returns a stream of the source's events. */
  copy(): ReadableStream<Uint8Array> {
    const isCall = this.terms.kind === 'call'
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
          for (const chunk of this.#collected.splice(0)) this.#pass(chunk)
          if (this.#isOver) controller.close()
          else if (!isCall) void this.#copyAll()
        },
        ...(isCall && { pull: () => this.#copyChunk().catch((error: unknown) => this.#fail(error)) }),
        cancel: (reason) => {
          if (this.#finish('over')) this.#source.cancel(reason)
        },
      },
      isCall ? undefined : new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
    )
  }

  /** Ends the stream after the close frame. */
  end(how: 'over' | 'refused'): void {
    this.#close(how, this.terms.closeFrame)
  }

  #close(how: 'over' | 'refused', closeFrame?: string): void {
    if (!this.#finish(how)) return
    if (closeFrame !== undefined) this.#pass(closeFrame)
    this.#controller?.close()
    this.#source.cancel()
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
    const reading = this.#reading ?? this.#source.read()
    this.#reading = undefined
    const chunk = await reading
    if (this.#isOver) return
    if (chunk === undefined) this.#close('over')
    // Notifications must not pile up for a client that does not read.
    else if (this.terms.kind === 'notifications' && (this.#controller?.desiredSize ?? 0) < 0)
      this.#close('over')
    else this.#pass(chunk)
  }

  #pass(chunk: string | Uint8Array): void {
    if (this.#controller) this.#controller.enqueue(typeof chunk === 'string' ? encodeUtf8(chunk) : chunk)
    else this.#collected.push(chunk)
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
