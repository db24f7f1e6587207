import type { Readable } from 'node:stream'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { messageEvent } from '../event-stream.ts'
import type { AnsweredCalls } from './answered-calls.ts'

/** Why a stream of the upstream ended before its answers were there. */
export type StreamFault = 'bad_answer' | 'too_large' | 'broken'

/** How to relay a stream. */
export interface RelayedStreamTerms {
  calls: AnsweredCalls
  /** Of one event. */
  maxBytes: number
  /** Whether the client has gone. */
  hasLeft: () => boolean
  /** Called when the upstream is at fault. */
  failed: (fault: StreamFault, error?: unknown) => void
  /** What clients are told then. */
  failureText: string
}

/**
 * The events of the upstream, one by one as they come, with their ids, types, comments and retry times. When it breaks off, each open
 * request gets an error, unless its answer can still be fetched by the id of an event.
 */
export function relayStream(body: Readable, terms: RelayedStreamTerms): ReadableStream<Uint8Array> {
  const events = new RelayedEvents(terms)
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const encoder = new TextEncoder()
  const decoder = new TextDecoder()

  let isCancelled = false

  const end = (controller: ReadableStreamDefaultController<Uint8Array>, last = ''): void => {
    if (isCancelled) return
    if (last !== '') controller.enqueue(encoder.encode(last))
    controller.close()
    terms.calls.end(terms.hasLeft() ? 'cancelled' : 'failed')
    body.destroy()
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await chunks.next()
            const text = done === true ? '' : events.read(decoder.decode(value, { stream: true }))
            if (events.fault) {
              terms.failed(events.fault)
              return end(controller, text + events.failure())
            }
            if (done === true) {
              if (terms.calls.ids().length > 0 && !events.isResumable) terms.failed('broken')
              return end(controller, events.failure())
            }
            if (text !== '') return controller.enqueue(encoder.encode(text))
          }
        } catch (error) {
          if (isCancelled || terms.hasLeft()) return end(controller)
          terms.failed('broken', error)
          end(controller, events.failure())
        }
      },
      cancel() {
        isCancelled = true
        body.on('error', () => {})
        body.destroy()
        terms.calls.end('cancelled')
      },
    },
    { highWaterMark: 0 },
  )
}

class RelayedEvents {
  readonly #terms: RelayedStreamTerms
  readonly #parser = createParser({
    onEvent: (event) => this.#pass(event),
    onComment: (comment) => void (this.#out += `: ${comment}\n\n`),
    onRetry: (retry) => void (this.#out += `retry: ${retry}\n\n`),
  })
  #out = ''
  #unfinished = 0
  fault: StreamFault | undefined
  isResumable = false

  constructor(terms: RelayedStreamTerms) {
    this.#terms = terms
  }

  /** The events that `text` completes, as text. */
  read(text: string): string {
    this.#out = ''
    this.#unfinished += text.length
    this.#parser.feed(text)
    if (this.#unfinished > this.#terms.maxBytes) this.fault ??= 'too_large'
    return this.#out
  }

  /** Errors for the open requests, as events. */
  failure(): string {
    if (this.isResumable && !this.fault) return ''
    const { calls, failureText } = this.#terms
    return calls
      .ids()
      .map((id) => messageEvent(jsonRpcError(id, jsonRpcCode.internalError, failureText)))
      .join('')
  }

  #pass({ id, event, data }: EventSourceMessage): void {
    if (this.fault) return
    this.#unfinished = 0
    if (id !== undefined && id !== '') this.isResumable = true
    const passed = data === '' ? '' : this.#terms.calls.pass(data)
    if (passed === undefined) {
      this.fault = 'bad_answer'
      return
    }
    const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
    const lines = passed.split('\n').map((line) => `data: ${line}\n`)
    this.#out += `${head}${lines.join('')}\n`
  }
}
