import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { postMcp } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

const timeoutMs = 30_000
/** How long a client repeats the same request: the server's promised time for a refresh token, less a margin. */
export const patienceMs = 110_000
const maxWaitMs = 3000

// Shared: clients come and go, and connections of a killed instance break.
const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 })

/**
 * Returns the system as clients and browsers know it. Every request goes to another instance. A client disconnects after
 * `giveUpMs`, a whole number, and its request rejects with a `TimeoutError`.
 */
export function systemAddress(
  baseUrl: string,
  appUrl: string,
  anyPort: () => number,
  giveUpMs: () => number = () => timeoutMs,
): ServerAddress {
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    async fetch(input, init) {
      const asked = new Request(input, init)
      const { pathname, search, host } = new URL(asked.url)
      const headers = { ...Object.fromEntries(asked.headers), host }
      const [path, port, { method }, body] = [pathname + search, anyPort(), asked, await asked.text()]
      const signal = AbortSignal.timeout(giveUpMs())
      try {
        const sent = request({ host: '127.0.0.1', port, method, path, headers, agent, signal })
        sent.end(body)
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        // The body reports what breaks from now on.
        sent.on('error', () => {})
        return await toResponse(answer)
      } catch (error) {
        signal.throwIfAborted()
        throw error
      }
    },
  }
}

async function toResponse(answer: IncomingMessage): Promise<Response> {
  const { statusCode: status = 0 } = answer
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const body = await text(answer)
  return new Response(status === 204 || status === 304 ? null : body, { status, headers })
}

/** The answer to a request that was sent at `sentAt`, in milliseconds since the epoch. */
export interface Answer {
  status: number
  text: string
  sentAt: number
}

/** Dependencies of those who use the system. */
export interface UserPorts {
  random: Random
  tally: Tally
  sleep(ms: number): Promise<unknown>
}

/**
 * Sends a request until an instance answers with something other than 503, as a client must. Counts the answers, and accuses those
 * that no client can handle. Status 0: none came in time.
 */
export async function insist(
  what: string,
  send: () => Promise<Response>,
  { random, tally, sleep }: UserPorts,
): Promise<Answer> {
  const giveUp = Date.now() + patienceMs
  for (let attempt = 1; ; attempt += 1) {
    const sentAt = Date.now()
    let waitMs = 100 * attempt
    try {
      const answer = await send()
      const { status, headers } = answer
      const text = await answer.text()
      tally.add(`${what} ${status}`)
      if (status !== 503) {
        if (status >= 500) tally.accuse('wrong answers', `${what}: ${status} ${text}`)
        return { status, text, sentAt }
      }
      const retryAfter = headers.get('retry-after')
      if (retryAfter === null) tally.accuse('wrong answers', `${what}: 503 without Retry-After`)
      waitMs = Math.max(Number(retryAfter) * 1000, waitMs)
    } catch (error) {
      const isOwn = error instanceof DOMException && error.name === 'TimeoutError'
      tally.add(`${what} ${isOwn ? 'cancelled by the client' : 'connection'}`)
    }
    if (Date.now() > giveUp) return { status: 0, text: 'no answer in time', sentAt }
    await sleep(Math.min(waitMs, maxWaitMs) * random.between(0.5, 1))
  }
}

/** Calls a tool that tells who calls. */
export function callWhoami(
  what: string,
  token: string,
  address: ServerAddress,
  ports: UserPorts,
): Promise<Answer> {
  const message = { method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  return insist(what, () => postMcp(address, message, { authorization: `Bearer ${token}` }), ports)
}
