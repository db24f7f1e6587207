import { setTimeout as sleep } from 'node:timers/promises'
import type { Implementation } from '@modelcontextprotocol/server'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CommandUpstream } from '../../core/gateway/upstream.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { serveWith } from '../sdk/sdk-endpoint.ts'
import { RequestStateCodec } from '../sdk/request-state.ts'
import type { ChildEnvironment } from './child-environment.ts'
import { type CommandEnd, CommandProcess } from './command-process.ts'
import { ConnectedClients } from './connected-clients.ts'
import { ErrorOutput } from './error-output.ts'
import { ForwardingServers } from './forwarding-servers.ts'
import { envelopeOf, greet, type Presentation } from './greeting.ts'
import { failure, ProcessConnection } from './process-connection.ts'
import type { ProcessGuardian } from './process-guardian.ts'
import { ProcessWatch } from './process-watch.ts'

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

/** Why a process ended. */
export type EndReason =
  | 'exited' // by itself, or by a fault of its own
  | 'not_started'
  | 'idle'
  | 'evicted' // for another one
  | 'replaced' // because the provider's token has changed
  | 'session_over'
  | 'closed'

/** What is the same for all processes. */
export interface ServingTerms {
  upstream: CommandUpstream
  clientInfo: Implementation
  guardian: ProcessGuardian
  config: Pick<McpEndpointConfig, 'sealer' | 'runtime' | 'resourceMetadata' | 'report'>
  report: (event: CommandEvent, fields: Record<string, unknown>) => void
  /** Called with the name of each tool that a process is known to have. */
  onTool: (name: string) => void
}

/** What is its own of one process. */
export interface ProcessTerms {
  environment: ChildEnvironment
  /** Undefined for a process that several clients share. */
  declared: JsonObject | undefined
  /** Whom it serves; undefined: everybody. */
  sub: string | undefined
  first: McpEra
  /** Called when a request of a client begins; the result is called when it is over. */
  onRequest: () => () => void
  /** Called when it ends by itself after it has {@link ServedProcess.started}. */
  onDeath: () => void
}

const maxStrayLength = 200
const straysPerProcess = 20
/** How long answers that are on their way may take before the streams end under them. */
const lastAnswersMs = 100

/** One process, and what serves its clients. */
export class ServedProcess {
  readonly #common: ServingTerms
  readonly #own: ProcessTerms
  readonly #process: CommandProcess
  readonly #connection: ProcessConnection
  readonly #errorOutput: ErrorOutput
  readonly #clients: ConnectedClients
  readonly #startedAt = performance.now()
  #servers: ForwardingServers | undefined
  #endpoint: McpEndpoint | undefined
  #isStarted = false
  #reason: EndReason | undefined
  #strays = 0
  #closing: Promise<void> | undefined
  /** Why it did not start, if it is one of these. */
  failedBy: 'exit' | 'timeout' | undefined
  /** Resolves when it serves. Rejects with the reason when it cannot; then it has been stopped. */
  readonly started: Promise<Presentation>

  constructor(common: ServingTerms, own: ProcessTerms) {
    this.#common = common
    this.#own = own
    const { environment, declared, sub } = own
    const { upstream, guardian, report } = common
    this.#clients = new ConnectedClients(upstream.process === 'shared', declared)
    this.#errorOutput = new ErrorOutput(
      environment.providerToken === undefined ? [] : [environment.providerToken],
      (line, skipped) =>
        report('upstream_stderr', { pid: this.#process.pid, sub, line, ...(skipped > 0 && { skipped }) }),
      () => performance.now(),
    )
    this.#connection = new ProcessConnection({
      send: (message) => this.#process.send(message),
      onNotification: (method, params) => this.#onNotification(method, params),
      onRequest: (method, params, signal) => this.#clients.ask(method, params, signal),
    })
    this.#process = new CommandProcess(
      {
        command: upstream.command,
        args: upstream.args,
        cwd: upstream.cwd,
        environment: environment.values,
      },
      {
        guardian,
        errorOutput: this.#errorOutput,
        onMessage: (message) => this.#connection.receive(message),
        onStray: (line) => this.#onStray(line),
        onEnd: (end) => this.#onEnd(end),
      },
    )
    this.started = this.#start()
    this.started.catch(() => {})
  }

  /** Only once it has {@link started}. */
  get endpoint(): McpEndpoint {
    if (!this.#endpoint) throw new TypeError('The process has not started.')
    return this.#endpoint
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
    await Promise.all([this.#process.stop(), this.#closeEndpoint()])
  }

  async #start(): Promise<Presentation> {
    const { upstream, clientInfo, report } = this.#common
    const { declared, first, sub } = this.#own
    const ms = upstream.startTimeoutSeconds * 1000
    const over = new AbortController()
    const timeout = sleep(ms, undefined, { signal: over.signal }).then(
      () => {
        this.failedBy = 'timeout'
        throw new Error(`The process did not answer within ${upstream.startTimeoutSeconds} s.`)
      },
      () => new Promise<never>(() => {}),
    )
    const terms = { clientInfo, capabilities: declared ?? {}, first, patienceMs: ms / 2 }
    try {
      const presentation = await Promise.race([greet(this.#connection, terms), timeout])
      this.#isStarted = true
      this.#serve(presentation, envelopeOf(terms))
      const duration_ms = Math.round(performance.now() - this.#startedAt)
      report('upstream_started', {
        pid: this.#process.pid,
        sub,
        revision: presentation.revision,
        duration_ms,
      })
      return presentation
    } catch (error) {
      void this.stop('not_started')
      throw error
    } finally {
      over.abort()
    }
  }

  #serve(presentation: Presentation, envelope: JsonObject): void {
    const { upstream, config, onTool } = this.#common
    this.#servers = new ForwardingServers({
      connection: this.#connection,
      presentation,
      watch: new ProcessWatch(this.#connection, presentation, envelope),
      envelope,
      policy: upstream.policy,
      clients: this.#clients,
      states: new RequestStateCodec(config.sealer, config.runtime),
      nowMs: () => performance.now(),
      onTool,
      onRequest: this.#own.onRequest,
    })
    this.#endpoint = serveWith({
      config: { ...config, serverInfo: presentation.serverInfo },
      servers: this.#servers,
      hasSessions: true,
    })
  }

  #onNotification(method: string, params: JsonObject): void {
    const listChanged: Readonly<Record<string, (() => void) | undefined>> = {
      'notifications/tools/list_changed': () => {
        this.#servers?.toolsChanged()
        this.#endpoint?.notify.toolsChanged()
      },
      'notifications/prompts/list_changed': this.#endpoint?.notify.promptsChanged,
      'notifications/resources/list_changed': this.#endpoint?.notify.resourcesChanged,
    }
    if (method === 'notifications/message') this.#clients.log(params)
    else if (method === 'notifications/resources/updated') this.#onResourceUpdated(params['uri'])
    else if (method in listChanged) listChanged[method]?.()
    else this.#clients.notify(method, params)
  }

  /** Of a shared process it could be about what one person does. */
  #onResourceUpdated(uri: unknown): void {
    if (this.#common.upstream.process === 'user' && typeof uri === 'string')
      this.#endpoint?.notify.resourceUpdated(uri)
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
    void this.#closeEndpoint()
    if (isDeath && this.#isStarted) onDeath()
  }

  #closeEndpoint(): Promise<void> {
    this.#closing ??= this.#endpoint ? closeSoon(this.#endpoint) : undefined
    return this.#closing ?? Promise.resolve()
  }
}

async function closeSoon(endpoint: McpEndpoint): Promise<void> {
  endpoint.endStreams()
  await sleep(lastAnswersMs)
  await endpoint.close()
}
