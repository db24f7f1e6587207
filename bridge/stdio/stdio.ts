import { PassThrough, type Readable, type Writable } from 'node:stream'
import { readMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'

/** The stdio side of the bridge: one message a line (MCP transports, stdio). */
export interface Stdio {
  /**
   * Writes a message. Resolves when there is room for the next one. Never rejects: when the client stops reading, messages are dropped
   * and `end` is called.
   */
  write(wire: WireMessage): Promise<void>
  /** Gives no more messages until {@link Stdio.resume}; those of the piece that is read just now still come. */
  pause(): void
  resume(): void
  /** Whether messages were read that will come with {@link Stdio.resume}. */
  readonly isKeeping: boolean
  /** Writes what is left, for half a second at most, and stops reading. Never rejects. */
  close(): Promise<void>
}

/** What happens to what is read. */
export interface StdioPorts {
  /** Each line that is not empty. An invalid message has an `invalid` envelope, and should be answered with an error. */
  message(wire: WireMessage): void
  /**
   * Once: the client has closed its end, or does not read any more. Messages that are kept while it is paused still come
   * when it is resumed.
   */
  end(): void
  /** A line was too long to be read, and was dropped. It should be answered with an error without an id. */
  fault(reason: string): void
}

const maxLineBytes = 64 * 1024 * 1024

/** Read ahead while paused: nothing but reading tells that a pipe has ended. A client that sends more is held back. */
const maxAheadBytes = 4 * 1024 * 1024

const closeWaitMs = 500

/** Starts reading at once. `output` must have no other writer. */
export function createStdio(input: Readable, output: Writable, ports: StdioPorts): Stdio {
  return new StdioStreams(input, output, ports)
}

class StdioStreams implements Stdio {
  readonly #input: Readable
  readonly #output: Writable
  readonly #ports: StdioPorts
  readonly #ahead = new PassThrough({ readableHighWaterMark: maxAheadBytes })
  #isPaused = false
  #isBroken = false
  #hasEnded = false
  #isClosed = false
  #drained: { promise: Promise<void>; resolve: () => void } | undefined

  constructor(input: Readable, output: Writable, ports: StdioPorts) {
    this.#input = input
    this.#output = output
    this.#ports = ports
    const lines = new LineSplitter(maxLineBytes, {
      line: (bytes) => this.#take(bytes),
      tooLong: () => ports.fault(`A line on stdin is longer than ${maxLineBytes / 1024 / 1024} MB.`),
    })
    const end = (): void => this.#end()
    const breakOff = (): void => this.#breakOff()
    input
      .on('end', () => this.#isPaused && end())
      .on('error', end)
      .on('close', () => this.#inputClosed())
    this.#ahead.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#ahead.on('end', () => {
      lines.end()
      end()
    })
    input.pipe(this.#ahead)
    output
      .on('drain', () => this.#release())
      .on('error', breakOff)
      .on('close', breakOff)
  }

  get isKeeping(): boolean {
    return this.#ahead.readableLength > 0 && !this.#isClosed
  }

  write({ text }: WireMessage): Promise<void> {
    if (this.#isBroken) return Promise.resolve()
    // One write for both, without copying a large message.
    this.#output.cork()
    this.#output.write(text)
    const hasRoom = this.#output.write('\n')
    this.#output.uncork()
    if (hasRoom) return Promise.resolve()
    this.#drained ??= createSignal()
    return this.#drained.promise
  }

  pause(): void {
    this.#isPaused = true
    this.#ahead.pause()
    if (this.#input.readableEnded) this.#end()
  }

  resume(): void {
    this.#isPaused = false
    this.#ahead.resume()
  }

  async close(): Promise<void> {
    this.#hasEnded = true
    this.#isClosed = true
    this.#input.destroy()
    if (!this.#isBroken) await written(this.#output)
  }

  #take(bytes: Uint8Array): void {
    if (this.#isClosed || isBlank(bytes)) return
    this.#ports.message(readMessage(bytes))
  }

  /** Closed without an end: what was read still comes, and no more. */
  #inputClosed(): void {
    if (!this.#input.readableEnded || this.#isPaused) this.#end()
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#ports.end()
  }

  /** EPIPE and the like: the process that started this one is gone, or has closed its end of stdout. */
  #breakOff(): void {
    this.#isBroken = true
    this.#isClosed = true
    this.#release()
    this.#end()
  }

  #release(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}

function createSignal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Resolves when everything was written, or the time is over. */
function written(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, closeWaitMs)
    output.write('', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.length < 64 && Buffer.from(bytes).toString('latin1').trim() === ''
}
