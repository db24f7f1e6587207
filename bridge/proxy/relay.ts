import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { withCookies } from '../http/cookie-jar.ts'
import type { HttpClient } from '../http/http-client.ts'
import { createInFlight } from './in-flight.ts'
import { createIntake } from './intake.ts'
import { createLastAnswers } from './last-answers.ts'
import { createLiveness } from './liveness.ts'
import type { Liveness } from './liveness.ts'
import type { LocalClient } from './local-client.ts'
import { createLocalEnd } from './local-end.ts'
import { createOpeningQueue } from './opening-queue.ts'
import { createReadingLimit } from './reading-limit.ts'
import type { RelayConfig } from './relay-config.ts'
import { createRemoteConnection } from './remote-connection.ts'
import type { RemoteConnection } from './remote-connection.ts'
import type { TransportPorts } from '../transport/transport.ts'
import { createRemoteLegs } from './remote-legs.ts'
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

/** What a relay needs from outside. */
export interface RelayPorts {
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
export interface Relay {
  /** Resolves with the exit code when stdin ended or {@link Relay.stop} was called, and everything is closed. */
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
 *   stdin -> stdio -> intake -> connection -+-> leg for its era, bytes untouched -----------+-> HTTP
 *            lines    ids,      era of the  +-> translator -> leg for the other era --------+
 *            to       filter,   server
 *            messages in-flight,            each leg: sign-in beside > observed > corrected > HTTP leg
 *                     nothing before
 *                     initialize
 *
 *   stdout <- stdio <- local end <--- answers and messages of the server, of legs and translators
 *                      one answer for each call in flight, filter
 *
 *   beside it: liveness (silence, sleep), sign-ins (one at a time), remembered server, reading limit
 */
export function createRelay(config: RelayConfig, ports: RelayPorts): Relay {
  const { runtime, describeFailure, note, say } = ports
  const http = config.cookies ? withCookies(ports.http) : ports.http
  const clock = { nowMs: 0, heardMs: 0 }
  const client: LocalClient = { initialize: undefined, initialized: undefined }
  const inFlight = createInFlight(clock)
  const filter = createToolFilter(config.tools)
  const remembered = createRememberedServer({
    read: () => ports.memory.read(),
    write: (memory) => ports.memory.write(memory),
    now: () => runtime.now(),
    note,
  })
  const lastAnswers = createLastAnswers(inFlight, () => parts?.stdio.isKeeping === true, lastAnswersMs)
  const { promise: finished, finish } = createExit()
  let parts: { stdio: Stdio; connection: RemoteConnection; signIns: SignIns; liveness: Liveness } | undefined
  let isEnding = false

  function start(): void {
    const local = createLocalEnd({
      inFlight,
      filter,
      describeFailure,
      note,
      write,
      heard: (call) => liveness.heard(call),
      answered(call) {
        limit.check()
        queue.answered(call)
        lastAnswers.answered()
      },
    })
    const signIns = createSignIns({
      waitMs: config.signInWaitMs,
      signIn: ports.signIn,
      openBrowser: (url) => ports.openBrowser(url),
      say,
      succeeded: () => toolsChangedNotices(client, inFlight).forEach((notice) => void write(notice)),
      randomId,
      now: () => runtime.now(),
    })
    const legs = createRemoteLegs(config, {
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
    const connection = createRemoteConnection(config.protocol, {
      legs,
      local,
      inFlight,
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
    const queue = createOpeningQueue(connection, inFlight)
    const intake = createIntake({
      inFlight,
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
        inFlight,
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
      message: intake,
      end: () => void endOfInput(),
      fault: (reason) => local.refuse(null, jsonRpcCode.invalidRequest, reason),
    })
    const limit = createReadingLimit(inFlight, stdio, ports.output)
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
    const since = ports.output.writable ? await lastAnswers.all() : now
    end('stdin has ended', since + endMs)
  }

  function end(reason: string, endBy = performance.now() + endMs): void {
    if (isEnding) return
    isEnding = true
    lastAnswers.giveUp()
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
    for (const call of inFlight.calls()) {
      inFlight.settle(call)
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
