import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { withCookies } from '../http/cookie-jar.ts'
import type { HttpClient } from '../http/http-client.ts'
import { createPendingRequests } from './pending-requests.ts'
import { createInboundRouter } from './inbound-router.ts'
import { createLastResponses } from './last-responses.ts'
import { createLiveness } from './liveness.ts'
import type { Liveness } from './liveness.ts'
import type { ClientState } from './client-state.ts'
import { createClientConnection } from './client-connection.ts'
import { createInitializeQueue } from './initialize-queue.ts'
import { createReadingLimit } from './reading-limit.ts'
import type { McpProxyConfig } from './proxy-config.ts'
import { ServerConnection } from './server-connection.ts'
import type { TransportPorts } from '../transport/transport.ts'
import { createServerTransports } from './server-transports.ts'
import { createRememberedServer } from '../transport/server-memory.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { settledWithin } from '../transport/settled-within.ts'
import { createSignIns } from '../sign-in/sign-in-attempt.ts'
import type { PendingSignIn, SignIns } from '../sign-in/sign-in-attempt.ts'
import { createStdio } from '../stdio/stdio.ts'
import type { Stdio } from '../stdio/stdio.ts'
import { createToolFilter } from './tool-filter.ts'
import { toolsChangedNotices } from './tools-changed.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** What a proxy needs from outside. */
export interface McpProxyPorts {
  input: Readable
  output: Writable
  http: HttpClient
  runtime: Runtime
  tokens: Pick<TransportPorts, 'authorization' | 'refused'>
  /** Left out where nobody can sign in: refusals are told to the client then. */
  signIn?: () => PendingSignIn
  openBrowser(url: string): void
  memory: { read(): ServerMemory | undefined; write(memory: ServerMemory): void }
  describeFailure: DescribeFailure
  /** A line for the person at the terminal. */
  say(line: string): void
  /** For the debug log. */
  note(text: string): void
}

/** Carries one local client to one server. */
export interface McpProxy {
  /** Resolves with the exit code when stdin ended or {@link McpProxy.stop} was called, and everything is closed. */
  run(): Promise<number>
  stop(reason: string): void
}

/** What hosts grant before they kill is a second: so much of it is used, from the first sign of the end on. */
const endMs = 850

/** Of that, answers may take so long that are on their way when stdin ends, and then the DELETE of a session so long. */
const lastAnswersMs = 700
const graceMs = 500

/** How long the server may take to answer a ping before it counts as gone. */
const pingWaitMs = 5000

/**
 *   stdin -> stdio -> inbound router -> server connection -+-> transport of its revision -> HTTP
 *            lines    ids, filter,      the server's       +-> adapter -> transport of the other revision
 *                     pending requests  revision
 *
 *   stdout <- stdio <- client connection <- responses and messages of the server
 *                      one response for each pending request, filter
 *
 * Each transport has an auth middleware around it. Beside them: liveness (silence, sleep), sign-ins (one at a time), the memory
 * of the server, the limit of what is read ahead of responses.
 */
export function createMcpProxy(config: McpProxyConfig, ports: McpProxyPorts): McpProxy {
  const { runtime, describeFailure, note, say } = ports
  const http = config.cookies ? withCookies(ports.http) : ports.http
  const clock = { nowMs: 0, heardMs: 0 }
  const client: ClientState = { initialize: undefined, initialized: undefined }
  const pendingRequests = createPendingRequests(clock)
  const filter = createToolFilter(config.tools)
  const remembered = createRememberedServer({
    read: () => ports.memory.read(),
    write: (memory) => ports.memory.write(memory),
    now: () => runtime.now(),
    note,
  })
  const lastResponses = createLastResponses(
    pendingRequests,
    () => parts?.stdio.isKeeping === true,
    lastAnswersMs,
  )
  const { promise: finished, finish } = createExit()
  let parts: { stdio: Stdio; connection: ServerConnection; signIns: SignIns; liveness: Liveness } | undefined
  let isEnding = false

  function start(): void {
    const local = createClientConnection({
      pendingRequests,
      filter,
      describeFailure,
      note,
      write,
      heard: (call) => liveness.heard(call),
      answered(call) {
        limit.check()
        queue.answered(call)
        lastResponses.answered()
      },
    })
    const signIns = createSignIns({
      waitMs: config.signInWaitMs,
      signIn: ports.signIn,
      openBrowser: (url) => ports.openBrowser(url),
      say,
      succeeded: () => toolsChangedNotices(client, pendingRequests).forEach((notice) => void write(notice)),
      randomId,
      now: () => runtime.now(),
    })
    const transports = createServerTransports(config, {
      http,
      runtime,
      tokens: ports.tokens,
      remembered,
      signIns,
      canSignIn: ports.signIn !== undefined,
      memory: () => remembered.known(),
      describeFailure,
      offered: (toolName) => filter.exempt(toolName),
      unsolicited: (message) => local.unsolicited(message),
      proved: (era) => connection.proved(era),
      warn: say,
      note,
      randomId,
    })
    const connection = new ServerConnection(config.protocol, {
      transports,
      local,
      pendingRequests,
      client,
      remembered,
      signIns,
      authorization: (signal) => ports.tokens.authorization(signal),
      runtime,
      describeFailure,
      warn: say,
      note,
      randomId,
    })
    const queue = createInitializeQueue(connection, pendingRequests)
    const inboundRouter = createInboundRouter({
      pendingRequests,
      local,
      client,
      connection: {
        ...queue,
        pass: (message, era) => queue.pass(message, era, limit.passing(message.text.length)),
      },
      filter,
      opened(call) {
        liveness.heard(call)
        limit.check()
      },
      replied: () => limit.replied(),
    })
    const liveness = createLiveness(
      {
        watchdogMs: config.watchdogMs,
        pingMs: config.pingMs,
        pingWaitMs,
        origin: new URL(config.serverUrl).origin,
      },
      {
        pendingRequests,
        clock,
        clocks: {
          monotonicMs: () => performance.now(),
          uptimeMs: () => uptime() * 1000,
          wallMs: () => runtime.now() * 1000,
        },
        ping: (signal, asked) => connection.ping(signal, asked),
        isConnected: () => connection.isOpen(),
        fail: (call, error) => local.fail(call, error),
        repeat: (call) => connection.repeat(call),
        reopen: (answered) => connection.reopen(answered),
        dropConnections: () => http.close(),
        note,
      },
    )
    const stdio = createStdio(ports.input, ports.output, {
      message: inboundRouter,
      end: () => void endOfInput(),
      fault: (reason) => local.refuse(null, jsonRpcCode.invalidRequest, reason),
    })
    const limit = createReadingLimit(pendingRequests, stdio, ports.output)
    ports.output.on('drain', () => limit.check())
    liveness.start()
    parts = { stdio, connection, signIns, liveness }

    function write(message: WireMessage): Promise<void> {
      if (message.envelope.kind === 'request') limit.asked()
      const written = stdio.write(message)
      limit.check()
      return written
    }
  }

  /** Nobody is there to sign in any more; what needs that is answered by saying so. */
  async function endOfInput(): Promise<void> {
    const now = performance.now()
    parts?.signIns.close()
    const since = ports.output.writable ? await lastResponses.all() : now
    end('stdin has ended', since + endMs)
  }

  function end(reason: string, endBy = performance.now() + endMs): void {
    if (isEnding) return
    isEnding = true
    lastResponses.giveUp()
    note(`ending: ${reason}`)
    void close(endBy - performance.now()).then(() => finish(0))
  }

  async function close(leftMs: number): Promise<void> {
    if (parts === undefined) return
    const { stdio, connection, signIns, liveness } = parts
    liveness.stop()
    signIns.close()
    const written = stdio.close().then(() => flushed(ports.output))
    const closing = Promise.all([written, connection.close(Math.min(graceMs, leftMs))])
    for (const call of pendingRequests.calls()) {
      pendingRequests.settle(call)
      call.abort.abort()
    }
    // Whoever reads no more, or too slowly, does not hold the end: what is left for it is lost.
    await settledWithin(closing, leftMs)
  }

  return {
    run() {
      if (!isEnding && parts === undefined) start()
      return finished
    },
    stop: end,
  }
}

/** Resolves when everything is out, or can never be. */
function flushed(output: Writable): Promise<void> {
  return new Promise((resolve) => void output.write('', () => resolve()))
}

function randomId(): string {
  return randomBytes(12).toString('base64url')
}

function createExit(): { promise: Promise<number>; finish(code: number): void } {
  let finish: (code: number) => void = () => {}
  const promise = new Promise<number>((resolve) => {
    finish = resolve
  })
  return { promise, finish: (code) => finish(code) }
}
