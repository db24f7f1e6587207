import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { createSignal, settledWithin } from '@drawbridge/shared/async.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { jsonRpcCode, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { pipeline } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpClient } from '../http/http-client.ts'
import { type PendingSignIn, SignIns } from '../sign-in/sign-in-attempt.ts'
import { SignInStep } from '../sign-in/sign-in-step.ts'
import { InFlight, Stdio } from '../stdio/stdio.ts'
import { RememberedServer, type ServerMemory } from '../transport/server-memory.ts'
import type { TransportConfig, TransportPorts } from '../transport/transport.ts'
import { ClientInput, InitializeOrder } from './client-input.ts'
import { Liveness, type LivenessConfig } from './liveness.ts'
import { PendingCalls, refuse, type ClientContext } from './pending-calls.ts'
import { RevisionStep } from './revision-step.ts'
import { ServerConnections, type TransportOrder } from './server-connections.ts'
import { ToolFilter } from './tool-filter.ts'

/** How messages are carried. Times in milliseconds. */
export interface McpProxyConfig extends TransportConfig, Omit<LivenessConfig, 'origin'> {
  /** The bridge's own: it stands in for a server that nothing is known of yet. */
  version: string
  transport: TransportOrder
  /** `auto` finds out; the others say what the server speaks. */
  protocol: 'auto' | 'legacy' | 'modern'
  /** Globs with `*`. A tool that `deny` matches, or that `allow` is not empty and does not match, is hidden and refused. */
  tools: { allow: readonly string[]; deny: readonly string[] }
  /** How long answers to a client wait for a sign-in. */
  signInWaitMs: number
  /** Cookies of the server are sent back, for balancers that stick. */
  cookies: boolean
}

export interface McpProxyPorts {
  input: Readable
  output: Writable
  http: HttpClient
  runtime: Runtime
  tokens: TransportPorts['tokens']
  /** Left out where nobody can sign in: refusals are told to the client then. */
  signIn?: () => PendingSignIn
  /** Returns whether a browser is going to show it. */
  openBrowser(url: string): boolean
  memory: { read(): ServerMemory | undefined; write(memory: ServerMemory): void }
  describeFailure: DescribeFailure
  say(line: string): void
  note(text: string): void
}

/** Hosts grant a second before they kill: the part of it that is used, from the first sign of the end on. */
const endMs = 850

/** The parts of it for answers that are on their way when stdin ends, and then for the DELETE of a session. */
const lastAnswersMs = 700
const graceMs = 500

/** Hosts give a call 60 s and more, and some of that goes by before there is a link. */
const callWaitMs = 40_000

/** Carries one local client to one server. */
export class McpProxy {
  readonly #ports: McpProxyPorts
  readonly #stdio: Stdio
  readonly #inFlight: InFlight
  readonly #pending: PendingCalls
  readonly #remembered: RememberedServer
  readonly #signIns: SignIns
  readonly #revision: RevisionStep
  readonly #liveness: Liveness
  readonly #start: () => void
  readonly #ended = createSignal()
  #isRunning = false
  #isEnding = false

  constructor(config: McpProxyConfig, ports: McpProxyPorts) {
    this.#ports = ports
    const { describeFailure, note, output, say } = ports
    const write = (message: WireMessage): Promise<void> => this.#write(message)

    const stdio = (this.#stdio = new Stdio(ports.input, output))
    const inFlight = (this.#inFlight = new InFlight(stdio, output))
    const client = new ClientInput()
    const filter = new ToolFilter(config.tools)
    const pending = (this.#pending = new PendingCalls({ ...ports, write, wallMs: clocks.wallMs }))
    const remembered = (this.#remembered = new RememberedServer(ports))
    const signIns = (this.#signIns = new SignIns({
      ...ports,
      waitMs: config.signInWaitMs,
      succeeded: () => client.toolsChanged(pending.calls()).forEach((notice) => void write(notice)),
      randomId,
    }))

    const servers = new ServerConnections(config, {
      transport: {
        ...ports,
        cookies: config.cookies ? new Map() : undefined,
        randomId,
        warn: say,
        unsolicited: (message) => pending.unsolicited(message),
      },
      remembered,
      signIn: (era) =>
        new SignInStep(era, {
          signIns,
          version: config.version,
          callWaitMs,
          memory: () => remembered.known(),
          describeFailure,
          offered: (toolName) => filter.exempt(toolName),
        }),
    })
    const parts = { servers, pending, client, remembered, signIns }
    const revision = (this.#revision = new RevisionStep(config.protocol, {
      ...ports,
      ...parts,
      warn: say,
      randomId,
    }))
    const liveness = (this.#liveness = new Liveness(
      { ...config, origin: new URL(config.serverUrl).origin },
      { calls: pending, server: revision, clocks, dropConnections: () => ports.http.close(), note },
    ))

    /** A line of stdin passes these, in this order, and then the steps of the server that it goes to. */
    const rules = filter.hasRules ? [filter] : []
    const clientSteps = [inFlight, client, ...rules, pending, new InitializeOrder()]
    const send = pipeline<ClientContext>(clientSteps, (message, context) => revision.send(message, context))

    const context: ClientContext = { era: 'legacy', deliver: write }
    this.#start = () => {
      output.on('drain', () => inFlight.check())
      stdio.start({
        message: (message) => void send(message, context),
        end: () => void this.#inputEnded(),
        fault: (reason) => void refuse(context, null, jsonRpcCode.invalidRequest, reason),
      })
      liveness.start()
    }
  }

  /** Resolves with the exit code when stdin ended or {@link McpProxy.stop} was called, and everything is closed. */
  async run(): Promise<number> {
    if (!this.#isEnding && !this.#isRunning) {
      this.#isRunning = true
      this.#start()
    }
    await this.#ended.given
    return 0
  }

  stop(reason: string): void {
    this.#end(reason, performance.now() + endMs)
  }

  #write(message: WireMessage): Promise<void> {
    const written = this.#stdio.write(message)
    this.#inFlight.written(message)
    return written
  }

  /** Ends sign-ins: nobody is there for them any more. */
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
    const written = this.#stdio.close().then(() => flushed(this.#ports.output))
    const closing = Promise.all([written, this.#revision.close(Math.min(graceMs, leftMs))])
    this.#pending.close()
    // A client that reads no more, or too slowly, does not hold the end: what is left for it is lost.
    await settledWithin(closing, leftMs)
  }
}

const clocks = {
  monotonicMs: () => performance.now(),
  uptimeMs: () => uptime() * 1000,
  wallMs: () => Date.now(),
}

/** Resolves when everything is out, or can never be. */
function flushed(output: Writable): Promise<void> {
  return new Promise((resolve) => void output.write('', () => resolve()))
}

function randomId(): string {
  return randomBytes(12).toString('base64url')
}
