import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'
import { answeredIds, readOutput } from './process-output.ts'

const maxLineBytes = 16 * 1024 * 1024
/** Includes cancelled calls: a process that reads nothing must not fill the memory. */
const maxQueuedBytes = 64 * 1024 * 1024
/** Waits this long for the answer itself: some programs log what they answer. */
const loggedAnswerMs = 250
/** Waits this long for the exit of a process that has closed its input, as most have ended. */
const closedInputMs = 500
/** The same for a process that has closed its output. */
const closedOutputMs = 50

const decoder = new TextDecoder()

export interface LinesPorts {
  /** Takes the messages, and the ids of answers that cannot be read, as the `ProcessConnection` does. */
  connection: {
    receive(message: JsonRpcMessage): boolean
    failAnswer(id: number | null, text?: string): void
  }
  /** Takes a line without a JSON-RPC message, or with an answer that cannot be read. */
  onStray: (line: string) => void
  /** Called when the process no longer reads or writes, with the reason. */
  onFault: (reason: string) => void
}

/** Writes messages as lines to a process, and reads those that it writes. */
export class ProcessLines {
  readonly #stdin: ChildProcessWithoutNullStreams['stdin']
  readonly #ports: LinesPorts
  #isClosed = false

  constructor(
    { stdin, stdout }: Pick<ChildProcessWithoutNullStreams, 'stdin' | 'stdout'>,
    ports: LinesPorts,
  ) {
    this.#stdin = stdin
    this.#ports = ports
    stdin.on('error', () => this.#failAfter(closedInputMs, 'The process closed its input.'))
    this.#readFrom(stdout)
  }

  /** Sends and reads nothing from now on. */
  close(): void {
    this.#isClosed = true
  }

  send(message: JsonRpcMessage): void {
    if (this.#isClosed) return
    this.#stdin.write(`${JSON.stringify(message)}\n`)
    // What else this turn of the event loop sends goes in one write.
    if (this.#stdin.writableCorked === 0) {
      this.#stdin.cork()
      setImmediate(() => this.#stdin.uncork())
    }
    if (this.#stdin.writableLength > maxQueuedBytes)
      this.#ports.onFault('The process does not read its input.')
  }

  #readFrom(stdout: ChildProcessWithoutNullStreams['stdout']): void {
    const lines = new LineSplitter(maxLineBytes, {
      line: (bytes) => this.#readLine(decoder.decode(bytes)),
      tooLong: (head, tail) => {
        this.#ports.onStray('A message of the process was too long, and was skipped.')
        const text = 'The answer of the server was too long. Ask for less, for example for a part of it.'
        for (const id of answeredIds(decoder.decode(head), decoder.decode(tail)))
          this.#ports.connection.failAnswer(id, text)
      },
    })
    stdout.on('data', (chunk: Buffer) => lines.push(chunk))
    stdout.on('end', () => {
      lines.end()
      this.#failAfter(closedOutputMs, 'The process closed its output.')
    })
    stdout.on('error', () => {})
  }

  #failAfter(ms: number, reason: string): void {
    setTimeout(() => this.#ports.onFault(reason), ms).unref()
  }

  #readLine(line: string): void {
    if (this.#isClosed || line.trim() === '') return
    const messages = readOutput(line)
    for (const { message, isGuess } of messages)
      if (isGuess) setTimeout(() => this.#receive(message, line), loggedAnswerMs).unref()
      else this.#receive(message, line)
    if (messages.some(({ isFaulty }) => isFaulty)) this.#ports.onStray(line)
  }

  #receive(message: JsonRpcMessage | undefined, line: string): void {
    const { connection } = this.#ports
    if (!message || connection.receive(message)) return
    // The line may have its id twice, or name no open request.
    const [id = null, ...others] = answeredIds(line, line)
    for (const each of [id ?? ('id' in message ? Number(message.id) : null), ...others])
      connection.failAnswer(each)
  }
}
