import { within } from '@drawbridge/shared/async.ts'
import type { Implementation } from '@modelcontextprotocol/server'
import type { CommandUpstream } from '../../../core/gateway/upstream.ts'
import type { KnownTools } from '../../answered-calls.ts'
import type { McpEndpointConfig } from '../../endpoint-config.ts'
import type { ProcessGuardian } from './process-guardian.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { ChildEnvironment } from './child-environment.ts'
import { type CommandEnd, CommandProcess } from './command-process.ts'
import { ErrorOutput } from './error-output.ts'
import { type GreetedProcess, greet } from './handshake.ts'
import { ProcessConnection, failure } from './process-connection.ts'

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

/** Terms common to all processes. */
export interface ServingTerms {
  upstream: CommandUpstream
  clientInfo: Implementation
  guardian: ProcessGuardian
  runtime: McpEndpointConfig['runtime']
  report: (event: CommandEvent, fields: Record<string, unknown>) => void
  /** The names of the tools of all processes. */
  known: KnownTools
}

/** The clients of a process, as it sees them. */
export interface ProcessClients {
  /** The capabilities that each has declared; undefined when none can be asked. */
  declared: JsonObject | undefined
  /** From now on they are served by that process. */
  attach(process: GreetedProcess): void
  onNotification(notification: JsonRpcNotification): void
  onRequest(request: JsonRpcRequest, answer: (response: JsonRpcResponse) => void): void
}

/** Terms of one process. */
export interface ProcessTerms {
  environment: ChildEnvironment
  /** Undefined for a trial start, which serves no client. */
  link: ProcessClients | undefined
  /** User of the operating system; undefined for that of this server. */
  user: { uid: number; gid: number } | undefined
  /** The person it serves; undefined for everybody. */
  sub: string | undefined
  first: McpEra
  startSeconds: number
  /** Called when it ends by itself after it has {@link ServedProcess.started}. */
  onDeath: () => void
}

const maxStrayLength = 200
const straysPerProcess = 20

/** One process, from its start to its end. */
export class ServedProcess {
  readonly #common: ServingTerms
  readonly #own: ProcessTerms
  readonly #process: CommandProcess
  readonly #connection: ProcessConnection
  readonly #errorOutput: ErrorOutput
  readonly #startedAt = performance.now()
  #isStarted = false
  #reason: EndReason | undefined
  #strays = 0
  /** Set when the start failed for one of these reasons. */
  failedBy: 'exit' | 'timeout' | undefined
  /** Resolves when it serves. Rejects with the reason when it cannot; then it has been stopped. */
  readonly started: Promise<GreetedProcess>

  constructor(common: ServingTerms, own: ProcessTerms) {
    this.#common = common
    this.#own = own
    const { environment, link, sub } = own
    const { upstream, guardian, report } = common
    this.#errorOutput = new ErrorOutput(
      [...upstream.secrets, ...(environment.providerToken === undefined ? [] : [environment.providerToken])],
      (line, skipped) =>
        report('upstream_stderr', { pid: this.#process.pid, sub, line, ...(skipped > 0 && { skipped }) }),
      () => performance.now(),
    )
    this.#connection = new ProcessConnection({
      send: (message) => this.#process.send(message),
      onNotification: (notification) => link?.onNotification(notification),
      onRequest: (request, answer) => link?.onRequest(request, answer),
    })
    this.#process = new CommandProcess(
      {
        command: upstream.command,
        args: upstream.args,
        cwd: upstream.cwd,
        environment: environment.values,
        user: own.user,
      },
      {
        guardian,
        errorOutput: this.#errorOutput,
        onMessage: (message) => this.#connection.receive(message),
        onLongAnswer: (id) => {
          this.#onStray('A message of the process was too long, and was skipped.')
          this.#connection.failAnswer(id)
        },
        onStray: (line) => this.#onStray(line),
        onEnd: (end) => this.#onEnd(end),
      },
    )
    this.started = this.#start()
    this.started.catch(() => {})
  }

  get user(): ProcessTerms['user'] {
    return this.#own.user
  }

  get providerToken(): string | undefined {
    return this.#own.environment.providerToken
  }

  /** The last 2 KB of its error output. */
  get errorTail(): string {
    return this.#errorOutput.tail
  }

  /** Ends it, with an error for every open call. Resolves when nothing of it is left. Never rejects. */
  async stop(reason: EndReason): Promise<void> {
    this.#reason ??= reason
    this.#connection.fail(
      failure('The server was stopped during the call. Check what it has done, then try again.'),
    )
    await this.#process.stop()
  }

  /** Resolves when it has answered every request. It gets no more. */
  settled(): Promise<void> {
    return this.#connection.settled()
  }

  async #start(): Promise<GreetedProcess> {
    const { clientInfo, report } = this.#common
    const { link, first, sub, startSeconds } = this.#own
    const ms = startSeconds * 1000
    const terms = { clientInfo, capabilities: link?.declared ?? {}, first, patienceMs: ms / 2 }
    try {
      const greeted = await within(ms, greet(this.#connection, terms))
      if (!greeted) {
        this.failedBy = 'timeout'
        throw new Error(`The process did not answer within ${startSeconds} s.`)
      }
      this.#isStarted = true
      link?.attach(greeted)
      const duration_ms = Math.round(performance.now() - this.#startedAt)
      report('upstream_started', {
        pid: this.#process.pid,
        sub,
        revision: greeted.revision,
        duration_ms,
      })
      return greeted
    } catch (error) {
      void this.stop('not_started')
      throw error
    }
  }

  #onStray(line: string): void {
    this.#strays += 1
    if (this.#strays > straysPerProcess) return
    const { sub } = this.#own
    const text = this.#errorOutput.masked(line).slice(0, maxStrayLength)
    this.#common.report('upstream_output_skipped', { pid: this.#process.pid, sub, line: text })
  }

  #onEnd({ code, signal, fault }: CommandEnd): void {
    const isDeath = this.#reason === undefined
    this.#reason ??= this.#isStarted ? 'exited' : 'not_started'
    if (isDeath && !this.#isStarted) this.failedBy = 'exit'
    this.#connection.fail(
      this.#isStarted
        ? failure('The server ended during the call. Check what it has done, then try again.')
        : (fault ?? new Error(`The process exited with ${signal ?? `code ${code}`} before it served.`)),
    )
    const { sub, onDeath } = this.#own
    this.#common.report('upstream_ended', {
      pid: this.#process.pid,
      sub,
      reason: this.#reason,
      code,
      signal,
      ...(fault && { error: fault }),
    })
    if (isDeath && this.#isStarted) onDeath()
  }
}
