import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { type RawAnswer, rawRefusal, sendAnswer, sendToSocket } from './raw-response.ts'
import {
  formFaultOf,
  maxHeaderBytes,
  maxHeaders,
  type RequestFault,
  requestFaults,
} from '../request-fault.ts'

/** A refused body up to here is read and dropped, so that the connection can go on. */
const mostDroppedBytes = 64 * 1024
const dropReportMs = 60_000

/** Bounds on time and number. A slow or idle client costs a connection for so long, and no more of them are taken. */
export interface ListenerLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  keepAliveTimeoutMs: number
  /** How often the ones above are looked at. */
  checkIntervalMs: number
  /** By default {@link connectionLimit}. */
  maxConnections: number
}

const defaultLimits: Omit<ListenerLimits, 'maxConnections'> = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 5000,
}

/** What is known of a request before it is one: all that a {@link RequestGate} goes by. */
export type RawRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>

/** Refuses requests with as little work as can be, for the sake of the others. */
export interface RequestGate {
  /** The answer to a request that nobody is to look at; undefined lets it in. */
  refuse(request: RawRequest): RawAnswer | undefined
  /** Takes note of how a request that was let in was answered. */
  answered(request: RawRequest, status: number): void
}

type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown

/**
 * An HTTP/1.1 server that is not listening yet. Its requests pass the gate and are of sound form before `serve` sees them;
 * what is no request at all is answered with a reason, and its connection ends.
 */
export function createGuardedServer(
  given: Partial<ListenerLimits>,
  gate: RequestGate | undefined,
  serve: NodeHandler,
): Server {
  const limits = { maxConnections: connectionLimit(), ...defaultLimits, ...given }
  const handle: NodeHandler = (request, response) => {
    const refusal = gate?.refuse(request) ?? formRefusalOf(request, gate)
    // A connection that only has refusals is kept: taking the next one would be more work than answering on it.
    if (refusal) sendAnswer(response, refusal, { close: isUnsound(request, refusal) })
    else void serve(request, response)
  }
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // A missing Host gets our own answer.
      requireHostHeader: false,
    },
    handle,
  )
  server.maxConnections = limits.maxConnections
  // Node drops what is above without a word: one more tells that there was more.
  server.maxHeadersCount = maxHeaders + 1
  // Without a listener for `upgrade` Node serves the request as it is, in HTTP/1.1 (RFC 9110 section 7.8).
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const refusal = gate?.refuse(request) ?? formRefusalOf(request, gate)
    if (!refusal) response.writeContinue()
    // A body that was not asked for may come all the same (RFC 9110 section 10.1.1).
    if (refusal) sendAnswer(response, refusal, { close: true })
    else void serve(request, response)
  })
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    sendAnswer(response, expectationRefusal, { close: true }),
  )
  server.on('connect', (_request, socket: Socket) => sendToSocket(socket, connectRefusal))
  server.on('clientError', (error: ClientError, socket: Socket) => answerClientError(error, socket, gate))
  return server
}

function formRefusalOf(request: IncomingMessage, gate: RequestGate | undefined): RawAnswer | undefined {
  const fault = formFaultOf(request)
  if (!fault) return undefined
  gate?.answered(request, fault.status)
  return refusalOf(fault)
}

function refusalOf({ status, description }: RequestFault): RawAnswer {
  return rawRefusal(status, { code: 'invalid_request', description })
}

/** Whether the connection is better ended: its framing is doubtful, or what is left of the body is large. */
function isUnsound({ headers }: IncomingMessage, { status }: RawAnswer): boolean {
  if (status === 400 || status === 501) return true
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > mostDroppedBytes
  )
}

/** Says once a minute that connections are turned away, and ends idle ones to make room. */
export function reportDrops(
  server: Server,
  report: (event: string, fields: Record<string, unknown>) => void,
): void {
  let quiet = false
  server.on('drop', () => {
    if (quiet) return
    quiet = true
    report('connections_refused', { most: server.maxConnections })
    server.closeIdleConnections()
    setTimeout(() => {
      quiet = false
    }, dropReportMs).unref()
  })
}

const expectationRefusal = refusalOf(requestFaults.expectation)

const connectRefusal = refusalOf(requestFaults.proxy)

/** What Node says is wrong; all else is `malformed`. */
const faultByCode: Readonly<Record<string, RequestFault>> = {
  HPE_HEADER_OVERFLOW: requestFaults.headers_too_large,
  HPE_INVALID_VERSION: requestFaults.version,
  ERR_HTTP_REQUEST_TIMEOUT: requestFaults.too_slow,
}

interface ClientError extends NodeJS.ErrnoException {
  rawPacket?: Buffer
}

/** A request line of HTTP/1 with a method that Node does not know; a longer one is none that anybody means. */
const requestLinePattern = /^[\w!#$%&'*+\-.^`|~]{1,64} \S{1,200} HTTP\/1\.[01]\r\n/

function faultOf({ code, rawPacket }: ClientError): RequestFault {
  if (code === 'HPE_INVALID_METHOD') {
    const line = rawPacket?.subarray(0, 300).toString('latin1') ?? ''
    // RFC 9110 section 9.1. TLS, and whatever else is no HTTP, begins with an unknown method too.
    return requestLinePattern.test(line) ? requestFaults.method_unknown : requestFaults.malformed
  }
  return faultByCode[code ?? ''] ?? requestFaults.malformed
}

/** Answers what Node could not parse as HTTP. The connection is closed: where the next request starts is unknown. */
function answerClientError(error: ClientError, socket: Socket, gate: RequestGate | undefined): void {
  const request: RawRequest = { headers: {}, socket }
  // Before the answer to an earlier request this one would be taken for that.
  const owes = Reflect.get(socket, '_httpMessage') != null
  const gone = !socket.writable || error.code === 'ECONNRESET'
  const silent = owes || gone || gate?.refuse(request) !== undefined
  const fault = faultOf(error)
  gate?.answered(request, fault.status)
  if (silent) socket.destroy()
  else sendToSocket(socket, refusalOf(fault))
}

/** More would only wait for a processor. */
const maxConnections = 8192
/** Enough for one reverse proxy and the streams of a few users. */
const minConnections = 128

/** The memory that a process may take, in bytes. */
export interface ProcessMemory {
  /** Of the machine or, where that is less, of its container. */
  total: number
  /** Of the JavaScript heap. */
  heap: number
}

/**
 * How many connections may be open: as many as can all send headers of the largest size and never end them, before they take
 * a quarter of the memory or half of the heap. At least 128, at most 8192.
 */
export function connectionLimit({ total, heap }: ProcessMemory = processMemory()): number {
  const affordable = Math.floor(Math.min(total / 4, heap / 2) / maxHeaderBytes)
  return Math.min(maxConnections, Math.max(minConnections, affordable))
}

function processMemory(): ProcessMemory {
  const machine = totalmem()
  // 0 without a limit; some systems name one that no machine has.
  const container = process.constrainedMemory()
  const total = container > 0 ? Math.min(container, machine) : machine
  return { total, heap: getHeapStatistics().heap_size_limit }
}
