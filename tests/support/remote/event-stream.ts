import type { ServerResponse } from 'node:http'

/** The messages of one stream, kept so that it can be resumed, and the response it flows into at the moment. */
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

  /** Whether somebody listens. */
  get attached(): boolean {
    return this.#response !== undefined
  }

  /** How many events went out so far, over whatever connection. */
  get delivered(): number {
    return this.#sent
  }

  /** Sends from event number `from` on into `response`, whose head is written here. `onGone` runs when it is over. */
  attach(response: ServerResponse, from: number, onGone: () => void): void {
    this.#response?.end()
    this.#response = response
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    if (this.#retryMs > 0) response.write(`retry: ${this.#retryMs}\n\n`)
    else response.flushHeaders()
    response.on('close', () => {
      if (this.#response === response) this.#response = undefined
      onGone()
    })
    this.#sent = from
    this.#flush()
  }

  /** An event with an id and no message, which makes a stream resumable from its start (2025-11-25). */
  prime(): void {
    this.#keep('')
  }

  send(message: unknown): void {
    this.#keep(JSON.stringify(message))
  }

  /** No more will come. */
  end(): void {
    this.#ended = true
    this.#flush()
  }

  /** Ends the response but not the stream: the client is to come back with `Last-Event-ID`. */
  detach(): void {
    this.#response?.end()
    this.#response = undefined
  }

  /** Cuts the connection. */
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

/** Reads what {@link EventStream} writes as an event's id; `next` is the first event that is still missing. */
export function parseEventId(text: string): { stream: string; next: number } | undefined {
  const [, stream, number] = /^(.+)_(\d+)$/.exec(text) ?? []
  return stream === undefined ? undefined : { stream, next: Number(number) + 1 }
}
