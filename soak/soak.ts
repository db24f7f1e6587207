import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { personOf } from '../tests/e2e/person.ts'
import { registerPlainClient } from '../tests/e2e/plain-client.ts'
import { startPostgres } from '../tests/support/server/postgres-server.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { SoakClient, type SystemUnderTest, tokensOf } from './client.ts'
import { closeConnections, systemAddress } from './http.ts'
import { type FaultyProvider, startFaultyProvider } from './faulty-provider.ts'
import { type Instance, logLines, startInstance } from './instances.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'
import { makeTrouble, type Victims } from './trouble.ts'

/** Lifetime of the provider's access tokens: every connection needs the provider several times a minute. */
export const providerTokenSeconds = 15
const accessTokenSeconds = 30
/** Pause between the last fault and the final calls, by when every provider token is due. */
const calmSeconds: number = providerTokenSeconds + 5
const signInsAtOnce = 8
const grantsPerAccount = 5
const verificationsAtOnce = 16

/** Settings of one soak. */
export interface Soak {
  launcher: string
  /** An empty folder for logs. */
  scratch: string
  grants: number
  seconds: number
  /** Multiplies the pauses of clients; default 1. */
  pace?: number
  random: Random
  tally: Tally
  say(text: string): void
}

/**
 * Builds the system, signs in, injects faults while clients work, and checks at the end that every connection works.
 */
export async function runSoak(soak: Soak): Promise<void> {
  const { random, tally, say } = soak
  const closers: (() => Promise<void>)[] = []
  try {
    const system = await startSystem(soak, closers)
    const { victims } = system
    say(`signing in ${soak.grants} times`)
    const clients = await signInAll(soak, { ...system, provider: victims.provider })
    say(`${clients.length} connections are at work for ${soak.seconds} s`)
    victims.provider.admin.resetCounters()
    tally.add('provider refreshes answered', -tally.get('provider refreshes answered'))
    const end = Date.now() + soak.seconds * 1000
    await Promise.all([
      makeTrouble({ ...victims, seconds: soak.seconds, tally, say }, random.fork('trouble')),
      ...clients.map((client) => client.run(end)),
    ])
    await verifyAll(clients, soak)
    const { rotations } = victims.provider.admin.counters
    tally.add('provider rotations', rotations)
    tally.add('replayed parents', tally.get('provider refreshes answered') - rotations)
    checkLog(victims.instances.flatMap(logLines), tally)
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? '') : String(error)
    tally.accuse('failures of the soak itself', text.slice(0, 2000))
  }
  closeConnections()
  for (const close of closers.toReversed()) {
    await close().catch((error: unknown) => tally.accuse('failures of the soak itself', String(error)))
  }
}

/** Waits until every provider token is due, and lets each connection refresh and call once more. */
export async function verifyAll(
  clients: readonly SoakClient[],
  { tally, say }: Pick<Soak, 'tally' | 'say'>,
): Promise<void> {
  say('calm')
  await sleep(calmSeconds * 1000)
  say('the last call and refresh of each')
  await atOnce(verificationsAtOnce, clients, async (client) => {
    if ((await client.verify()) === undefined) tally.add('grants that work at the end')
  })
}

interface System extends Omit<SystemUnderTest, 'clientId'> {
  victims: Victims
}

/** Returns the settings of all instances, as variables without their prefix. */
export function soakSettings(
  baseUrl: string,
  provider: FaultyProvider,
  store: string,
): Record<string, string> {
  return {
    BASE_URL: baseUrl,
    APP_URL: provider.origin,
    PROVIDER: 'supabase',
    PROVIDER_URL: `${provider.origin}/auth/v1`,
    PROVIDER_KEY: 'sb_publishable_soak',
    SECRET_KEYS: `soak:${randomBytes(32).toString('base64')}`,
    STORE: store,
    ACCESS_TOKEN_TTL: `${accessTokenSeconds}s`,
    SESSION_CHECK: '20s',
    SIGN_IN_LIMIT: '100000',
    // All connections belong to one user.
    CALL_LIMIT: 'off',
    CALLS_AT_ONCE: 'off',
  }
}

async function startSystem(soak: Soak, closers: (() => Promise<void>)[]): Promise<System> {
  const postgres = await startPostgres({ durable: true })
  closers.push(() => postgres.close())
  const provider = await startFaultyProvider(
    { tokenTtlSeconds: providerTokenSeconds },
    soak.random.fork('faults'),
    soak.tally,
  )
  closers.push(() => provider.close())
  const baseUrl = `http://localhost:${await freePort()}`
  const settings = soakSettings(baseUrl, provider, await postgres.createDatabase())
  const startOne = async (name: string): Promise<Instance> => {
    const instance = await startInstance(name, { ...soak, settings })
    closers.push(() => instance.stop())
    return instance
  }
  const instances = [await startOne('one'), await startOne('two'), await startOne('three')] as const
  return {
    baseUrl,
    anyPort: () => soak.random.pick(instances).port,
    victims: { provider, instances, postgres },
  }
}

/** Signs in as often as `soak` says, with several connections for each account that it creates. */
export async function signInAll(
  soak: Soak,
  { baseUrl, anyPort, provider }: Pick<System, 'baseUrl' | 'anyPort'> & { provider: FaultyProvider },
): Promise<SoakClient[]> {
  const address = systemAddress(baseUrl, provider.origin, anyPort)
  const plain = await registerPlainClient(address)
  const accounts = Array.from({ length: Math.ceil(soak.grants / grantsPerAccount) }, (_, index) => ({
    email: `user${index}@example.com`,
    password: `correct horse ${index}`,
  }))
  const clients: SoakClient[] = []
  await atOnce(signInsAtOnce, accounts, async (account) => {
    await provider.admin.createUser(account)
    const count = Math.min(grantsPerAccount, soak.grants - accounts.indexOf(account) * grantsPerAccount)
    for (let number = 0; number < count; number += 1) {
      const code = await plain.code(personOf(address, account))
      const sentAt = Date.now()
      const redeemed = await plain.redeem(code)
      const text = await redeemed.text()
      if (redeemed.status !== 200) throw new Error(`Redeeming the code answered ${redeemed.status}: ${text}`)
      soak.tally.add('sign-ins')
      const random = soak.random.fork(`${account.email} ${number}`)
      const given = { email: account.email, tokens: tokensOf(text, sentAt) }
      const system = { baseUrl, anyPort, clientId: plain.id }
      const pause = (ms: number): Promise<unknown> => sleep(ms * (soak.pace ?? 1))
      clients.push(new SoakClient(given, system, { random, tally: soak.tally, sleep: pause }))
    }
  })
  return clients
}

/** Runs `work` on all of `items`, at most `max` at the same time. */
export async function atOnce<Item>(
  max: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  await Promise.all(
    Array.from({ length: max }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
    }),
  )
}

/** Checks the lines of logs: no grant may have ended, and no unexpected failure may have occurred. */
export function checkLog(lines: readonly Readonly<Record<string, unknown>>[], tally: Tally): void {
  for (const line of lines) {
    const { event, reason, time } = line
    if (event === 'grant_ended') {
      tally.accuse(
        reason === 'refresh_token_reuse' ? 'reuse revocations' : 'grants ended by the server',
        `${String(time)} ${String(reason)} ${String(line['grant_id'])}`,
      )
    }
    if (event === 'provider_session_ended') {
      tally.accuse('grants ended by the server', `${String(time)} ${String(line['grant_id'])}`)
    }
    if (event === 'request_failed') tally.accuse('failed requests', JSON.stringify(line).slice(0, 2000))
    if (event === 'provider_refreshed') tally.add('provider sessions stored')
  }
}
