import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { createSignal, settledWithin } from '@drawbridge/shared/async.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { pipeline, type Send, type Step } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import { subscriptionNotice } from '../sign-in/authorization-prompt.ts'
import { type PendingSignIn, SignIns } from '../sign-in/sign-in-attempt.ts'
import { InFlight, Stdio } from '../stdio/stdio.ts'
import { type MemoryStore, RememberedServer } from '../transport/server-memory.ts'
import type { TransportPorts } from '../transport/transport.ts'
import { ClientInput, InitializeOrder, paramsOf, PendingCalls } from './client-calls.ts'
import { Liveness, type LivenessConfig } from './liveness.ts'
import type { ClientContext } from './pending-call.ts'
import { RevisionStep } from './revision-step.ts'
import { type ServerConfig, ServerConnections } from './server-connections.ts'
import { ToolFilter } from './tool-filter.ts'

/** Times in milliseconds. */
export interface McpProxyConfig extends ServerConfig, Omit<LivenessConfig, 'origin'> {
  /** The revision of the server; `auto` detects it. */
  protocol: 'auto' | 'legacy' | 'modern'
  /** Globs with `*`. A tool that `deny` matches, or that `allow` is not empty and does not match, is hidden and refused. */
  tools: { allow: readonly string[]; deny: readonly string[] }
  /** How long answers to a client wait for a sign-in. */
  signInWaitMs: number
}

export interface McpProxyPorts {
  input: Readable
  output: Writable
  http: HttpClient
  runtime: Runtime
  login: TransportPorts['login']
  /** Absent if signing in is impossible: the client gets the server's refusals. */
  signIn?: () => PendingSignIn
  /** Returns true if a browser will open it. */
  openBrowser(url: string): boolean
  memory: MemoryStore
  describeFailure: DescribeFailure
  say(line: string): void
  note(text: string): void
}

/** Clients kill their servers after a second: how long ending may take, from its first sign. */
const endMs = 850

/** Parts of {@link endMs}: for responses on their way when stdin ends, and for the DELETE of a session. */
const lastAnswersMs = 700
const graceMs = 500

/** Carries one local client to one server. */
export class McpProxy {
  readonly #ports: McpProxyPorts
  readonly #stdio: Stdio
  readonly #inFlight: InFlight
  readonly #client = new ClientInput()
  readonly #pending: PendingCalls
  readonly #remembered: RememberedServer
  readonly #signIns: SignIns
  readonly #server: RevisionStep
  readonly #liveness: Liveness
  readonly #send: Send<ClientContext>
  readonly #ended = createSignal()
  #isRunning = false
  #isEnding = false

  constructor(config: McpProxyConfig, ports: McpProxyPorts) {
    const { describeFailure, input, note, output } = ports
    this.#ports = ports
    this.#stdio = new Stdio(input, output)
    this.#inFlight = new InFlight(this.#stdio, output)
    const { write } = this.#inFlight
    this.#pending = new PendingCalls({ describeFailure, note, write })
    this.#remembered = new RememberedServer(ports.memory)
    const succeeded = (): void => this.#toolsChanged()
    this.#signIns = new SignIns({ ...ports, waitMs: config.signInWaitMs, succeeded, randomId })
    const filter = new ToolFilter(config.tools)
    const parts = {
      ...ports,
      client: this.#client,
      pending: this.#pending,
      remembered: this.#remembered,
      signIns: this.#signIns,
      randomId,
    }
    const servers = new ServerConnections(config, { ...parts, allowTool: (name) => filter.exempt(name) })
    this.#server = new RevisionStep(config.protocol, { ...parts, servers })
    this.#liveness = new Liveness(
      { ...config, origin: new URL(config.serverUrl).origin },
      {
        calls: this.#pending,
        server: this.#server,
        clocks,
        dropConnections: () => ports.http.close(),
        note,
      },
    )

    // A line of stdin passes these steps in this order, and then those of its connection to the server.
    const steps: Step<ClientContext>[] = [
      this.#inFlight,
      this.#client,
      ...(filter.hasRules ? [filter] : []),
      this.#pending,
      new InitializeOrder(),
    ]
    this.#send = pipeline(steps, this.#server.send)
  }

  /** Resolves with the exit code once stdin has ended, or {@link McpProxy.stop} was called, and everything is closed. */
  async run(): Promise<number> {
    if (!this.#isEnding && !this.#isRunning) {
      this.#isRunning = true
      const context: ClientContext = { era: 'legacy', deliver: this.#inFlight.write }
      this.#stdio.start(this.#send, context, () => void this.#inputEnded())
      this.#liveness.start()
    }
    await this.#ended.given
    return 0
  }

  stop(reason: string): void {
    this.#end(reason, performance.now() + endMs)
  }

  /** Notifies the client, in each revision that it uses, that the tools have changed. */
  #toolsChanged(): void {
    const method = 'notifications/tools/list_changed'
    if (this.#client.isInitialized) void this.#inFlight.write(toWireMessage({ jsonrpc: '2.0', method }))
    for (const call of this.#pending.calls().filter(isSubscription)) {
      const wanted = paramsOf(call.wire)?.['notifications']
      if (isJsonObject(wanted) && wanted['toolsListChanged'] === true)
        void this.#inFlight.write(toWireMessage(subscriptionNotice(method, call.id)))
    }
  }

  /** Ends sign-ins, too: their user has gone. */
  async #inputEnded(): Promise<void> {
    const now = performance.now()
    this.#signIns.close()
    const since = this.#ports.output.writable ? await this.#inFlight.drained(lastAnswersMs) : now
    this.#end('stdin has ended', since + endMs)
  }

  #end(reason: string, endBy: number): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#inFlight.giveUp()
    this.#ports.note(`ending: ${reason}`)
    void this.#close(endBy - performance.now()).then(() => this.#ended.give())
  }

  async #close(leftMs: number): Promise<void> {
    if (!this.#isRunning) return
    this.#remembered.flush()
    this.#liveness.stop()
    this.#signIns.close()
    const closing = Promise.all([this.#stdio.close(), this.#server.close(Math.min(graceMs, leftMs))])
    this.#pending.close()
    // A client that has stopped reading, or is too slow, does not delay the end: it loses the rest.
    await settledWithin(closing, leftMs)
  }
}

const clocks = {
  monotonicMs: () => performance.now(),
  uptimeMs: () => uptime() * 1000,
  wallMs: Date.now,
}

function randomId(): string {
  return randomBytes(12).toString('base64url')
}
