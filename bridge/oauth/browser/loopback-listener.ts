import { once } from 'node:events'
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSignal, settledWithin } from '@drawbridge/shared/async.ts'
import { OAuthFailure } from '../login-port.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import { type CallbackOutcome, callbackPage } from './callback-page.ts'

const maxTries = 10

/**
 * Listens on `host`; for `localhost`, on 127.0.0.1 and on ::1: browsers may use either, and another program listening on the
 * other address would receive the codes. Without `port`, uses `preferred` if it is free.
 */
async function listenOnLoopback(
  { host, port, preferred }: { host: string; port: number | undefined; preferred: number | undefined },
  answer: RequestListener,
) {
  const addresses = host === 'localhost' ? ['127.0.0.1', '::1'] : [host]
  const others = Array.from({ length: maxTries - 1 }, () => 0)
  for (const wanted of port === undefined ? [preferred ?? 0, ...others] : [port]) {
    const sockets = await tryListen(addresses, wanted, answer)
    if (sockets !== undefined) return sockets
  }
  throw new OAuthFailure(
    'no_callback_port',
    port === undefined
      ? `Cannot listen on any port of ${host}.`
      : `Port ${port} of ${host} is in use, and the browser has to return to it.`,
  )
}

/** Listens on the same port of every address. Returns undefined when it is taken on one of them. */
async function tryListen(addresses: readonly string[], wanted: number, answer: RequestListener) {
  const servers: Server[] = []
  /** Ends open connections. Resolves when the port is free again. */
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(closeServer))
  }
  let port = wanted
  for (const address of addresses) {
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, answer)
    try {
      port = await listen(server, address, port)
      servers.push(server)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // Without IPv6 there is no ::1, so no other program can listen there either.
      if (servers.length > 0 && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue
      await close()
      if (code === 'EADDRINUSE') return undefined
      throw new OAuthFailure('no_callback_port', `Cannot listen on port ${port} of ${address}: ${code}.`, {
        cause: error,
      })
    }
  }
  return { port, close }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port, exclusive: true })
  await once(server, 'listening')
  // Affects a single connection, for example with too many open files; the browser retries.
  server.on('error', () => undefined)
  return (server.address() as AddressInfo).port
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Receives the browser when it returns from the authorization server. */
export type LoopbackListener = Awaited<ReturnType<typeof openLoopbackListener>>

/** Options for {@link openLoopbackListener}. */
export interface LoopbackListenerConfig {
  callback: { host: string; port: number | undefined; path: string }
  /** Used if it is free and the callback has no port of its own: some servers match redirect URIs exactly. */
  preferredPort: number | undefined
  state: string
}

const flushMs = 1000

/**
 * Starts listening before the redirect URI is known to anyone. Answers only requests to that exact address, so no web page
 * can reach it under another name. A request with another `state` gets a page and the wait goes on: forged errors end
 * nothing. Rejects with `OAuthFailure` `no_callback_port`.
 */
export async function openLoopbackListener(config: LoopbackListenerConfig) {
  const { callback } = config
  const waiting = new Set<ServerResponse>()
  let outcome: CallbackOutcome | undefined
  let authority = ''
  let wanted = config.state
  let former: { state: string; url: string } | undefined
  const first = createSignal<URLSearchParams>()
  let next = first

  function answer(request: IncomingMessage, reply: ServerResponse): void {
    reply.on('error', () => undefined)
    const parameters = callbackParameters(request, authority, callback.path)
    if (typeof parameters === 'number') {
      reply.writeHead(parameters, { connection: 'close', 'cache-control': 'no-store' }).end()
      return
    }
    const [given, ...more] = parameters.getAll('state')
    const carries = (state: string): boolean =>
      given !== undefined && more.length === 0 && constantTimeEqual(given, state)
    if (former !== undefined && carries(former.state)) {
      send(reply, outcome ?? { kind: 'again', url: former.url })
    } else if (!carries(wanted)) {
      send(reply, { kind: 'foreign' })
    } else if (outcome === undefined) {
      waiting.add(reply)
      reply.on('close', () => waiting.delete(reply))
      next.give(parameters)
    } else {
      send(reply, outcome)
    }
  }

  function send(reply: ServerResponse, result: CallbackOutcome): void {
    const { status, headers, body } = callbackPage(result)
    reply.writeHead(status, headers).end(body)
  }

  const { host, port } = callback
  const sockets = await listenOnLoopback({ host, port, preferred: config.preferredPort }, answer)
  // IPv6 literals need brackets.
  authority = `${host.includes(':') ? `[${host}]` : host}:${sockets.port}`
  return {
    redirectUri: `http://${authority}${callback.path}`,
    /** Parameters of the first response that carries `state`. Never rejects. */
    response: first.given,
    /**
     * Waits for the response to a second request that replaces the first. Browsers that bring the previous state are redirected
     * to `url`, which starts the new request. Call at most once.
     */
    askAgain(state: string, url: string): Promise<URLSearchParams> {
      former = { state: wanted, url }
      wanted = state
      next = createSignal()
      for (const reply of waiting) send(reply, { kind: 'again', url })
      waiting.clear()
      return next.given
    },
    /** Sends the outcome to the waiting browsers. Resolves when they have received it, or after a second. */
    async finish(result: CallbackOutcome): Promise<void> {
      outcome = result
      const closed = [...waiting].map((reply) => once(reply, 'close'))
      for (const reply of waiting) send(reply, result)
      await settledWithin(Promise.allSettled(closed), flushMs)
    },
    /** Frees the port and drops connections that are still waiting. */
    close: sockets.close,
  }
}

/** Returns the query of a callback request, or the status for any other request. */
function callbackParameters(
  request: IncomingMessage,
  authority: string,
  path: string,
): URLSearchParams | number {
  // An attacker may point a name of their own at this machine (DNS rebinding).
  if (request.headers.host?.toLowerCase() !== authority.toLowerCase().replace(/:80$/, '')) return 421
  const [pathname, ...query] = (request.url ?? '').split('?')
  if (pathname !== path) return 404
  return request.method === 'GET' ? new URLSearchParams(query.join('?')) : 405
}
