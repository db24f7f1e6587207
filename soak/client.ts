import { personOf } from '../tests/e2e/person.ts'
import type { PlainClient, Tokens } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { callWhoami, insist, patienceMs, type UserPorts } from './http.ts'

/** Tokens expire at whole seconds of the server's clock. */
const clockToleranceMs = 2000
const grantSeconds = 30 * 86_400
/** Each may wait for an instance until its token has expired. */
const maxCalls = 4

/** A person's account in the web app. */
interface Account {
  email: string
  password: string
}

/** Whose connection it is, and what it needs. */
export interface ClientPorts extends UserPorts {
  account: Account
  /** Where the user signs in and calls are sent. */
  address: ServerAddress
  /** Gets the tokens. */
  plain: PlainClient
  /** Seconds since the epoch. */
  now(): number
}

/** One user's connection, used by a well-behaved client. */
export class SoakClient {
  readonly given: ClientPorts
  #tokens: Tokens | undefined
  /** When the access token expires, in milliseconds of the client's own clock. */
  #expiresAt = 0
  /** When the connection ends at the earliest, in seconds since the epoch. */
  #endsAt = Infinity
  /** Why the connection has failed permanently. */
  lost: string | undefined

  constructor(given: ClientPorts) {
    this.given = given
  }

  /** Connects, again where an instance was killed or the provider failed in between, as a person does. */
  async signIn(): Promise<void> {
    const { account, address, plain, now, random, tally, sleep } = this.given
    const giveUp = Date.now() + patienceMs
    for (;;) {
      const sentAt = Date.now()
      this.#endsAt = now() + grantSeconds
      try {
        this.hold(await plain.connect(personOf(address, account)), sentAt)
        tally.add('sign-ins')
        return
      } catch (error) {
        if (Date.now() > giveUp) throw error
        tally.add('sign-ins repeated')
        await sleep(random.between(200, 1000))
      }
    }
  }

  /** Uses the tokens of the answer to a request that was sent at `sentAt`, in milliseconds. */
  hold(tokens: Tokens, sentAt: number): void {
    this.#tokens = tokens
    this.#expiresAt = sentAt + tokens.expires_in * 1000
    this.lost = undefined
  }

  /** Returns whether the connection is old enough to be over. */
  isOver(): boolean {
    return this.given.now() >= this.#endsAt
  }

  /** Works until `end` (milliseconds since the epoch), with pauses. */
  async run(end: number): Promise<void> {
    const { random, sleep } = this.given
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
    if (this.lost === undefined) await this.#call()
    return this.lost
  }

  /** Presents a refresh token until it is answered, as a client must. */
  async #refresh(requests = 1): Promise<void> {
    const { refresh_token: token = '' } = this.#tokens ?? {}
    const answers = await Promise.all(
      Array.from({ length: requests }, () =>
        insist('refresh', () => this.given.plain.refresh(token), this.given),
      ),
    )
    const refusal = answers.find(({ status }) => status !== 200)
    if (refusal) return this.#lose(`refresh answered ${refusal.status}: ${refusal.text}`)
    const received = answers.map(({ text, sentAt }) => ({ tokens: JSON.parse(text) as Tokens, sentAt }))
    const { size } = new Set(received.map(({ tokens }) => tokens.refresh_token))
    if (size > 1)
      this.given.tally.accuse('races with several answers', `${this.given.account.email}: ${size}`)
    for (const { tokens, sentAt } of received) this.hold(tokens, sentAt)
  }

  /** Sends twenty requests at once with one token, like a client with as many windows. */
  async #race(): Promise<void> {
    await this.#refresh(20)
    this.given.tally.add('races')
  }

  /** Calls; where the token has expired before an instance answered, again with a new one. */
  async #call(): Promise<void> {
    if (Date.now() >= this.#expiresAt) await this.#refresh()
    for (let attempt = 1; attempt <= maxCalls && this.lost === undefined; attempt += 1) {
      const { status, text } = await this.#callOnce()
      if (status === 200 && text.includes(`"You are ${this.given.account.email}."`)) return
      if (status !== 401) return this.#accuse(`a call answered ${status}: ${text}`)
      if (!this.isOver() && Date.now() < this.#expiresAt - clockToleranceMs) {
        this.#accuse(`a live token was refused: ${text}`)
        if (attempt === maxCalls) return this.#lose(`live tokens were refused: ${text}`)
      }
      await this.#refresh()
    }
  }

  #callOnce(): Promise<{ status: number; text: string }> {
    return callWhoami('call', this.#tokens?.access_token ?? '', this.given.address, this.given)
  }

  #accuse(detail: string): void {
    this.given.tally.accuse('wrong answers', `${this.given.account.email}: ${detail}`)
  }

  #lose(reason: string): void {
    this.lost = reason
    if (!this.isOver()) this.given.tally.accuse('grants lost', `${this.given.account.email}: ${reason}`)
  }
}
