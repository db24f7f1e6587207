import type { Readable, Writable } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import { readEnvelope } from '../transport/envelope.ts'
import { createLineSplitter } from './line-splitter.ts'
import { createReadAhead } from './read-ahead.ts'
import type { WireMessage } from '../transport/wire-message.ts'

/** The stdio side of the bridge: one message a line (MCP transports, stdio). */
export interface Stdio {
  /**
   * Writes a message, whose bytes nobody may use any more. Resolves when there is room for the next one; the bytes may still
   * be on their way. Never rejects: when nobody reads any more, messages vanish and `end` is called.
   */
  write(wire: WireMessage): Promise<void>
  /**
   * Gives no more messages until {@link Stdio.resume}; those of the piece that is read just now still come. A few megabytes
   * more are read and kept: only so the end of the input is noticed behind them, as a pipe that is not read says nothing.
   */
  pause(): void
  resume(): void
  /** Whether messages are kept that will come with {@link Stdio.resume}. */
  readonly isKeeping: boolean
  /** Writes what is left, for half a second at most, and stops reading. Never rejects. */
  close(): Promise<void>
}

/** What happens to what is read. */
export interface StdioPorts {
  /** Each line that is not empty; one that is no message has an `invalid` envelope, and deserves an error as an answer. */
  message(wire: WireMessage): void
  /**
   * Once: the client has closed its end, or does not read any more. Messages that are kept while it is paused still come
   * when it is resumed.
   */
  end(): void
  /** A line was too long to be read, and was dropped: it deserves an answer without id. */
  fault(reason: string): void
}

const mostLineBytes = 64 * 1024 * 1024

/** So much may wait to be written before {@link Stdio.write} holds its callers back. */
const mostWaitingBytes = 256 * 1024

/** From here on a message is handed to the stream as it is; smaller ones of one turn of the event loop are put together. */
const largeBytes = 16 * 1024

/** From here on the memory of a message that is written is given back by hand. */
const leastGivenBack = 1024 * 1024

const closeWaitMs = 500

const newline = Buffer.from('\n')
const done = Promise.resolve()

/** Starts reading at once. `output` must have no other writer, and be done with bytes when it calls back. */
export function createStdio(input: Readable, output: Writable, ports: StdioPorts): Stdio {
  const lines = createLineSplitter(mostLineBytes)
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let flushing = false
  let broken = false
  let ended = false
  let closed = false
  let drained: { promise: Promise<void>; resolve: () => void } | undefined

  const ahead = createReadAhead(input, {
    chunk: (chunk) => lines.push(chunk, take, tooLong),
    last: () => take(lines.rest()),
    end,
  })
  input.on('error', end)
  input.on('close', end)
  output.on('drain', release)
  output.on('error', breakOff)
  output.on('close', breakOff)

  function take(bytes: Buffer): void {
    if (closed) return
    const envelope = readEnvelope(bytes)
    if (envelope.kind !== 'invalid' || !isBlank(bytes)) ports.message({ bytes, envelope })
  }

  function tooLong(): void {
    ports.fault(`A line on stdin is longer than ${mostLineBytes / 1024 / 1024} MB.`)
  }

  function end(): void {
    if (ended) return
    ended = true
    ports.end()
  }

  /** EPIPE and the like: whoever started us is gone, or has closed its end of stdout. */
  function breakOff(): void {
    broken = true
    closed = true
    waiting = []
    waitingBytes = 0
    release()
    end()
  }

  function release(): void {
    drained?.resolve()
    drained = undefined
  }

  /** Answers of many connections come in one turn of the event loop: together they cost one system call, not one each. */
  function flush(): void {
    flushing = false
    if (broken || waiting.length === 0) return
    const buffers = waiting
    waiting = []
    const bytes = waitingBytes
    waitingBytes = 0
    if (bytes < largeBytes) output.write(Buffer.concat(buffers, bytes))
    else {
      output.cork()
      for (const buffer of buffers) output.write(buffer, () => giveBack(buffer))
      output.uncork()
    }
    if (!output.writableNeedDrain) release()
  }

  function room(): Promise<void> {
    if (waitingBytes < mostWaitingBytes && !output.writableNeedDrain) return done
    if (drained === undefined) {
      let resolve = (): void => {}
      const promise = new Promise<void>((settle) => {
        resolve = settle
      })
      drained = { promise, resolve }
    }
    return drained.promise
  }

  return {
    write(wire) {
      if (broken) return done
      waiting.push(wire.bytes, newline)
      waitingBytes += wire.bytes.length + 1
      if (!flushing) {
        flushing = true
        setImmediate(flush)
      }
      return room()
    },
    pause: ahead.pause,
    resume: ahead.resume,
    get isKeeping() {
      return ahead.isKeeping && !closed
    },
    async close() {
      ended = true
      closed = true
      input.destroy()
      flush()
      if (!broken) await written(output)
    },
  }
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

/** Many large answers would lie in memory until V8 collects, which takes such memory for little. */
function giveBack(bytes: Buffer): void {
  const memory: ArrayBufferLike & { transfer?(length: number): unknown } = bytes.buffer
  if (bytes.length < leastGivenBack || bytes.length !== memory.byteLength) return
  if (memory.transfer !== undefined) memory.transfer(0)
  else if (memory instanceof ArrayBuffer) nowhere().postMessage(undefined, [memory])
}

let closedPort: MessagePort | undefined

/** What is sent there is gone at once: Node 20 has no other way to give memory back. */
function nowhere(): MessagePort {
  if (closedPort !== undefined) return closedPort
  const { port1, port2 } = new MessageChannel()
  port2.close()
  return (closedPort = port1)
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 64 && bytes.toString('latin1').trim() === ''
}
