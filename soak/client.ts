import { type Person, personOf } from '../tests/e2e/person.ts'
import type { PlainClient, Tokens } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { brief, callWhoami, insist, patienceMs, type UserPorts } from './http.ts'

/** Tokens expire at whole seconds of the server's clock. */
const clockToleranceMs = 2000
const grantSeconds = 30 * 86_400

/** One user's connection, used by a well-behaved client. */
export class SoakClient {
  readonly account: Pick<Person, 'email' | 'password'>
  readonly #address: ServerAddress
  readonly #plain: PlainClient
  readonly #ports: UserPorts & { now(): number }
  #tokens: Tokens | undefined
  /** When the access token expires, in milliseconds of the client's own clock. */
  #expiresAt = 0
  /** When the connection ends at the earliest, in seconds since the epoch. */
  #endsAt = Infinity
  /** Why the connection has failed permanently. */
  lost: string | undefined

  /** Signs in by a browser at `address`, and works by `plain`. `now` is in seconds since the epoch. */
  constructor(
    account: Pick<Person, 'email' | 'password'>,
    address: ServerAddress,
    plain: PlainClient,
    ports: UserPorts & { now(): number },
  ) {
    this.account = account
    this.#address = address
    this.#plain = plain
    this.#ports = ports
  }

  /** Connects, again where an instance was killed or the provider failed in between, as a person does. */
  async signIn(): Promise<void> {
    const { now, random, tally, sleep } = this.#ports
    const giveUp = Date.now() + patienceMs
    for (;;) {
      const sentAt = Date.now()
      this.#endsAt = now() + grantSeconds
      try {
        this.hold(await this.#plain.connect(personOf(this.#address, this.account)), sentAt)
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
    return this.#ports.now() >= this.#endsAt
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
    if (this.lost === undefined) await this.#call()
    return this.lost
  }

  /** Presents a refresh token until it is answered, as a client must. */
  async #refresh(requests = 1): Promise<void> {
    const { refresh_token: token = '' } = this.#tokens ?? {}
    const answers = await Promise.all(
      Array.from({ length: requests }, () =>
        insist('refresh', () => this.#plain.refresh(token), this.#ports),
      ),
    )
    const refusal = answers.find(({ status }) => status !== 200)
    if (refusal) return this.#lose(`refresh answered ${refusal.status}: ${brief(refusal.text)}`)
    const received = answers.map(({ text, sentAt }) => ({ tokens: JSON.parse(text) as Tokens, sentAt }))
    const { size } = new Set(received.map(({ tokens }) => tokens.refresh_token))
    if (size > 1) this.#ports.tally.accuse('races with several answers', `${this.account.email}: ${size}`)
    for (const { tokens, sentAt } of received) this.hold(tokens, sentAt)
  }

  /** Sends twenty requests at once with one token, like a client with as many windows. */
  async #race(): Promise<void> {
    await this.#refresh(20)
    this.#ports.tally.add('races')
  }

  /** Calls; where the token has expired meanwhile, again with a new one. */
  async #call(): Promise<void> {
    if (Date.now() >= this.#expiresAt) await this.#refresh()
    if (this.lost !== undefined) return
    let { status, text } = await this.#callOnce()
    if (status === 401) {
      if (!this.isOver() && Date.now() < this.#expiresAt - clockToleranceMs)
        this.#accuse(`a live token was refused: ${brief(text)}`)
      await this.#refresh()
      if (this.lost !== undefined) return
      ;({ status, text } = await this.#callOnce())
    }
    if (status === 401) this.#lose(`a call with a new token answered 401: ${brief(text)}`)
    else if (status !== 200 || !text.includes(`"You are ${this.account.email}."`))
      this.#accuse(`a call answered ${status}: ${brief(text)}`)
  }

  #callOnce(): Promise<{ status: number; text: string }> {
    return callWhoami('call', this.#tokens?.access_token ?? '', this.#address, this.#ports)
  }

  #accuse(detail: string): void {
    this.#ports.tally.accuse('wrong answers', `${this.account.email}: ${detail}`)
  }

  #lose(reason: string): void {
    this.lost = reason
    if (!this.isOver()) this.#ports.tally.accuse('grants lost', `${this.account.email}: ${reason}`)
  }
}
