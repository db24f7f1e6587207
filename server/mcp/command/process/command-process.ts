import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'
import type { ErrorOutput } from './error-output.ts'
import { type ProcessClients, ProcessConnection } from './process-connection.ts'
import type { ProcessGuardian } from './process-guardian.ts'
import { answeredIds, isWholeLine, readOutput } from './process-line.ts'

const maxLineBytes = 16 * 1024 * 1024
/** Calls that were cancelled wait here too: a process that reads nothing must not fill the memory. */
const maxQueuedLength = 64 * 1024 * 1024
/** Reads the output of an exited process this long: its last answers may be in there. */
const lastOutputMs = 50
/**
 * How a process is stopped, and how long each step may take. Its input has ended before. Nothing survives SIGKILL, but a busy
 * machine may be slow to report it.
 */
const stopSteps: readonly (readonly [signal: NodeJS.Signals | undefined, ms: number])[] = [
  [undefined, 2000],
  ['SIGTERM', 3000],
  ['SIGKILL', 5000],
]

/** Output without a line end is read when nothing has followed it for this long, if it is whole. */
const unendedLineMs = 1000
/** Some programs log what they answer: the answer itself follows within this time. */
const loggedAnswerMs = 250
/** How long after its input has closed the exit of a process is known. */
const closedInputMs = 500
const lineFeed = 0x0a

const decoder = new TextDecoder()

export interface CommandTerms {
  command: string
  args: readonly string[]
  cwd: string | undefined
  environment: Record<string, string>
  /** Undefined: the user of this server. */
  user: { uid: number; gid: number } | undefined
}

/** The end of a process. `fault` is set when it has not exited by itself. */
export interface CommandEnd {
  code: number | null
  signal: NodeJS.Signals | null
  fault: Error | undefined
}

export interface CommandPorts {
  guardian: ProcessGuardian
  errorOutput: ErrorOutput
  /** Undefined when it serves nobody. */
  clients: ProcessClients | undefined
  /** A line that is no JSON-RPC message, or an answer that cannot be read. */
  onStray: (line: string) => void
  /** Called once, when no message comes any more and none can be sent, also after {@link CommandProcess.stop}. */
  onEnd: (end: CommandEnd) => void
}

/** A process that speaks JSON-RPC by lines, with everything that it starts: they are one process group. */
export class CommandProcess {
  readonly connection: ProcessConnection
  readonly #child: ChildProcessWithoutNullStreams
  readonly #ports: CommandPorts
  #writing: Promise<unknown> = Promise.resolve()
  #queuedLength = 0
  #isOver = false
  #stopping: Promise<void> | undefined

  /** Starts it. That it cannot be started is told by `onEnd`, and never thrown. */
  constructor({ command, args, cwd, environment, user }: CommandTerms, ports: CommandPorts) {
    this.#ports = ports
    this.connection = new ProcessConnection((message) => this.#send(message), ports.clients)
    this.#child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      // Without supplementary groups: libuv drops those of root.
      ...user,
      env: environment,
      detached: true,
      windowsHide: true,
    })
    if (this.pid !== undefined) ports.guardian.watch(this.pid)
    this.#child.on('error', (error) => this.#end({ code: null, signal: null, fault: error }))
    this.#child.on('exit', (code, signal) => {
      const end = { code, signal, fault: undefined }
      this.#child.on('close', () => this.#end(end))
      // After a turn of the loop: on a busy machine the output is there, and not yet read.
      setTimeout(() => setImmediate(() => this.#end(end)), lastOutputMs)
    })
    // Most have ended. One that lives on without its input would leave calls without an answer.
    this.#child.stdin.on('error', () => {
      setTimeout(() => this.#fail('The process closed its input.'), closedInputMs).unref()
    })
    this.#readOutput()
    this.#readErrorOutput()
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Ends its input and, if that is not enough, kills the group. Resolves when all of it is gone. Never rejects. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { stdin, stdout, stderr } = this.#child
    stdin.end()
    for (const [signal, ms] of stopSteps) {
      if (signal) this.#signal(signal)
      if (await this.#isGoneWithin(ms)) break
    }
    // Its exit may be known before its output has closed.
    this.#end({ code: this.#child.exitCode, signal: this.#child.signalCode, fault: undefined })
    // What left the group may hold these open.
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
    if (this.pid !== undefined) this.#ports.guardian.forget(this.pid)
  }

  /** Resolves when there is room for the next message. A process that has ended gets none. */
  #send(message: JsonRpcMessage): Promise<unknown> {
    const line = `${JSON.stringify(message)}\n`
    this.#queuedLength += line.length
    if (this.#queuedLength > maxQueuedLength) this.#fail('The process does not read its input.')
    this.#writing = this.#writing
      .then(() => this.#write(line))
      .finally(() => (this.#queuedLength -= line.length))
    return this.#writing
  }

  async #write(line: string): Promise<void> {
    if (this.#isOver || this.#child.stdin.write(line)) return
    const { stdin } = this.#child
    const drained = new AbortController()
    const { signal } = drained
    await Promise.race([once(stdin, 'drain', { signal }), once(stdin, 'close', { signal })]).catch(() => {})
    drained.abort()
  }

  #readOutput(): void {
    const lines = new LineSplitter(maxLineBytes, {
      line: (bytes) => this.#readLine(decoder.decode(bytes)),
      tooLong: (head, tail) => {
        this.#ports.onStray('A message of the process was too long, and was skipped.')
        const text = 'The answer of the server was too long. Ask for less, for example for a part of it.'
        this.#failAnswers(decoder.decode(head), decoder.decode(tail), text)
      },
    })
    // Some programs do not end their lines, or with CR alone.
    const pause = setTimeout(() => {
      lines.endIf((bytes) => isWholeLine(decoder.decode(bytes)))
    }, unendedLineMs).unref()
    this.#child.stdout.on('data', (chunk: Buffer) => {
      lines.push(chunk)
      if (chunk.at(-1) !== lineFeed) pause.refresh()
    })
    this.#child.stdout.on('end', () => {
      clearTimeout(pause)
      lines.end()
      // One that is ending closes it too.
      setTimeout(() => this.#fail('The process closed its output.'), lastOutputMs).unref()
    })
    this.#child.stdout.on('error', () => {})
  }

  #readErrorOutput(): void {
    const { stderr } = this.#child
    stderr.setEncoding('utf8')
    stderr.on('data', (chunk: string) => this.#ports.errorOutput.push(chunk))
    stderr.on('end', () => this.#ports.errorOutput.end())
    stderr.on('error', () => {})
  }

  #readLine(line: string): void {
    if (this.#isOver || line.trim() === '') return
    const messages = readOutput(line)
    for (const { message, isGuess } of messages)
      if (isGuess) setTimeout(() => this.#receive(message, line), loggedAnswerMs).unref()
      else this.#receive(message, line)
    if (messages.some(({ isFaulty }) => isFaulty)) this.#ports.onStray(line)
  }

  #receive(message: JsonRpcMessage | undefined, line: string): void {
    if (!message || this.connection.receive(message)) return
    // Its id may be there twice, or be that of no request.
    const [id = null, ...others] = answeredIds(line, line)
    for (const each of [id ?? ('id' in message ? Number(message.id) : null), ...others])
      this.connection.failAnswer(each)
  }

  /** Ends the calls whose answers are in a line, by the first and last characters of it. */
  #failAnswers(head: string, tail: string, text?: string): void {
    for (const id of answeredIds(head, tail)) this.connection.failAnswer(id, text)
  }

  #fail(message: string): void {
    this.#end({ code: null, signal: null, fault: new Error(message) })
  }

  #end(end: CommandEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ports.onEnd(end)
    // What it has started may live on.
    void this.stop()
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const until = performance.now() + ms
    for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
      if (!this.#isAlive()) return true
      const left = until - performance.now()
      if (left <= 0) return false
      await sleep(Math.min(wait, left))
    }
  }

  #isAlive(): boolean {
    const { exitCode, signalCode } = this.#child
    if (process.platform === 'win32')
      return this.pid !== undefined && exitCode === null && signalCode === null
    return this.#signal(0)
  }

  /** False when nobody is left to get it. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    if (this.pid === undefined) return false
    try {
      return process.platform === 'win32' ? this.#child.kill(signal) : process.kill(-this.pid, signal)
    } catch {
      return false
    }
  }
}
