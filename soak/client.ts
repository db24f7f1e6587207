import { sendTo, type SoakRequest, type SoakResponse } from './http.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

/** How long a client repeats the same refresh token: the server's promised time, less a margin. */
const patienceMs = 110_000
const maxWaitMs = 3000
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
export class SoakClient {
  readonly #email: string
  readonly #system: SystemUnderTest
  readonly #ports: ClientPorts
  #tokens: ClientTokens
  /** Why the connection has failed permanently. */
  lost: string | undefined

  constructor(given: { email: string; tokens: ClientTokens }, system: SystemUnderTest, ports: ClientPorts) {
    this.#email = given.email
    this.#tokens = given.tokens
    this.#system = system
    this.#ports = ports
  }

  /** Works until `end` (milliseconds since the epoch), with pauses. */
  async run(end: number): Promise<void> {
    const { random, sleep } = this.#ports
    while (this.lost === undefined && Date.now() < end) {
      const action = random.next()
      if (action < 0.01) await this.#race()
      else if (action < 0.2) await this.#refresh()
      else await this.#call()
      await sleep(Math.min(random.between(1000, 9000), Math.max(0, end - Date.now())))
    }
  }

  /** Checks, with retries, that a refresh and a call both succeed. Returns the reason when not. */
  async verify(): Promise<string | undefined> {
    if (this.lost === undefined) await this.#refresh()
    const giveUp = Date.now() + patienceMs
    for (let attempt = 1; this.lost === undefined; attempt += 1) {
      const answer = await this.#send('final call', this.#callRequest())
      if (answer?.status === 200) return this.#checkCall(answer.text)
      if (answer?.status === 401) this.#lose(`the last call answered 401: ${answer.text.slice(0, 300)}`)
      else if (Date.now() > giveUp) this.#lose('the last call did not succeed in time')
      else await this.#pause(answer, attempt)
    }
    return this.lost
  }

  async #refresh(requests = 1): Promise<void> {
    const { refreshToken } = this.#tokens
    const results = await Promise.all(Array.from({ length: requests }, () => this.#redeem(refreshToken)))
    const answers = new Set(
      results.map((result) => (typeof result === 'string' ? result : result.refreshToken)),
    )
    if (answers.size > 1) {
      this.#ports.tally.accuse('races with several answers', `${this.#email}: ${answers.size}`)
    }
    const [first = 'nothing'] = results
    if (typeof first === 'string') this.#lose(first)
    else this.#tokens = first
  }

  /** Sends twenty requests at once with one token, like a client with as many windows. */
  async #race(): Promise<void> {
    await this.#refresh(20)
    this.#ports.tally.add('races')
  }

  /** Presents a refresh token until it is answered, as a client must. Returns the tokens, or why there are none. */
  async #redeem(refreshToken: string): Promise<ClientTokens | string> {
    const { random } = this.#ports
    const giveUp = Date.now() + patienceMs
    for (let attempt = 1; Date.now() < giveUp; attempt += 1) {
      const sentAt = Date.now()
      const hangsUp = attempt === 1 && random.chance(0.03)
      const answer = await this.#send('refresh', this.#refreshRequest(refreshToken), hangsUp)
      if (answer?.status === 200) return tokensOf(answer.text, sentAt)
      if (answer && answer.status !== 503) {
        return `refresh answered ${answer.status}: ${answer.text.slice(0, 300)}`
      }
      await this.#pause(answer, attempt)
    }
    return 'no refresh succeeded in time'
  }

  async #call(): Promise<void> {
    if (Date.now() >= this.#tokens.expiresAt) await this.#refresh()
    for (let attempt = 1; attempt <= 4 && this.lost === undefined; attempt += 1) {
      const answer = await this.#send('call', this.#callRequest())
      if (answer?.status === 200) return this.#checkCall(answer.text)
      if (answer?.status === 401) {
        if (Date.now() < this.#tokens.expiresAt - clockToleranceMs) {
          this.#accuse(`a live token was refused: ${answer.text.slice(0, 300)}`)
        }
        await this.#refresh()
      } else await this.#pause(answer, attempt)
    }
  }

  /** Counts the result. Returns undefined when the connection broke. */
  async #send(what: string, request: SoakRequest, hangsUp = false): Promise<SoakResponse | undefined> {
    const { random, tally } = this.#ports
    try {
      const giveUpMs = hangsUp ? random.between(0, 15) : undefined
      const answer = await sendTo(this.#system.anyPort(), request, giveUpMs)
      tally.add(`${what} ${answer.status}`)
      if (![200, 401, 503].includes(answer.status)) {
        this.#accuse(`${what}: ${answer.status} ${answer.text.slice(0, 300)}`)
      }
      if (answer.status === 503 && answer.headers['retry-after'] === undefined) {
        this.#accuse(`${what}: 503 without Retry-After`)
      }
      return answer
    } catch {
      tally.add(hangsUp ? `${what} cancelled by the client` : `${what} connection`)
      return undefined
    }
  }

  #checkCall(text: string): undefined {
    if (!text.includes(`"You are ${this.#email}."`)) this.#accuse(`a call was answered ${text.slice(0, 300)}`)
  }

  #accuse(detail: string): void {
    this.#ports.tally.accuse('wrong answers', `${this.#email}: ${detail}`)
  }

  #lose(reason: string): void {
    this.lost = reason
    this.#ports.tally.accuse('grants lost', `${this.#email}: ${reason}`)
  }

  async #pause(answer: SoakResponse | undefined, attempt: number): Promise<void> {
    const { random, sleep } = this.#ports
    const asked = Number(answer?.headers['retry-after'] ?? 0) * 1000
    await sleep(Math.min(Math.max(asked, 100 * attempt), maxWaitMs) * random.between(0.5, 1))
  }

  #refreshRequest(refreshToken: string): SoakRequest {
    const form = new URLSearchParams({
      client_id: this.#system.clientId,
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      resource: `${this.#system.baseUrl}/mcp`,
    })
    return this.#post('/oauth/token', 'application/x-www-form-urlencoded', form.toString())
  }

  #callRequest(): SoakRequest {
    const params = { name: 'whoami', arguments: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return this.#post('/mcp', 'application/json', body, {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${this.#tokens.accessToken}`,
    })
  }

  #post(path: string, type: string, body: string, headers: Record<string, string> = {}): SoakRequest {
    const { host } = new URL(this.#system.baseUrl)
    return { method: 'POST', path, body, headers: { host, 'content-type': type, ...headers } }
  }
}

/** Reads the tokens of a token response to a request sent at `sentAt`. Throws when there are none. */
export function tokensOf(text: string, sentAt: number): ClientTokens {
  const answer = JSON.parse(text) as { access_token?: string; refresh_token?: string; expires_in?: number }
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds = 0 } = answer
  if (accessToken === undefined || refreshToken === undefined) {
    throw new Error('An answer of the token endpoint lacks a token.')
  }
  return { accessToken, refreshToken, expiresAt: sentAt + seconds * 1000 }
}
