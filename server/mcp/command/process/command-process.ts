import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorOutput } from './error-output.ts'
import { type ProcessClients, ProcessConnection } from './process-connection.ts'
import type { ProcessGuardian } from './process-guardian.ts'
import { ProcessLines } from './process-lines.ts'

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
  readonly #lines: ProcessLines
  #isOver = false
  #stopping: Promise<void> | undefined

  /** Starts it. That it cannot be started is told by `onEnd`, and never thrown. */
  constructor({ command, args, cwd, environment, user }: CommandTerms, ports: CommandPorts) {
    this.#ports = ports
    this.#child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      // Without supplementary groups: libuv drops those of root.
      ...user,
      env: environment,
      detached: true,
      windowsHide: true,
    })
    if (this.pid !== undefined) ports.guardian.watch(this.pid)
    const connection = new ProcessConnection((message) => this.#lines.send(message), ports.clients)
    const onFault = (reason: string): void =>
      this.#end({ code: null, signal: null, fault: new Error(reason) })
    this.connection = connection
    this.#lines = new ProcessLines(this.#child, { connection, onStray: ports.onStray, onFault })
    this.#child.on('error', (error) => this.#end({ code: null, signal: null, fault: error }))
    this.#child.on('exit', (code, signal) => {
      const end = { code, signal, fault: undefined }
      this.#child.on('close', () => this.#end(end))
      // After a turn of the loop: on a busy machine the output is there, and not yet read.
      setTimeout(() => setImmediate(() => this.#end(end)), lastOutputMs)
    })
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

  #readErrorOutput(): void {
    const { stderr } = this.#child
    stderr.setEncoding('utf8')
    stderr.on('data', (chunk: string) => this.#ports.errorOutput.push(chunk))
    stderr.on('end', () => this.#ports.errorOutput.end())
    stderr.on('error', () => {})
  }

  #end(end: CommandEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#lines.close()
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
