import type { Readable } from 'node:stream'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { lineEndings } from '@drawbridge/shared/mcp/event-lines.ts'
import { messageEvent } from '../event-stream.ts'
import type { AnsweredCalls } from '../answered-calls.ts'
import type { StreamSource } from '../open-streams.ts'

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

/**
 * The upstream's events, with their ids, types, comments and retry times. If it breaks off, each unanswered request gets an error,
 * unless the client can resume the stream by the id of an event.
 */
export class RelayedStream implements StreamSource {
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
  #isCancelled = false
  #isOver = false

  constructor(body: Readable, terms: RelayedStreamTerms) {
    this.#body = body
    this.#terms = terms
    this.#chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  }

  /** Never rejects. */
  async read(): Promise<string | undefined> {
    return this.#isOver ? undefined : this.#readChunk()
  }

  cancel(): void {
    this.#isCancelled = true
    this.#body.on('error', () => {})
    this.#body.destroy()
    this.#terms.calls.end('cancelled')
  }

  /** Returns the events that one chunk completes; the last of all has the errors for unanswered requests. */
  async #readChunk(): Promise<string> {
    const { failed, calls, hasLeft } = this.#terms
    try {
      const { done, value } = await this.#chunks.next()
      if (done === true) {
        if (calls.ids().length > 0 && !this.#isResumable) failed('broken')
        return this.#end(this.#failure())
      }
      const text = this.#eventsIn(this.#decoder.decode(value, { stream: true }))
      if (!this.#fault) return text
      failed(this.#fault)
      return this.#end(text + this.#failure())
    } catch (error) {
      if (this.#isCancelled || hasLeft()) return this.#end('')
      failed('broken', error)
      return this.#end(this.#failure())
    }
  }

  #end(text: string): string {
    this.#isOver = true
    this.#terms.calls.end(this.#terms.hasLeft() ? 'cancelled' : 'failed')
    this.#body.destroy()
    return text
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
