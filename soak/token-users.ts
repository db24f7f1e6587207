import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Person } from '../tests/e2e/person.ts'
import { postForm, type Tokens } from '../tests/e2e/plain-client.ts'
import type { ServerAddress } from '../tests/e2e/server-process.ts'
import { callWhoami, insist, type UserPorts } from './http.ts'
import { type Instance, variablesOf } from './instances.ts'
import type { Soak } from './soak.ts'

/** What tokens are made and used on. */
export interface TokenSystem {
  soak: Soak
  /** Seconds since the epoch. */
  now(): number
  address: ServerAddress
  instances: readonly [Instance, ...Instance[]]
  ports: UserPorts
}

/** A personal token, which lasts at least until `endsAt` and at most until `endedBy`, in seconds since the epoch. */
export type PersonalToken = Awaited<ReturnType<typeof makeToken>>

/** A client of client_credentials. */
export interface Service {
  client_id: string
  client_secret: string
}

/** Makes a personal token as its user does, on the pages. */
export async function makeToken(
  { browser, email, password }: Person,
  days: number,
  { address, now, soak }: TokenSystem,
) {
  const first = await browser.visit(`${address.baseUrl}/account/connections`)
  const page = first.html.includes('name="password"')
    ? await browser.submit(first, 'password', { email, password })
    : first
  const form = { name: `Job ${days}`, days: String(days), action: 'make_token' }
  const again = await browser.submit(page, 'days', form)
  const seconds = days * 86_400
  const endsAt = now() + seconds
  const { html, status } = await browser.submit(again, 'password', { email, password })
  const [token] = /mcpt_[\w-]{43}/.exec(html) ?? []
  if (token === undefined) throw new Error(`Making a token answered ${status}.`)
  soak.tally.add('tokens made')
  return { token, days, email, endsAt, endedBy: now() + seconds, isLost: false }
}

/** Adds a service with the command line; `settings` are those of the instances. */
export async function addService(
  number: number,
  settings: Record<string, string>,
  { launcher, scratch }: Soak,
): Promise<Service> {
  const argv = [launcher, 'clients', 'add', '--service', `Service ${number}`, '--json']
  const env = { PATH: process.env['PATH'] ?? '', HOME: scratch, ...variablesOf(settings) }
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: scratch, env })
  return JSON.parse(stdout) as Service
}

/** Uses a token twice, each time from two places at once, after a pause. */
export async function useToken(
  given: PersonalToken,
  system: TokenSystem,
  pause: () => Promise<void>,
): Promise<void> {
  for (let time = 0; time < 2 && !given.isLost; time += 1) {
    await pause()
    await Promise.all([callWith(given, system), callWith(given, system)])
  }
}

async function callWith(given: PersonalToken, { now, address, ports }: TokenSystem): Promise<void> {
  const { tally } = ports
  const isOver = now() > given.endedBy
  const { status, text } = await callWhoami('token call', given.token, address, ports)
  const who = `${given.email}, ${given.days} days, ${given.endsAt - now()} s left`
  if (isOver) {
    if (status === 401) tally.add('calls refused after the end')
    else tally.accuse('tokens that outlived their end', `${who}: ${status} ${text}`)
  } else if (status !== 200) {
    given.isLost = true
    tally.accuse('tokens lost', `${who}: ${status} ${text}`)
  } else if (!text.includes(`"You are ${given.email}."`)) {
    tally.accuse('wrong answers', `${who}: ${text}`)
  }
}

/** Gets as many tokens of a service as there are instances, and calls with each. */
export async function useService(
  { client_id: id, client_secret: secret }: Service,
  { address, instances, ports }: TokenSystem,
  pause: () => Promise<void>,
): Promise<void> {
  const authorization = `Basic ${btoa(`${id}:${secret}`)}`
  const form = { grant_type: 'client_credentials' }
  await Promise.all(
    instances.map(async () => {
      await pause()
      const asked = await insist(
        'service token',
        () => postForm(address, '/oauth/token', form, { authorization }),
        ports,
      )
      const answer = (asked.status === 200 ? JSON.parse(asked.text) : {}) as Partial<Tokens>
      const { access_token: token, expires_in: seconds } = answer
      if (token === undefined || !isAnHour(seconds)) {
        ports.tally.accuse('services refused', `${asked.status}, a token of ${seconds} s`)
        return
      }
      const { status, text } = await callWhoami('service call', token, address, ports)
      if (status !== 200 || !text.includes(`service:${id}`))
        ports.tally.accuse('services refused', `a call: ${status} ${text}`)
    }),
  )
}

/** Tokens are said to last a little less than they do. */
function isAnHour(seconds = 0): boolean {
  return seconds <= 3600 && seconds > 3540
}
