import { type Exchanged, exchange, type Outgoing } from './exchange.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

/** How long a client repeats the same refresh token: the server's promised time, less a margin. */
const patienceMs = 110_000
const longestWaitMs = 3000
/** Tokens expire at whole seconds of the server's clock. */
const clockToleranceMs = 2000

/** The system's address, and the client's id there. */
export interface SystemUnderTest {
  /** Public origin; requests go to the instances, with this name. */
  baseUrl: string
  clientId: string
  /** Returns the port of an instance, a different one each time. */
  anyPort(): number
}

/** Other dependencies of a client. */
export interface ClientPorts {
  random: Random
  tally: Tally
  sleep(ms: number): Promise<unknown>
}

/** Tokens as the client received them; `expiresAt` uses its own clock, in milliseconds. */
export interface ClientTokens {
  accessToken: string
  refreshToken: string
  expiresAt: number
}

/** One user's connection, used by a well-behaved client. */
export interface SoakClient {
  email: string
  /** Works until `end` (milliseconds since the epoch), with pauses. */
  run(end: number): Promise<void>
  /** Checks, with retries, that a refresh and a call both succeed. Returns the reason when not. */
  verify(): Promise<string | undefined>
  /** Why the connection has failed permanently. */
  lost(): string | undefined
}

/** Result of a token request. */
type Refreshed = { kind: 'tokens'; tokens: ClientTokens } | { kind: 'refused'; reason: string }

/** Creates a client that has `tokens`, for the user with the address `email`. */
export function createSoakClient(
  given: { email: string; tokens: ClientTokens },
  system: SystemUnderTest,
  { random, tally, sleep }: ClientPorts,
): SoakClient {
  const { email } = given
  let { tokens } = given
  let lost: string | undefined
  const isAlive = (): boolean => lost === undefined

  /** Presents one refresh token until it is answered, as a client does that must not lose its connection. */
  async function redeem(refreshToken: string): Promise<Refreshed> {
    const giveUp = Date.now() + patienceMs
    for (let attempt = 1; Date.now() < giveUp; attempt += 1) {
      const sentAt = Date.now()
      const answer = await send(
        'refresh',
        refreshRequest(system, refreshToken),
        attempt === 1 && random.chance(0.03),
      )
      if (answer?.status === 200) return { kind: 'tokens', tokens: tokensOf(answer.text, sentAt) }
      if (answer && answer.status !== 503) {
        return { kind: 'refused', reason: `refresh answered ${answer.status}: ${answer.text.slice(0, 300)}` }
      }
      await pause(answer, attempt)
    }
    return { kind: 'refused', reason: 'no refresh succeeded in time' }
  }

  async function refresh(): Promise<void> {
    const refreshed = await redeem(tokens.refreshToken)
    if (refreshed.kind === 'tokens') tokens = refreshed.tokens
    else lose(refreshed.reason)
  }

  /** Sends twenty requests at once with one token, like a client with as many windows. */
  async function race(): Promise<void> {
    const { refreshToken } = tokens
    const results = await Promise.all(Array.from({ length: 20 }, () => redeem(refreshToken)))
    const successors = new Set(
      results.map((result) => (result.kind === 'tokens' ? result.tokens.refreshToken : result.reason)),
    )
    tally.add('races')
    if (successors.size !== 1) tally.accuse('races with several answers', `${email}: ${successors.size}`)
    const [first] = results
    if (first?.kind === 'tokens') tokens = first.tokens
    else lose(first?.reason ?? 'nothing')
  }

  async function call(): Promise<void> {
    if (Date.now() >= tokens.expiresAt) await refresh()
    for (let attempt = 1; attempt <= 4 && isAlive(); attempt += 1) {
      const answer = await send('call', callRequest(system, tokens.accessToken), false)
      if (answer?.status === 200) {
        checkCall(answer.text)
        return
      }
      if (answer?.status === 401) {
        if (Date.now() < tokens.expiresAt - clockToleranceMs) {
          tally.accuse('wrong answers', `a live token of ${email} was refused: ${answer.text.slice(0, 300)}`)
        }
        await refresh()
        continue
      }
      await pause(answer, attempt)
    }
  }

  /** Counts the result. Returns undefined when the connection broke. */
  async function send(what: string, outgoing: Outgoing, hangUp: boolean): Promise<Exchanged | undefined> {
    try {
      const answer = await exchange(
        system.anyPort(),
        outgoing,
        hangUp ? { hangUpAfterMs: random.between(0, 15) } : {},
      )
      tally.add(`${what} ${answer.status}`)
      if (![200, 401, 503].includes(answer.status)) {
        tally.accuse('wrong answers', `${what} of ${email}: ${answer.status} ${answer.text.slice(0, 300)}`)
      }
      if (answer.status === 503 && answer.headers['retry-after'] === undefined) {
        tally.accuse('wrong answers', `${what} of ${email}: 503 without Retry-After`)
      }
      return answer
    } catch {
      tally.add(hangUp ? `${what} cancelled by the client` : `${what} connection`)
      return undefined
    }
  }

  function checkCall(text: string): void {
    if (!text.includes(`"You are ${email}."`)) {
      tally.accuse('wrong answers', `a call of ${email} was answered ${text.slice(0, 300)}`)
    }
  }

  function lose(reason: string): void {
    lost = reason
    tally.accuse('grants lost', `${email}: ${reason}`)
  }

  async function pause(answer: Exchanged | undefined, attempt: number): Promise<void> {
    const asked = Number(answer?.headers['retry-after'] ?? 0) * 1000
    await sleep(Math.min(Math.max(asked, 100 * attempt), longestWaitMs) * random.between(0.5, 1))
  }

  return {
    email,
    lost: () => lost,
    async run(end) {
      while (isAlive() && Date.now() < end) {
        const action = random.next()
        if (action < 0.01) await race()
        else if (action < 0.2) await refresh()
        else await call()
        await sleep(Math.min(random.between(1000, 9000), Math.max(0, end - Date.now())))
      }
    },
    async verify() {
      if (lost !== undefined) return lost
      await refresh()
      const giveUp = Date.now() + patienceMs
      for (let attempt = 1; isAlive() && Date.now() < giveUp; attempt += 1) {
        const answer = await send('final call', callRequest(system, tokens.accessToken), false)
        if (answer?.status === 200) {
          checkCall(answer.text)
          return undefined
        }
        if (answer?.status === 401) lose(`the last call answered 401: ${answer.text.slice(0, 300)}`)
        else await pause(answer, attempt)
      }
      if (lost === undefined) lose('the last call did not succeed in time')
      return lost
    },
  }
}

/** Reads the tokens of a token response to a request sent at `sentAt`. Throws when there are none. */
export function tokensOf(text: string, sentAt: number): ClientTokens {
  const answer = JSON.parse(text) as { access_token?: string; refresh_token?: string; expires_in?: number }
  if (answer.access_token === undefined || answer.refresh_token === undefined) {
    throw new Error('An answer of the token endpoint lacks a token.')
  }
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
    expiresAt: sentAt + (answer.expires_in ?? 0) * 1000,
  }
}

function refreshRequest(system: SystemUnderTest, refreshToken: string): Outgoing {
  return {
    method: 'POST',
    path: '/oauth/token',
    headers: { host: new URL(system.baseUrl).host, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      client_id: system.clientId,
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      resource: `${system.baseUrl}/mcp`,
    }).toString(),
  }
}

function callRequest(system: SystemUnderTest, accessToken: string): Outgoing {
  return {
    method: 'POST',
    path: '/mcp',
    headers: {
      host: new URL(system.baseUrl).host,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${accessToken}`,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'whoami', arguments: {} },
    }),
  }
}
