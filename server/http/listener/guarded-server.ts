import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type RawAnswer, rawRefusal, sendAnswer, sendToSocket } from './raw-response.ts'
import { formFaultOf, type FormRules } from '../request-fault.ts'
import { type RequestFault, requestFaults } from '../error-table.ts'
import { maxHeaderBytes, maxHeaders } from '../request-limits.ts'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** A refused body up to this size is read and dropped, so that the connection can be kept. */
const maxDroppedBytes = 64 * 1024
const dropReportMs = 60_000

/** Limits on time and number. A slow or idle client holds a connection only this long, and only so many are accepted. */
export interface ListenerLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  keepAliveTimeoutMs: number
  /** How often the limits above are checked. */
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

/** A raw request before there is a `Request`: all that a {@link RequestGate} uses. */
export type RawRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>

/** Refuses requests as cheaply as possible, to protect other clients. */
export interface RequestGate {
  /** Returns the response to a request that is not processed further; undefined admits it. */
  refuse(request: RawRequest): RawAnswer | undefined
  /** Records the status of an admitted request. */
  answered(request: RawRequest, status: number): void
}

type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown

/**
 * Creates an HTTP/1.1 server that is not listening yet. Requests pass the gate and the form checks before `serve` gets them; bytes
 * that are not a request get an error response, and their connection is closed.
 */
export function createGuardedServer(
  given: Partial<ListenerLimits>,
  { gate, form }: { gate: RequestGate | undefined; form: FormRules | undefined },
  serve: NodeHandler,
): Server {
  const limits = { maxConnections: connectionLimit(), ...defaultLimits, ...given }
  /** The latest response of each connection. Responses leave in order, so no earlier one is due when it is finished. */
  const latest = new WeakMap<Socket, ServerResponse>()
  const refusalFor = (request: IncomingMessage, response: ServerResponse): RawAnswer | undefined => {
    latest.set(request.socket, response)
    return gate?.refuse(request) ?? formRefusalOf(request, gate, form)
  }
  const handle = (request: IncomingMessage, response: ServerResponse, asksToContinue = false): void => {
    const refusal = refusalFor(request, response)
    if (!refusal) {
      if (asksToContinue) response.writeContinue()
      void serve(withHost(request), response)
      return
    }
    // Keep a connection that only gets refusals: accepting a new one would cost more than responding on it. The body may arrive although
    // it was not requested (RFC 9110 section 10.1.1).
    sendAnswer(response, refusal, { close: asksToContinue || isUnsound(request, refusal) })
  }
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // A missing Host header gets our own response.
      requireHostHeader: false,
    },
    (request, response) => handle(request, response),
  )
  server.maxConnections = limits.maxConnections
  // Node silently drops the headers above the limit: one more shows that there were too many.
  server.maxHeadersCount = maxHeaders + 1
  // Without a listener for `upgrade` Node serves the request as it is, in HTTP/1.1 (RFC 9110 section 7.8).
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
    handle(request, response, true),
  )
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    sendAnswer(response, expectationRefusal, { close: true }),
  )
  server.on('connect', (_request, socket: Socket) => sendToSocket(socket, connectRefusal))
  server.on('clientError', (error: ClientError, socket: Socket) =>
    answerClientError(error, socket, { gate, owes: latest.get(socket)?.writableFinished === false }),
  )
  return server
}

/**
 * A request without a host, as HTTP/1.0 and an empty header allow, is for the address that it was sent to: health checks of load
 * balancers send such ones.
 */
function withHost(request: IncomingMessage): IncomingMessage {
  const { headers, socket } = request
  if (headers.host) return request
  const { localAddress = '', localPort } = socket
  const [address = ''] = localAddress.split('%')
  headers.host = address.includes(':') ? `[${address}]:${localPort}` : `${address}:${localPort}`
  return request
}

function formRefusalOf(
  request: IncomingMessage,
  gate: RequestGate | undefined,
  form: FormRules | undefined,
): RawAnswer | undefined {
  const fault = formFaultOf(request, form)
  if (!fault) return undefined
  gate?.answered(request, fault.status)
  return refusalOf(fault)
}

function refusalOf({ status, description }: RequestFault): RawAnswer {
  return rawRefusal(status, { code: 'invalid_request', description })
}

/** Returns whether to close the connection: its framing is doubtful, or the rest of the body is large. */
function isUnsound({ headers }: IncomingMessage, { status }: RawAnswer): boolean {
  if (status === 400 || status === 501) return true
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > maxDroppedBytes
  )
}

/** Logs refused connections once a minute, and closes idle ones to make room. */
export function reportDrops(
  server: Server,
  report: (event: string, fields: Record<string, unknown>) => void,
): void {
  let quiet = false
  server.on('drop', () => {
    if (quiet) return
    quiet = true
    report('connections_refused', { limit: server.maxConnections })
    server.closeIdleConnections()
    setTimeout(() => {
      quiet = false
    }, dropReportMs).unref()
  })
}

const expectationRefusal = refusalOf(requestFaults.expectation)

const connectRefusal = refusalOf(requestFaults.proxy)

/** Node's error codes; all others are `malformed`. */
const faultByCode: Readonly<Record<string, RequestFault>> = {
  HPE_HEADER_OVERFLOW: requestFaults.headers_too_large,
  HPE_INVALID_VERSION: requestFaults.version,
  ERR_HTTP_REQUEST_TIMEOUT: requestFaults.too_slow,
}

interface ClientError extends NodeJS.ErrnoException {
  rawPacket?: Buffer
}

/** A request line of HTTP/1 with a method that Node does not know. */
const requestLinePattern = /^[\w!#$%&'*+\-.^`|~]{1,64} \S{1,200} HTTP\/1\.[01]\r\n/

function faultOf({ code, rawPacket }: ClientError): RequestFault {
  if (code === 'HPE_INVALID_METHOD') {
    const line = rawPacket?.subarray(0, 300).toString('latin1') ?? ''
    // RFC 9110 section 9.1. TLS, and other bytes that are not HTTP, begin with an unknown method too.
    return requestLinePattern.test(line) ? requestFaults.method_unknown : requestFaults.malformed
  }
  return faultByCode[code ?? ''] ?? requestFaults.malformed
}

/**
 * Responds to bytes that Node could not parse as HTTP, and closes the connection: the start of the next request is unknown. With
 * `owes` it only closes: a client would take the error for the response to its earlier request.
 */
function answerClientError(
  error: ClientError,
  socket: Socket,
  { gate, owes }: { gate: RequestGate | undefined; owes: boolean },
): void {
  const request: RawRequest = { headers: {}, socket }
  const gone = !socket.writable || error.code === 'ECONNRESET'
  const silent = owes || gone || gate?.refuse(request) !== undefined
  const fault = faultOf(error)
  gate?.answered(request, fault.status)
  if (silent) socket.destroy()
  else sendToSocket(socket, refusalOf(fault))
}

/** More connections would only wait for a CPU. */
const maxConnections = 8192
/** Enough for one reverse proxy and the streams of a few users. */
const minConnections = 128

/** Memory available to the process, in bytes. */
interface ProcessMemory {
  /** Memory of the machine or, if that is less, of its container. */
  total: number
  /** Limit of the JavaScript heap. */
  heap: number
}

/**
 * Computes the maximum number of open connections: as many as can all send headers of the largest size without ending them before
 * they use a quarter of the memory or half of the heap. At least 128, at most 8192.
 *
 * @internal
 */
export function connectionLimit({ total, heap }: ProcessMemory = processMemory()): number {
  const affordable = Math.floor(Math.min(total / 4, heap / 2) / maxHeaderBytes)
  return Math.min(maxConnections, Math.max(minConnections, affordable))
}

function processMemory(): ProcessMemory {
  const machine = totalmem()
  // 0 without a limit; some systems report one larger than any machine.
  const container = process.constrainedMemory()
  const total = container > 0 ? Math.min(container, machine) : machine
  return { total, heap: getHeapStatistics().heap_size_limit }
}
