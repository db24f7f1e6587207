import { Agent } from 'node:http'
import { exchangeAddress } from './exchange-address.ts'
import type { ExchangeAddress } from './exchange-address.ts'
import { Exchange } from './exchange.ts'
import type { Attempt, ExchangePlan } from './exchange.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { requestHeaders } from './request-headers.ts'
import { createRoster } from './roster.ts'
import { nodeHttps } from './tls-modules.ts'
import { createTrustedAuthorities } from './trusted-authorities.ts'

/** Sends requests whose URL was checked before. */
export interface UrlClient {
  /** Rejects with `NetworkError` when no response arrives. */
  send(request: HttpRequest, url: URL): Promise<HttpResponse>
  /** Ends every exchange with the fault `aborted`, and every connection. What is sent later opens new ones. */
  close(): void
}

/** Load balancers close idle connections after 60 s and more (AWS 60, nginx 75): to be earlier spares us the race. */
const idleMs = 50_000

const connectionOptions = {
  keepAlive: true,
  // The first probe on a silent connection, so that a dead one is noticed while a call waits on it.
  keepAliveMsecs: 30_000,
  noDelay: true,
  // What was used last is the least likely to have been closed by the server.
  scheduling: 'lifo',
  // Streams keep theirs: calls that wait behind them for a free one would never get it.
  maxSockets: 1024,
  maxFreeSockets: 64,
  timeout: idleMs,
  // Node's 250 ms give up on a far address before it can answer.
  autoSelectFamilyAttemptTimeout: 500,
} as const

/**
 * The client on node:http: the quickest to start and the smallest in memory. Sends a request a second time by itself in
 * two cases only: when the server closed the kept connection before it can have seen the request, and when TLS failed for
 * want of an authority that the operating system knows.
 */
export function createDirectClient(config: NetworkConfig): UrlClient {
  const trusted = createTrustedAuthorities(config.ca)
  const quickestTrips = new Map<string, number>()
  const open = createRoster<Exchange>()
  const addresses = new WeakMap<URL, ExchangeAddress>()
  let agents: Map<string, Agent> = new Map()
  let lastFreedAt = 0
  let latestHeaders: { given: HttpRequest['headers']; origin: string; headers: readonly string[] } | undefined

  function agentFor(protocol: string): Agent {
    const known = agents.get(protocol)
    if (known !== undefined) return known
    const family = config.ipv4 ? { family: 4 } : {}
    const secureContext = protocol === 'https:' ? trusted.context() : undefined
    const options = {
      ...connectionOptions,
      ...family,
      ...(secureContext === undefined ? {} : { secureContext }),
    }
    const agent = protocol === 'https:' ? new (nodeHttps().Agent)(options) : new Agent(options)
    agent.on('free', () => (lastFreedAt = Date.now()))
    agents.set(protocol, agent)
    return agent
  }

  /** Calls of one session have the same headers, in the same object: they are read and checked once. */
  function headersOf({ headers: given }: HttpRequest, { origin, host }: ExchangeAddress): readonly string[] {
    if (latestHeaders?.given !== given || latestHeaders.origin !== origin) {
      const usual = { Host: host, 'User-Agent': config.userAgent }
      const headers = requestHeaders(given, usual, origin)
      latestHeaders = { given, origin, headers }
    }
    return latestHeaders.headers
  }

  function attempt(request: HttpRequest, url: URL): Promise<Attempt> {
    const address = addresses.get(url) ?? exchangeAddress(url)
    addresses.set(url, address)
    const plan: ExchangePlan = {
      url,
      address,
      headers: headersOf(request, address),
      agent: agentFor(url.protocol),
      connectTimeoutMs: config.connectTimeoutMs,
      headersTimeoutMs: request.headersTimeoutMs ?? config.headersTimeoutMs,
      bodyTimeoutMs: request.bodyTimeoutMs ?? config.bodyTimeoutMs,
      quickestTrips,
    }
    return new Exchange(request, plan, open).attempt
  }

  function dropIdle(): void {
    for (const agent of agents.values()) {
      for (const sockets of Object.values(agent.freeSockets)) {
        for (const socket of sockets ?? []) socket.destroy()
      }
    }
  }

  function prepareAgain(remedy: 'new_connection' | 'more_authorities' | undefined): boolean {
    if (remedy === undefined) return false
    if (remedy === 'new_connection') dropIdle()
    else if (!trusted.addSystem()) return false
    else agents = new Map([...agents].filter(([protocol]) => protocol !== 'https:'))
    return true
  }

  return {
    async send(request, url) {
      // The timers of idle connections stand still while the computer sleeps; the clock on the wall does not.
      if (Date.now() - lastFreedAt > idleMs) dropIdle()
      const first = await attempt(request, url)
      if (first.kind === 'response') return first.response
      if (!prepareAgain(first.remedy)) throw first.error
      const second = await attempt(request, url)
      if (second.kind === 'response') return second.response
      throw second.error
    },
    close() {
      for (const exchange of open.items()) exchange.cancel()
      for (const agent of agents.values()) agent.destroy()
      agents = new Map()
    },
  }
}
