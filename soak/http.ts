import { postMcp } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

const timeoutMs = 30_000
/** How long a client repeats the same request: the server's promised time for a refresh token, less a margin. */
export const patienceMs = 110_000
const maxWaitMs = 3000

/**
 * Returns the system as clients and browsers know it. A client disconnects after `giveUpMs`, a whole number, and its request rejects
 * with a `TimeoutError`.
 */
export function systemAddress(
  baseUrl: string,
  appUrl: string,
  giveUpMs: () => number = () => timeoutMs,
): ServerAddress {
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(giveUpMs()) }),
  }
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
      // The load balancer's, where an instance is down.
      if (status === 502 && text === '') throw new Error('No instance answered.')
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
