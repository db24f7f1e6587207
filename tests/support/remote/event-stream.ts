import type { ServerResponse } from 'node:http'
import { eventStreamHead } from './exchange-parts.ts'

/** The messages of one stream, kept so that it can be resumed, and its current response. */
export class EventStream {
  readonly id: string
  readonly #kept: string[] = []
  #response: ServerResponse | undefined
  #sent = 0
  #ended = false

  constructor(id: string) {
    this.id = id
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
    response.flushHeaders()
    response.on('close', () => {
      if (this.#response === response) this.#response = undefined
      onGone()
    })
    this.#sent = from
    this.#flush()
  }

  send(message: unknown): void {
    this.#kept.push(JSON.stringify(message))
    this.#flush()
  }

  /** Marks the stream as complete. */
  end(): void {
    this.#ended = true
    this.#flush()
  }

  /** Resets the connection. */
  cut(): void {
    this.#response?.socket?.resetAndDestroy()
    this.#response = undefined
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
