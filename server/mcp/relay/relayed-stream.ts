import type { Readable } from 'node:stream'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { lineEndings } from '@drawbridge/shared/mcp/event-lines.ts'
import { messageEvent } from '../event-stream.ts'
import type { AnsweredCalls } from '../answered-calls.ts'

/** Reasons why a stream ended before it had all responses. */
export type StreamFault = 'bad_answer' | 'too_large' | 'broken'

export interface RelayedStreamTerms {
  calls: AnsweredCalls
  maxBytes: number
  hasLeft: () => boolean
  failed: (fault: StreamFault, error?: unknown) => void
  /** The error text that the client gets then. */
  failureText: string
}

/** How long events are collected: most streams are over by then and are sent as one text, which halves the CPU time. */
const collectMs = 5

/**
 * Passes the upstream's events on, with their ids, types, comments and retry times: one by one, or as one text if the stream is over at
 * once. If it breaks off, each unanswered request gets an error, unless the client can resume the stream by the id of an event.
 */
export async function relayStream(
  body: Readable,
  terms: RelayedStreamTerms,
): Promise<string | ReadableStream<Uint8Array>> {
  const source = new RelayedSource(body, terms)
  let collected = ''
  let timer: NodeJS.Timeout | undefined
  const isLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), collectMs)
  })
  for (;;) {
    const reading = source.read()
    const part = await Promise.race([reading, isLate])
    if (!part) return streamOf(source, collected, reading)
    collected += part.text
    if (part.isOver) {
      clearTimeout(timer)
      return collected
    }
  }
}

/** Streams the collected text, the result of `reading`, and the rest of the source. */
function streamOf(
  source: RelayedSource,
  collected: string,
  reading: Promise<StreamPart>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let next: Promise<StreamPart> | undefined = reading
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (collected !== '') controller.enqueue(encoder.encode(collected))
      },
      async pull(controller) {
        for (;;) {
          const { text, isOver } = await (next ?? source.read())
          next = undefined
          if (source.isCancelled) return
          if (text !== '') controller.enqueue(encoder.encode(text))
          if (isOver) return controller.close()
          if (text !== '') return
        }
      },
      cancel: () => source.cancel(),
    },
    { highWaterMark: 0 },
  )
}

interface StreamPart {
  text: string
  isOver: boolean
}

class RelayedSource {
  isCancelled = false
  readonly #body: Readable
  readonly #terms: RelayedStreamTerms
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly #withLineFeeds = lineEndings()
  readonly #parser = createParser({
    onEvent: (event) => this.#pass(event),
    onComment: (comment) => void (this.#out += `: ${comment}\n\n`),
    onRetry: (retry) => void (this.#out += `retry: ${retry}\n\n`),
  })
  #out = ''
  #unfinished = 0
  #fault: StreamFault | undefined
  #isResumable = false

  constructor(body: Readable, terms: RelayedStreamTerms) {
    this.#body = body
    this.#terms = terms
    this.#chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  }

  /** Returns the events that one chunk completes; the last part has the errors for unanswered requests. Never rejects. */
  async read(): Promise<StreamPart> {
    const { failed, calls, hasLeft } = this.#terms
    try {
      const { done, value } = await this.#chunks.next()
      if (done === true) {
        if (calls.ids().length > 0 && !this.#isResumable) failed('broken')
        return this.#end(this.#failure())
      }
      const text = this.#eventsIn(this.#decoder.decode(value, { stream: true }))
      if (!this.#fault) return { text, isOver: false }
      failed(this.#fault)
      return this.#end(text + this.#failure())
    } catch (error) {
      if (this.isCancelled || hasLeft()) return this.#end('')
      failed('broken', error)
      return this.#end(this.#failure())
    }
  }

  cancel(): void {
    this.isCancelled = true
    this.#body.on('error', () => {})
    this.#body.destroy()
    this.#terms.calls.end('cancelled')
  }

  #end(text: string): StreamPart {
    this.#terms.calls.end(this.#terms.hasLeft() ? 'cancelled' : 'failed')
    this.#body.destroy()
    return { text, isOver: true }
  }

  /** Returns the events that `text` completes. */
  #eventsIn(text: string): string {
    this.#out = ''
    this.#unfinished += text.length
    this.#parser.feed(this.#withLineFeeds(text))
    if (this.#unfinished > this.#terms.maxBytes) this.#fault ??= 'too_large'
    return this.#out
  }

  /** Returns the errors for unanswered requests, as events. */
  #failure(): string {
    if (this.#isResumable && !this.#fault) return ''
    const { calls, failureText } = this.#terms
    return calls
      .ids()
      .map((id) => messageEvent(jsonRpcError(id, jsonRpcCode.internalError, failureText)))
      .join('')
  }

  #pass({ id, event, data: given }: EventSourceMessage): void {
    if (this.#fault) return
    const data = given.replace(/^\uFEFF/, '')
    this.#unfinished = 0
    if (id !== undefined && id !== '') this.#isResumable = true
    const passed = data === '' ? '' : this.#terms.calls.pass(data)
    if (passed === undefined) {
      this.#fault = 'bad_answer'
      return
    }
    const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
    const lines = passed.split('\n').map((line) => `data: ${line}\n`)
    this.#out += `${head}${lines.join('')}\n`
  }
}
