import { createServer, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import type { FetchHandler } from './router.ts'

/** All headers of one request: a session cookie may be 128 KiB, and Node's default refuses it at six chunks. */
const maxHeaderBytes = 144 * 1024
const headersTimeoutMs = 15_000
const requestTimeoutMs = 60_000
const keepAliveTimeoutMs = 65_000
const drainMs = 10_000
/** What a request that was cut may still be at: with the drain, longer than two calls of the provider. */
const settleMs = 8000

/** An open port. */
export interface Listener {
  port: number
  /**
   * Takes no new request, lets running ones end for up to ten seconds, then cuts what is left. Work whose client is
   * gone is waited for too, for at most eight seconds more: what it needs is closed after this.
   */
  close(): Promise<void>
}

/** Serves `fetch` over HTTP/1.1 on `host:port`; port 0 takes a free one. Rejects when the address cannot be bound. */
export async function listen(
  fetch: FetchHandler,
  address: { host: string; port: number },
): Promise<Listener> {
  let draining = false
  const running = new Set<Promise<Response>>()
  const answer = async (request: Request): Promise<Response> => {
    const answering = fetch(request)
    running.add(answering)
    const response = await answering.finally(() => running.delete(answering))
    // The connection would otherwise be kept alive for a minute, and the drain would wait for it.
    if (draining) response.headers.set('connection', 'close')
    return response
  }
  const listener = getRequestListener(answer, {
    // The adapter's own Request and Response take a third of the time of the global ones.
    overrideGlobalObjects: true,
    errorHandler: answerAdapterError,
  })
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
    },
    (request, response) => void listener(request, response),
  )
  server.on('clientError', answerClientError)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port
  return {
    port,
    async close() {
      draining = true
      await drain(server)
      await settle(running)
    },
  }
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), drainMs)
    // Closes the idle connections too.
    server.close(() => {
      clearTimeout(cut)
      resolve()
    })
  })
}

async function settle(running: ReadonlySet<Promise<unknown>>): Promise<void> {
  const patience = new AbortController()
  const enough = delay(settleMs, undefined, { signal: patience.signal }).catch(() => {})
  await Promise.race([Promise.allSettled(running), enough])
  patience.abort()
}

/** Answers a request whose host or path is no URL, and whatever else fails outside the handler. */
function answerAdapterError(error: unknown): Response {
  const malformed = error instanceof Error && error.name === 'RequestError'
  return malformed
    ? Response.json(
        { error: 'invalid_request', error_description: 'Host or path are not valid.' },
        { status: 400 },
      )
    : Response.json(
        { error: 'server_error', error_description: 'Something went wrong here.' },
        { status: 500 },
      )
}

const statusByFault: Readonly<Record<string, [status: number, description: string]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    `The headers are larger than ${maxHeaderBytes} bytes. Clear old cookies and try again.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
}

/** Answers what Node could not parse as HTTP. The connection is closed: where the next request starts is unknown. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, description] = statusByFault[error.code ?? ''] ?? [400, 'This is not a valid HTTP request.']
  const body = JSON.stringify({ error: 'invalid_request', error_description: description })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
