import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Person, personOf } from '../tests/e2e/person.ts'
import { type PlainClient, postForm, postMcp, type Tokens } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { systemAddress } from './http.ts'
import type { Instance } from './instances.ts'
import type { MovedClock } from './moved-clock.ts'
import type { Soak } from './soak.ts'

export const daySeconds = 86_400
const grantSeconds = 30 * daySeconds
/** Lifetime of the tokens of the provider, of clients and of services. */
export const hourSeconds = 3600
/** Tokens are called for the last time that long before they end: the calls of one moment take less. */
export const lastCallsSeconds = 300
/** For so long instances are killed, and requests begin, at each moment. */
export const busyMs = 3000
const patienceMs = 60_000

/** What tokens are made and used on. */
export interface TokenSystem {
  soak: Soak
  clock: MovedClock
  address: ServerAddress
  instances: readonly [Instance, ...Instance[]]
}

/** A personal token, which lasts at least until `endsAt` and at most until `endedBy`, in seconds since the epoch. */
export interface PersonalToken {
  token: string
  days: number
  email: string
  endsAt: number
  endedBy: number
  isLost: boolean
}

/** The connection that the same person has by OAuth, until `endsAt` at least. */
export interface Connection {
  person: Person
  client: PlainClient
  tokens: Tokens
  endsAt: number
}

/** A client of client_credentials. */
export interface Service {
  client_id: string
  client_secret: string
}

/** Connects a client by OAuth for an account, whose person is returned with it. */
export async function connect(person: Person, client: PlainClient, clock: MovedClock): Promise<Connection> {
  const endsAt = clock.now() + grantSeconds
  return { person, client, tokens: await client.connect(person), endsAt }
}

/** Makes a personal token as its user does, on the pages. */
export async function makeToken(
  person: Person,
  days: number,
  { address, clock, soak }: TokenSystem,
): Promise<PersonalToken> {
  const { browser, email, password } = person
  const url = `${address.baseUrl}/account/connections`
  const first = await browser.visit(url)
  const page = first.html.includes('name="password"')
    ? await browser.submit(first, 'password', { email, password })
    : first
  const form = { name: `Job ${days}`, days: String(days), action: 'make_token' }
  const again = await browser.submit(page, 'days', form)
  const endsAt = clock.now() + days * daySeconds
  const { html, status } = await browser.submit(again, 'password', { email, password })
  const [token] = /mcpt_[\w-]{43}/.exec(html) ?? []
  if (token === undefined) throw new Error(`Making a token answered ${status}.`)
  soak.tally.add('tokens made')
  return { token, days, email, endsAt, endedBy: clock.now() + days * daySeconds, isLost: false }
}

/** Adds a service with the command line; `settings` are those of the instances. */
export async function addService(
  number: number,
  settings: Record<string, string>,
  soak: Soak,
): Promise<Service> {
  const variables = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const argv = [soak.launcher, 'clients', 'add', '--service', `Service ${number}`, '--json']
  const env = { PATH: process.env['PATH'] ?? '', HOME: soak.scratch, ...Object.fromEntries(variables) }
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: soak.scratch, env })
  return JSON.parse(stdout) as Service
}

interface Answer {
  status: number
  text: string
}

/** Sends a request until an instance has answered it with something other than 503. */
async function insist(what: string, send: () => Promise<Response>, { random, tally }: Soak): Promise<Answer> {
  const giveUp = Date.now() + patienceMs
  for (;;) {
    try {
      const answer = await send()
      const text = await answer.text()
      tally.add(`${what} ${answer.status}`)
      if (answer.status !== 503 || Date.now() > giveUp) return { status: answer.status, text }
    } catch (error) {
      tally.add(`${what} connection`)
      if (Date.now() > giveUp) return { status: 0, text: String(error) }
    }
    await sleep(random.between(200, 1000))
  }
}

function call(what: string, token: string, { address, soak }: TokenSystem): Promise<Answer> {
  const message = { method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  return insist(what, () => postMcp(address, message, { authorization: `Bearer ${token}` }), soak)
}

/** Uses a token twice, each time from two places at once. */
export async function useToken(given: PersonalToken, system: TokenSystem): Promise<void> {
  const { random } = system.soak
  for (let time = 0; time < 2 && !given.isLost; time += 1) {
    await sleep(random.between(0, busyMs))
    await Promise.all([callWith(given, system), callWith(given, system)])
  }
  if (!given.isLost && isLastCall(given, system.clock.now()))
    system.soak.tally.add('tokens that worked at their end')
}

function isLastCall({ endsAt, endedBy }: PersonalToken, now: number): boolean {
  return now > endsAt - 2 * lastCallsSeconds && now < endedBy
}

async function callWith(given: PersonalToken, system: TokenSystem): Promise<void> {
  const { clock } = system
  const { tally } = system.soak
  const isOver = clock.now() > given.endedBy
  const { status, text } = await call('token call', given.token, system)
  const who = `${given.email}, ${given.days} days`
  if (isOver) {
    if (status === 401) tally.add('calls refused after the end')
    else tally.accuse('tokens that outlived their end', `${who}: ${status} ${text.slice(0, 300)}`)
  } else if (status !== 200) {
    given.isLost = true
    const left = given.endsAt - clock.now()
    tally.accuse('tokens lost', `${who}, ${left} s before its end: ${status} ${text.slice(0, 300)}`)
  } else if (!text.includes(`"You are ${given.email}."`)) {
    tally.accuse('wrong answers', `${who}: ${text.slice(0, 300)}`)
  }
}

/** Refreshes a connection and calls with it; signs in again once its thirty days are over. */
export async function useConnection(connection: Connection, system: TokenSystem): Promise<void> {
  const { clock, soak } = system
  const { client, person } = connection
  await sleep(soak.random.between(0, busyMs))
  const refreshed = await insist('refresh', () => client.refresh(connection.tokens.refresh_token), soak)
  if (refreshed.status === 200) connection.tokens = JSON.parse(refreshed.text) as Tokens
  else if (clock.now() < connection.endsAt) {
    soak.tally.accuse('grants lost', `${person.email}: ${refreshed.status} ${refreshed.text.slice(0, 300)}`)
    return
  } else {
    connection.endsAt = clock.now() + grantSeconds
    connection.tokens = await signIn(connection, system)
    soak.tally.add('sign-ins after thirty days')
  }
  const { status, text } = await call('call', connection.tokens.access_token, system)
  const isOver = status === 401 && clock.now() >= connection.endsAt
  if (!isOver && (status !== 200 || !text.includes(`"You are ${person.email}."`)))
    soak.tally.accuse('wrong answers', `${person.email}: ${status} ${text.slice(0, 300)}`)
}

/** Signs in, again where an instance was killed or the provider failed in between, as a person does. */
async function signIn({ client, person }: Connection, { soak, address }: TokenSystem): Promise<Tokens> {
  const giveUp = Date.now() + patienceMs
  for (;;) {
    try {
      return await client.connect(personOf(address, person))
    } catch (error) {
      if (Date.now() > giveUp) throw error
      soak.tally.add('sign-ins repeated')
      await sleep(soak.random.between(200, 1000))
    }
  }
}

/** Tokens are said to last a little less than they do. */
function isAnHour(seconds = 0): boolean {
  return seconds <= hourSeconds && seconds > hourSeconds - 60
}

/** Gets a token of a service at each instance, and calls with each. */
export async function useService(service: Service, system: TokenSystem): Promise<void> {
  const { address, instances, soak } = system
  const { tally } = soak
  const authorization = `Basic ${btoa(`${service.client_id}:${service.client_secret}`)}`
  await Promise.all(
    instances.map(async ({ port }) => {
      await sleep(soak.random.between(0, busyMs))
      const there = systemAddress(address.baseUrl, address.appUrl, () => port)
      const asked = await insist(
        'service token',
        () => postForm(there, '/oauth/token', { grant_type: 'client_credentials' }, { authorization }),
        soak,
      )
      const { access_token: token, expires_in: seconds } = (
        asked.status === 200 ? JSON.parse(asked.text) : {}
      ) as Partial<Tokens>
      if (token === undefined || !isAnHour(seconds)) {
        tally.accuse('services refused', `${asked.status}, a token of ${seconds} s`)
        return
      }
      const { status, text } = await call('service call', token, system)
      if (status !== 200 || !text.includes(`service:${service.client_id}`))
        tally.accuse('services refused', `a call: ${status} ${text.slice(0, 300)}`)
    }),
  )
}
