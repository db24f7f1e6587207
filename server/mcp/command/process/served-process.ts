import type { Implementation } from '@modelcontextprotocol/server'
import { within } from '@drawbridge/shared/async.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CommandUpstream } from '../../../core/gateway/upstream.ts'
import type { KnownTools } from '../../known-tools.ts'
import type { McpEndpointConfig } from '../../endpoint-config.ts'
import type { ChildEnvironment } from './child-environment.ts'
import { type CommandEnd, CommandProcess } from './command-process.ts'
import { ErrorOutput } from './error-output.ts'
import { type GreetedProcess, greet } from './handshake.ts'
import { failure, type ProcessClients } from './process-connection.ts'
import type { ProcessGuardian } from './process-guardian.ts'

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
  /** The names of the tools of all processes. */
  known: KnownTools
}

export interface ProcessTerms {
  environment: ChildEnvironment
  /** Undefined for a trial start, which serves no client. */
  clients: ProcessClients | undefined
  /** User of the operating system; undefined for that of this server. */
  user: { uid: number; gid: number } | undefined
  /** The person it serves; undefined for everybody. */
  sub: string | undefined
  first: McpEra
  startSeconds: number
  onGone: () => void
  /** Called when it ends by itself after it has served. */
  onDeath: () => void
}

const maxStrayLength = 200
const straysPerMinute = 20

/** One process, from its start to its end. */
export class ServedProcess {
  readonly terms: ProcessTerms
  /** Resolves when it serves. Rejects with the reason when it cannot; then it has been stopped. */
  readonly started: Promise<GreetedProcess>
  isServing = false
  /** Set when the start failed for one of these reasons. */
  failedBy: 'exit' | 'timeout' | undefined
  readonly #common: ServingTerms
  readonly #process: CommandProcess
  readonly #errorOutput: ErrorOutput
  readonly #startedAt = performance.now()
  #reason: EndReason | undefined
  #stopping: Promise<void> | undefined
  #strays = 0
  #straysSince = -Infinity

  constructor(common: ServingTerms, terms: ProcessTerms) {
    this.#common = common
    this.terms = terms
    const { upstream, guardian } = common
    const { environment, user, clients } = terms
    this.#errorOutput = new ErrorOutput(
      [...upstream.secrets, ...(environment.providerToken === undefined ? [] : [environment.providerToken])],
      (line, skipped) => this.#report('upstream_stderr', { line, ...(skipped > 0 && { skipped }) }),
      () => performance.now(),
    )
    const { command, args, cwd } = upstream
    this.#process = new CommandProcess(
      { command, args, cwd, environment: environment.values, user },
      {
        guardian,
        errorOutput: this.#errorOutput,
        clients,
        onStray: (line) => this.#onStray(line),
        onEnd: (end) => this.#onEnd(end),
      },
    )
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
    this.#process.connection.fail(
      failure('The server was stopped during the call. Check what it has done, then try again.'),
    )
    this.#stopping ??= this.#process.stop().finally(this.terms.onGone)
    return this.#stopping
  }

  /** Resolves when it has answered every request. It gets no more. */
  settled(): Promise<void> {
    return this.#process.connection.settled()
  }

  async #start(): Promise<GreetedProcess> {
    const { clients, first, startSeconds } = this.terms
    const ms = startSeconds * 1000
    const terms = {
      clientInfo: this.#common.clientInfo,
      capabilities: clients?.declared ?? {},
      first,
      patienceMs: ms / 2,
    }
    try {
      const greeted = await within(ms, greet(this.#process.connection, terms))
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
    this.#common.report(event, { pid: this.#process.pid, sub: this.terms.sub, ...fields })
  }

  #onStray(line: string): void {
    const now = performance.now()
    if (now - this.#straysSince > 60_000) [this.#strays, this.#straysSince] = [0, now]
    this.#strays += 1
    if (this.#strays > straysPerMinute) return
    const text = this.#errorOutput.masked(line).slice(0, maxStrayLength)
    this.#report('upstream_output_skipped', { line: text })
  }

  #onEnd({ code, signal, fault }: CommandEnd): void {
    const isDeath = this.#reason === undefined
    this.#reason ??= this.isServing ? 'exited' : 'not_started'
    if (isDeath && !this.isServing) this.failedBy = 'exit'
    this.#process.connection.fail(
      this.isServing
        ? failure('The server ended during the call. Check what it has done, then try again.')
        : (fault ?? new Error(`The process exited with ${signal ?? `code ${code}`} before it served.`)),
    )
    this.#report('upstream_ended', { reason: this.#reason, code, signal, ...(fault && { error: fault }) })
    void this.stop(this.#reason)
    if (isDeath && this.isServing) this.terms.onDeath()
  }
}
