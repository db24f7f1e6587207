import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { settledWithin } from '@drawbridge/shared/async.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server'
import { createGuardedServer, type ListenerLimits, reportDrops, type RequestGate } from './guarded-server.ts'
import type { FetchHandler } from '../endpoint.ts'
import type { FormRules } from '../request-fault.ts'
import { requestFaults } from '../error-table.ts'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import { httpError, oauthFailure } from '../response.ts'

const drainMs = 10_000
const idleSweepMs = 100
/** How long interrupted requests may keep running: together with the drain, longer than two calls of the provider. */
const settleMs = 8000

export interface ListenerOptions {
  gate?: RequestGate
  report?: (event: string, fields?: Record<string, unknown>) => void
  limits?: Partial<ListenerLimits>
  form?: FormRules
}

export interface Listener {
  port: number
  /**
   * Refuses new requests, gives running ones up to ten seconds, then cuts the rest. Work whose client is gone gets up to eight
   * seconds more, because its dependencies are closed after this.
   */
  close(): Promise<void>
}

/** Serves `fetch` over HTTP/1.1 on `host:port`; port 0 uses a free one. Rejects when the address cannot be bound. */
export async function listen(
  fetch: FetchHandler,
  address: { host: string; port: number },
  options: ListenerOptions = {},
): Promise<Listener> {
  let draining = false
  const { gate } = options
  const running = new Set<Promise<Response>>()
  const answer = async (request: Request, { incoming }: HttpBindings | Http2Bindings): Promise<Response> => {
    const answering = fetch(request, { address: incoming.socket.remoteAddress })
    running.add(answering)
    const response = await answering.finally(() => running.delete(answering))
    gate?.answered(incoming, response.status)
    // Otherwise the connection would be kept alive for a minute, and the drain would wait for it.
    if (draining) response.headers.set('connection', 'close')
    return response
  }
  const adapted = getRequestListener(answer, {
    // The adapter's own Request and Response take a third of the time of the global ones.
    overrideGlobalObjects: true,
    errorHandler: answerAdapterError,
  })
  const server = createGuardedServer(options.limits ?? {}, { gate, form: options.form }, adapted)
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  reportDrops(server, options.report ?? (() => {}))
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
      await drain(server, connections)
      await settledWithin(Promise.allSettled(running), settleMs)
    },
  }
}

function drain(server: Server, connections: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), drainMs)
    // A connection whose response began earlier, for example an event stream, is idle when it ends, but not closed by itself.
    const sweep = setInterval(() => server.closeIdleConnections(), idleSweepMs)
    // Closes the idle connections too, but in Node 22 not those that browsers open ahead.
    server.close(() => {
      clearTimeout(cut)
      clearInterval(sweep)
      resolve()
    })
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  })
}

/** Responds to a request whose host or path is not a valid URL, and to failures outside the handler. */
function answerAdapterError(error: unknown): Response {
  const malformed = error instanceof Error && error.name === 'RequestError'
  return toResponse(
    malformed
      ? oauthFailure(new OAuthError('invalid_request', requestFaults.target_invalid.description))
      : httpError('server_error'),
  )
}
