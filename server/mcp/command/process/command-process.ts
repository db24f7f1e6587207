import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Implementation } from '@modelcontextprotocol/server'
import { within } from '@drawbridge/shared/async.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CommandUpstream } from '../../../core/gateway/upstream.ts'
import type { McpEndpointConfig } from '../../endpoint-config.ts'
import type { ChildEnvironment } from './child-environment.ts'
import { ErrorOutput } from './error-output.ts'
import { type GreetedProcess, greet } from './handshake.ts'
import { failure, type ProcessClients, ProcessConnection } from './process-connection.ts'
import type { ProcessGuardian } from './process-guardian.ts'
import { ProcessLines } from './process-lines.ts'

/** The events of processes; fields as in docs/observability.md. */
export type CommandEvent =
  | 'upstream_started'
  | 'upstream_ended'
  | 'upstream_not_started'
  | 'upstream_stderr'
  | 'upstream_output_skipped'
  | 'upstream_broken'
  | 'upstream_full'
  | 'upstream_unguarded'

/** Why a process ends. */
export type EndReason =
  | 'exited' // by itself, or by a fault of its own
  | 'not_started'
  | 'idle'
  | 'evicted' // for another one
  | 'replaced' // because the provider's token has changed
  | 'session_over'
  | 'tried' // it was started to see whether it starts
  | 'closed'

export interface ServingTerms {
  upstream: CommandUpstream
  clientInfo: Implementation
  guardian: ProcessGuardian
  runtime: McpEndpointConfig['runtime']
  report: (event: CommandEvent, fields: Record<string, unknown>) => void
}

export interface ProcessTerms {
  environment: ChildEnvironment
  /** Undefined for a trial start, which serves no client. */
  clients: ProcessClients | undefined
  /** User of the operating system; undefined: the user of this server. */
  user: { uid: number; gid: number } | undefined
  /** The person it serves; undefined for everybody. */
  sub: string | undefined
  first: McpEra
  startSeconds: number
  onGone: () => void
  /** Called when it ends by itself after it has served. */
  onDeath: () => void
}

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
const maxStrayLength = 200

/**
 * One process of the command, from its start to its end, with everything that it starts: they are one process group. A start that
 * fails rejects `started`.
 */
export class CommandProcess {
  readonly terms: ProcessTerms
  /** Resolves when it serves. Rejects with the reason when it cannot; then it has been stopped. */
  readonly started: Promise<GreetedProcess>
  isServing = false
  /** Set when the start failed for one of these reasons. */
  failedBy: 'exit' | 'timeout' | undefined
  readonly #common: ServingTerms
  readonly #child: ChildProcessWithoutNullStreams
  readonly #connection: ProcessConnection
  readonly #lines: ProcessLines
  readonly #errorOutput: ErrorOutput
  readonly #startedAt = performance.now()
  #reason: EndReason | undefined
  #isOver = false
  #stopping: Promise<void> | undefined

  constructor(common: ServingTerms, terms: ProcessTerms) {
    this.#common = common
    this.terms = terms
    const { upstream, guardian } = common
    const { environment, user, clients } = terms
    const { command, args, cwd, secrets } = upstream
    const { values, providerToken } = environment
    const masked = providerToken === undefined ? secrets : [...secrets, providerToken]
    const now = (): number => performance.now()
    this.#errorOutput = new ErrorOutput(
      masked,
      (line, skipped) => this.#report('upstream_stderr', { line, ...(skipped > 0 && { skipped }) }),
      now,
    )
    const strays = new ErrorOutput(
      masked,
      (line) => this.#report('upstream_output_skipped', { line: line.slice(0, maxStrayLength) }),
      now,
    )
    const child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      // Without supplementary groups: libuv drops root's.
      ...user,
      env: values,
      detached: true,
      windowsHide: true,
    })
    this.#child = child
    if (child.pid !== undefined) guardian.watch(child.pid)
    const connection = new ProcessConnection((message) => this.#lines.send(message), clients)
    this.#connection = connection
    this.#lines = new ProcessLines(child, {
      connection,
      onStray: (line) => strays.push(`${line}\n`),
      onFault: (reason) => this.#onEnd(new Error(reason)),
    })
    this.#watch(child)
    this.started = this.#start()
    this.started.catch(() => {})
  }

  /** True from the moment it begins to end. */
  get isEnding(): boolean {
    return this.#stopping !== undefined
  }

  get errorTail(): string {
    return this.#errorOutput.tail
  }

  /** Ends it, with an error for every open call. Resolves when nothing of it is left. Never rejects. */
  stop(reason: EndReason): Promise<void> {
    this.#reason ??= reason
    this.#connection.fail(
      failure('The server was stopped during the call. Check what it has done, then try again.'),
    )
    this.#stopping ??= this.#kill().finally(this.terms.onGone)
    return this.#stopping
  }

  /** Resolves when it has answered every request. It gets no more. */
  settled(): Promise<void> {
    return this.#connection.settled()
  }

  #watch(child: ChildProcessWithoutNullStreams): void {
    child.on('error', (error) => this.#onEnd(error))
    child.on('exit', () => {
      child.on('close', () => this.#onEnd())
      // After a turn of the loop: on a busy machine the output is there, and not yet read.
      setTimeout(() => setImmediate(() => this.#onEnd()), lastOutputMs)
    })
    const { stderr } = child
    stderr.setEncoding('utf8')
    stderr.on('data', (chunk: string) => this.#errorOutput.push(chunk))
    stderr.on('end', () => this.#errorOutput.end())
    stderr.on('error', () => {})
  }

  async #start(): Promise<GreetedProcess> {
    const { clients, first, startSeconds } = this.terms
    const { clientInfo } = this.#common
    const ms = startSeconds * 1000
    const terms = { clientInfo, capabilities: clients?.declared ?? {}, first, patienceMs: ms / 2 }
    try {
      const greeted = await within(ms, greet(this.#connection, terms))
      if (!greeted) {
        this.failedBy = 'timeout'
        throw new Error(`The process did not answer within ${startSeconds} s.`)
      }
      this.isServing = true
      const duration_ms = Math.round(performance.now() - this.#startedAt)
      this.#report('upstream_started', { revision: greeted.revision, duration_ms })
      return greeted
    } catch (error) {
      void this.stop('not_started')
      throw error
    }
  }

  #report(event: CommandEvent, fields: Record<string, unknown>): void {
    this.#common.report(event, { pid: this.#child.pid, sub: this.terms.sub, ...fields })
  }

  /** Takes its end, after which no message comes and none is sent. `fault` is set when it has not exited by itself. */
  #onEnd(fault?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#lines.close()
    const { exitCode, signalCode } = this.#child
    const isDeath = this.#reason === undefined
    this.#reason ??= this.isServing ? 'exited' : 'not_started'
    if (isDeath && !this.isServing) this.failedBy = 'exit'
    this.#connection.fail(
      this.isServing
        ? failure('The server ended during the call. Check what it has done, then try again.')
        : (fault ??
            new Error(`The process exited with ${signalCode ?? `code ${exitCode}`} before it served.`)),
    )
    const [code, signal] = fault ? [null, null] : [exitCode, signalCode]
    this.#report('upstream_ended', { reason: this.#reason, code, signal, error: fault })
    // Processes that it has started may live on.
    void this.stop(this.#reason)
    if (isDeath && this.isServing) this.terms.onDeath()
  }

  /** Ends its input and, if that is not enough, kills the group. Resolves when all of it is gone. */
  async #kill(): Promise<void> {
    const { pid, stdin, stdout, stderr } = this.#child
    stdin.end()
    for (const [signal, ms] of stopSteps) {
      if (signal) signalGroup(this.#child, signal)
      if (await isGoneWithin(ms, this.#child)) break
    }
    // Its exit may be known before its output has closed.
    this.#onEnd()
    // Processes that left the group may hold these open.
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
    if (pid !== undefined) this.#common.guardian.forget(pid)
  }
}

async function isGoneWithin(ms: number, child: ChildProcessWithoutNullStreams): Promise<boolean> {
  const until = performance.now() + ms
  for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
    if (!isAlive(child)) return true
    const left = until - performance.now()
    if (left <= 0) return false
    await sleep(Math.min(wait, left))
  }
}

function isAlive(child: ChildProcessWithoutNullStreams): boolean {
  const { pid, exitCode, signalCode } = child
  if (process.platform === 'win32') return pid !== undefined && exitCode === null && signalCode === null
  return signalGroup(child, 0)
}

/** False when no process of the group is left to get it. */
function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false
  try {
    return process.platform === 'win32' ? child.kill(signal) : process.kill(-child.pid, signal)
  } catch {
    return false
  }
}
