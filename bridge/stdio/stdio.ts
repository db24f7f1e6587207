import { PassThrough, type Readable, type Writable } from 'node:stream'
import { createSignal, type Signal, settledWithin } from '@drawbridge/shared/async.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  readMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Context, Send, Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'

const maxLineBytes = 64 * 1024 * 1024

/** Read ahead while paused: only reading shows that a pipe has ended. A client that sends more is held back. */
const maxAheadBytes = 4 * 1024 * 1024

/** The stdio side of the bridge: one message per line (MCP transports, stdio). `output` must have no other writer. */
export class Stdio {
  readonly #input: Readable
  readonly #output: Writable
  readonly #ahead = new PassThrough({ readableHighWaterMark: maxAheadBytes })
  #onEnd: (() => void) | undefined
  #isPaused = false
  #isBroken = false
  #isClosed = false
  #drained: Signal | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
  }

  /**
   * Sends each line that is not empty; an invalid message has an `invalid` envelope. Calls `end` once, when the client has closed its
   * end or stopped reading. Messages read while paused still come after {@link Stdio.resume}.
   */
  start<C extends Context>(send: Send<C>, context: C, end: () => void): void {
    this.#onEnd = end
    const lines = new LineSplitter(maxLineBytes, {
      line: (bytes) => {
        if (!this.#isClosed && !isBlank(bytes)) void send(readMessage(bytes), context)
      },
      tooLong: () => void context.deliver(tooLong),
    })
    const ended = (): void => this.#end()
    const breakOff = (): void => this.#breakOff()
    this.#input
      .on('end', () => this.#isPaused && ended())
      .on('error', ended)
      // Closed without an end: deliver what was read, and nothing more.
      .on('close', () => (!this.#input.readableEnded || this.#isPaused) && ended())
    this.#ahead.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#ahead.on('end', () => {
      lines.end()
      ended()
    })
    this.#input.pipe(this.#ahead)
    this.#output
      .on('drain', () => this.#release())
      .on('error', breakOff)
      .on('close', breakOff)
  }

  /** True if messages were read that {@link Stdio.resume} delivers. */
  get isKeeping(): boolean {
    return this.#ahead.readableLength > 0 && !this.#isClosed
  }

  /** Resolves when there is room for the next one. Never rejects: a client that stops reading loses messages. */
  write(message: WireMessage): Promise<void> {
    if (this.#isBroken) return Promise.resolve()
    // One write for all messages of a turn of the event loop, without copying a large one.
    if (this.#output.writableCorked === 0) {
      this.#output.cork()
      setImmediate(() => this.#output.uncork())
    }
    this.#output.write(message.bytes ?? message.text)
    if (this.#output.write('\n')) return Promise.resolve()
    this.#drained ??= createSignal()
    return this.#drained.given
  }

  /** Delivers no more messages until {@link Stdio.resume}, except those of the current chunk. */
  pause(): void {
    this.#isPaused = true
    this.#ahead.pause()
    if (this.#input.readableEnded) this.#end()
  }

  resume(): void {
    this.#isPaused = false
    this.#ahead.resume()
  }

  /** Stops reading. Resolves when everything is written, or cannot be. */
  close(): Promise<void> {
    this.#onEnd = undefined
    this.#isClosed = true
    this.#input.destroy()
    return new Promise((resolve) => void this.#output.write('', () => resolve()))
  }

  #end(): void {
    const end = this.#onEnd
    this.#onEnd = undefined
    end?.()
  }

  /** Handles EPIPE and the like: the client has gone or closed its end of stdout. */
  #breakOff(): void {
    this.#isBroken = true
    this.#isClosed = true
    this.#release()
    this.#end()
  }

  #release(): void {
    this.#drained?.give()
    this.#drained = undefined
  }
}

const tooLong = toWireMessage(
  jsonRpcError(
    null,
    jsonRpcCode.invalidRequest,
    `A line on stdin is longer than ${maxLineBytes / 1024 / 1024} MB.`,
  ),
)

/** A lone byte order mark counts as blank. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.length < 64 && Buffer.from(bytes).toString().trim() === ''
}

const maxMessages = 1024
const maxBytes = 64 * 1024 * 1024
const maxUnwrittenBytes = 16 * 1024 * 1024

/**
 * Counts the messages under way, and stops reading from a client that sends faster than the server answers or does not read its
 * responses, so that memory stays bounded. Continues when half of them are done.
 */
export class InFlight implements Step {
  readonly #stdio: Stdio
  readonly #output: Writable
  #count = 0
  #bytes = 0
  /** Messages that the end does not wait for: a subscription lasts as long as its client. */
  #subscriptions = 0
  /** Requests of the server that the client has not answered. Its response must be read even when input is paused. */
  #questions = 0
  #isPaused = false
  /** Given when a message is done, for {@link InFlight.drained}. */
  #changed: Signal | undefined
  #isGivenUp = false

  constructor(stdio: Stdio, output: Writable) {
    this.#stdio = stdio
    this.#output = output
    output.on('drain', () => this.#check())
  }

  async send<C extends Context>(message: WireMessage, context: C, next: Send<C>): Promise<void> {
    const { envelope, text } = message
    const isSubscription = envelope.kind === 'request' && envelope.method === 'subscriptions/listen'
    if (envelope.kind === 'response') this.#questions = Math.max(0, this.#questions - 1)
    this.#add(1, text.length, isSubscription)
    try {
      await next(message, context)
    } finally {
      this.#add(-1, -text.length, isSubscription)
      this.#changed?.give()
    }
  }

  /** Writes a message to the client. */
  readonly write = (message: WireMessage): Promise<void> => {
    const written = this.#stdio.write(message)
    if (message.envelope.kind === 'request') this.#questions += 1
    this.#check()
    return written
  }

  /**
   * Waits for the outstanding responses after stdin has ended. Resolves with the monotonic time since when none is outstanding, after
   * `maxMs` at the latest; a response that makes room for another call restarts the time.
   */
  async drained(maxMs: number): Promise<number> {
    let since = performance.now()
    while (!this.#isGivenUp && (this.#count > this.#subscriptions || this.#stdio.isKeeping)) {
      const leftMs = since + maxMs - performance.now()
      this.#changed = createSignal()
      if ((await settledWithin(this.#changed.given, leftMs)) === 'waiting') break
      if (this.#stdio.isKeeping) since = performance.now()
    }
    return since
  }

  /** Ends {@link InFlight.drained}. */
  giveUp(): void {
    this.#isGivenUp = true
    this.#changed?.give()
  }

  #add(count: number, bytes: number, isSubscription: boolean): void {
    this.#count += count
    this.#bytes += bytes
    if (isSubscription) this.#subscriptions += count
    this.#check()
  }

  /** Pauses or resumes the input by the number of messages under way. */
  #check(): void {
    const share = this.#isPaused ? 0.5 : 1
    const isMuch =
      this.#count > maxMessages * share ||
      this.#bytes > maxBytes * share ||
      this.#output.writableLength > maxUnwrittenBytes * share
    const shouldPause = isMuch && this.#questions === 0
    if (shouldPause === this.#isPaused) return
    this.#isPaused = shouldPause
    if (shouldPause) this.#stdio.pause()
    else this.#stdio.resume()
  }
}
