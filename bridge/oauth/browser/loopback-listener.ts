import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http'
import { OAuthFailure } from '../login-port.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import { type CallbackOutcome, callbackPage } from './callback-page.ts'

/** Servers that listen on one port of every loopback address that a name may mean. */
interface LoopbackSockets {
  port: number
  /** Resolves when the port is free again; open connections are ended. */
  close(): Promise<void>
}

const maxTries = 10

/**
 * Listens on `host`: for `localhost` on 127.0.0.1 and, where this machine has it, on ::1 too. A browser chooses either,
 * and whoever else had the other one would get its codes. `port` undefined: `preferred` if it is free, else any that is
 * free. Rejects with {@link OAuthFailure} `no_callback_port`.
 */
async function listenOnLoopback(
  { host, port, preferred }: { host: string; port: number | undefined; preferred: number | undefined },
  answer: RequestListener,
): Promise<LoopbackSockets> {
  const addresses = host === 'localhost' ? ['127.0.0.1', '::1'] : [host]
  if (port !== undefined) {
    const sockets = await tryListen(addresses, port, answer)
    if (sockets !== undefined) return sockets
    throw new OAuthFailure(
      'no_callback_port',
      `Port ${port} of ${host} is taken, and the browser would have to come back to it.`,
    )
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const sockets = await tryListen(addresses, tries === 0 ? (preferred ?? 0) : 0, answer)
    if (sockets !== undefined) return sockets
  }
  throw new OAuthFailure('no_callback_port', `No free port of ${host} can be listened on.`)
}

/** Undefined when somebody has the port on one of the addresses. */
async function tryListen(
  addresses: readonly string[],
  wanted: number,
  answer: RequestListener,
): Promise<LoopbackSockets | undefined> {
  const servers: Server[] = []
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
      // A machine without IPv6 has no ::1: there is nobody else there either.
      if (servers.length > 0 && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue
      await close()
      if (code === 'EADDRINUSE') return undefined
      throw new OAuthFailure(
        'no_callback_port',
        `Port ${port} of ${address} cannot be listened on: ${code}.`,
        {
          cause: error,
        },
      )
    }
  }
  return { port, close }
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address, port, exclusive: true }, () => {
      server.removeListener('error', reject)
      // Of a single connection, as when too many files are open: the browser tries again.
      server.on('error', () => undefined)
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Where a browser comes back to. */
export interface LoopbackListener {
  redirectUri: string
  /** The parameters of the first answer that carries `state`. Never rejects. */
  response: Promise<URLSearchParams>
  /**
   * Waits for the answer to another request in place of the first one: the parameters of the first answer that carries
   * `state`. Whoever brings, or has brought, the state of before is sent on to `url`, where that request is made. At most
   * once. Never rejects.
   */
  askAgain(state: string, url: string): Promise<URLSearchParams>
  /** Tells the browsers that brought it how it ended. Resolves when they have it, or after a second. */
  finish(outcome: CallbackOutcome): Promise<void>
  /** Frees the port. Whoever still waits is cut off. */
  close(): Promise<void>
}

/** What a {@link LoopbackListener} is opened with. */
export interface LoopbackListenerConfig {
  callback: { host: string; port: number | undefined; path: string }
  /** Taken if it is free and the callback has none of its own: some servers know one redirect URI to the letter. */
  preferredPort: number | undefined
  state: string
  successUrl: string | undefined
}

const flushMs = 1000

/**
 * Listens before anybody can know where: whoever is told the redirect URI finds it open. Answers only requests to that very
 * address, so that no web page reaches it under another name. Whatever carries another `state` gets a page that says so, and
 * the wait goes on: forged errors end nothing. A browser that comes twice gets the same page twice.
 *
 * Rejects with `OAuthFailure` `no_callback_port`. Not checked: what the response says.
 */
export async function openLoopbackListener(config: LoopbackListenerConfig): Promise<LoopbackListener> {
  const { callback, successUrl } = config
  const waiting = new Set<ServerResponse>()
  let outcome: CallbackOutcome | undefined
  let authority = ''
  let wanted = config.state
  let former: { state: string; url: string } | undefined
  let deliver: (response: URLSearchParams) => void = () => undefined
  const nextResponse = (): Promise<URLSearchParams> =>
    new Promise((resolve) => {
      deliver = resolve
    })
  const response = nextResponse()

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
      deliver(parameters)
    } else {
      send(reply, outcome)
    }
  }

  function send(reply: ServerResponse, told: CallbackOutcome): void {
    const { status, headers, body } = callbackPage(told, successUrl)
    reply.writeHead(status, headers).end(body)
  }

  const { host, port } = callback
  const sockets = await listenOnLoopback({ host, port, preferred: config.preferredPort }, answer)
  // Of ::1 the literal is written in brackets.
  authority = `${host.includes(':') ? `[${host}]` : host}:${sockets.port}`
  return {
    redirectUri: `http://${authority}${callback.path}`,
    response,
    askAgain(state, url) {
      former = { state: wanted, url }
      wanted = state
      const answered = nextResponse()
      for (const reply of waiting) send(reply, { kind: 'again', url })
      waiting.clear()
      return answered
    },
    async finish(told) {
      outcome = told
      await Promise.all([...waiting].map((reply) => sent(reply, () => send(reply, told))))
    },
    close: sockets.close,
  }
}

/** The query of a request for the callback, or the status that any other request gets. */
function callbackParameters(
  request: IncomingMessage,
  authority: string,
  path: string,
): URLSearchParams | number {
  // A name that an attacker points at this machine is not ours (DNS rebinding).
  if (request.headers.host?.toLowerCase() !== withoutDefaultPort(authority.toLowerCase())) return 421
  const [pathname, ...query] = (request.url ?? '').split('?')
  if (pathname !== path) return 404
  return request.method === 'GET' ? new URLSearchParams(query.join('?')) : 405
}

function withoutDefaultPort(authority: string): string {
  return authority.replace(/:80$/, '')
}

/** Resolves when the answer has left, its browser has gone, or it takes too long. */
function sent(reply: ServerResponse, send: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, flushMs)
    reply.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    send()
  })
}
