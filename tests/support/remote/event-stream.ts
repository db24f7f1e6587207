import type { ServerResponse } from 'node:http'
import { eventStreamHead } from './exchange-parts.ts'

/** The messages of one stream, kept so that it can be resumed, and its current response. */
export class EventStream {
  readonly id: string
  readonly #retryMs: number
  readonly #kept: string[] = []
  #response: ServerResponse | undefined
  #sent = 0
  #ended = false

  constructor(id: string, retryMs: number) {
    this.id = id
    this.#retryMs = retryMs
  }

  /** Returns whether a response is attached. */
  get attached(): boolean {
    return this.#response !== undefined
  }

  /** Counts the events sent so far, over any connection. */
  get delivered(): number {
    return this.#sent
  }

  /** Writes the head of `response` and sends events from number `from`. Calls `onGone` when the response ends. */
  attach(response: ServerResponse, from: number, onGone: () => void): void {
    this.#response?.end()
    this.#response = response
    response.writeHead(200, eventStreamHead)
    if (this.#retryMs > 0) response.write(`retry: ${this.#retryMs}\n\n`)
    else response.flushHeaders()
    response.on('close', () => {
      if (this.#response === response) this.#response = undefined
      onGone()
    })
    this.#sent = from
    this.#flush()
  }

  /** Sends an event with an id and no message, which makes a stream resumable from its start (2025-11-25). */
  prime(): void {
    this.#keep('')
  }

  send(message: unknown): void {
    this.#keep(JSON.stringify(message))
  }

  /** Marks the stream as complete. */
  end(): void {
    this.#ended = true
    this.#flush()
  }

  /** Ends the response but not the stream: the client should return with `Last-Event-ID`. */
  detach(): void {
    this.#response?.end()
    this.#response = undefined
  }

  /** Resets the connection. */
  cut(): void {
    this.#response?.socket?.resetAndDestroy()
    this.#response = undefined
  }

  #keep(data: string): void {
    this.#kept.push(data)
    this.#flush()
  }

  #flush(): void {
    if (this.#response === undefined) return
    for (; this.#sent < this.#kept.length; this.#sent++) {
      this.#response.write(`id: ${this.id}_${this.#sent}\ndata: ${this.#kept[this.#sent]}\n\n`)
    }
    if (!this.#ended) return
    this.#response.end()
    this.#response = undefined
  }
}

/** Parses the event id of an {@link EventStream}; `next` is the first missing event. */
export function parseEventId(text: string): { stream: string; next: number } | undefined {
  const [, stream, number] = /^(.+)_(\d+)$/.exec(text) ?? []
  return stream === undefined ? undefined : { stream, next: Number(number) + 1 }
}
