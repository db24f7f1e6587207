import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AreaFigure } from '../bench/figure.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'
import { createPlainClient, registerPlainClient } from '../tests/e2e/plain-client.ts'
import { logLines } from '../tests/e2e/server-process.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { startPostgres } from '../tests/support/server/postgres-server.ts'
import { startReverseProxy } from '../tests/support/server/reverse-proxy.ts'
import { SoakClient } from './client.ts'
import { startFaultyProvider } from './faulty-provider.ts'
import { systemAddress } from './http.ts'
import { type Instance, type InstanceSettings, startInstance } from './instances.ts'
import type { Random } from './random.ts'
import { type Accusation, soakFigures, type Tally } from './tally.ts'

const signInsAtOnce = 8

/** Settings of one soak. */
export interface Soak {
  launcher: string
  /** An empty folder for logs. */
  scratch: string
  grants: number
  seconds: number
  /** How many days pass at once, where they do. */
  days: number
  random: Random
  tally: Tally
  /** Functions that end what was started, called last to first. */
  endings: (() => Promise<unknown>)[]
  say(text: string): void
}

/** Counts without which no soak proves anything. */
export const amidTrouble = { kills: 1, 'provider rotations': 1 }

/** What a soak does. */
export interface Scenario {
  area: string
  /** Counts without which it proves nothing; `grants` as in {@link Soak}. */
  least(grants: number): Readonly<Record<string, number>>
  run(soak: Soak): Promise<void>
}

/** Runs a scenario to its end, whatever fails in it, and returns its figures. */
export async function runSoak(soak: Soak, { area, least, run }: Scenario): Promise<AreaFigure[]> {
  const { tally } = soak
  const began = Date.now()
  try {
    await run(soak)
  } catch (error) {
    tally.accuse('failures of the soak itself', error instanceof Error ? (error.stack ?? '') : String(error))
  }
  for (const close of soak.endings.toReversed()) {
    await close().catch((error: unknown) => tally.accuse('failures of the soak itself', String(error)))
  }
  return soakFigures(area, tally, least(soak.grants), (Date.now() - began) / 1000)
}

/** What instances run with. */
export type World = Awaited<ReturnType<typeof openWorld>>

/** Starts Postgres and a provider, whose access tokens live for `tokenTtlSeconds`. */
export async function openWorld(
  soak: Soak,
  { tokenTtlSeconds, runtime = systemRuntime }: { tokenTtlSeconds: number; runtime?: Runtime },
) {
  const postgres = await startPostgres({ durable: true })
  soak.endings.push(() => postgres.close())
  const provider = await startFaultyProvider(
    { tokenTtlSeconds, runtime },
    soak.random.fork('faults'),
    soak.tally,
  )
  soak.endings.push(() => provider.close())
  const baseUrl = `http://localhost:${await freePort()}`
  const database = await postgres.createDatabase()
  /** As variables without their prefix. */
  const settings = {
    BASE_URL: baseUrl,
    APP_URL: provider.origin,
    PROVIDER: 'supabase',
    PROVIDER_URL: `${provider.origin}/auth/v1`,
    PROVIDER_KEY: 'sb_publishable_soak',
    SECRET_KEYS: `soak:${randomBytes(32).toString('base64')}`,
    STORE: database,
    SESSION_CHECK: '20s',
    SIGN_IN_LIMIT: '100000',
    // All connections belong to one user.
    CALL_LIMIT: 'off',
    CALLS_AT_ONCE: 'off',
  }
  return { postgres, provider, runtime, baseUrl, database, settings }
}

/** Starts three instances of the built server, behind a load balancer at the public address. */
export async function startInstances(
  soak: Soak,
  { baseUrl }: World,
  given: InstanceSettings,
): Promise<readonly [Instance, ...Instance[]]> {
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const startOne = async (port: number): Promise<Instance> => {
    const instance = await startInstance(port, soak, given)
    soak.endings.push(() => instance.stop())
    return instance
  }
  const instances = [await startOne(ports[0]), await startOne(ports[1]), await startOne(ports[2])] as const
  const route = () => ({ origin: `http://127.0.0.1:${soak.random.pick(ports)}` })
  const balancer = await startReverseProxy(Number(new URL(baseUrl).port), route)
  soak.endings.push(() => balancer.close())
  return instances
}

/**
 * Signs in as often as `soak` says, with `perAccount` connections for each account that it creates, by one client. Its pauses are
 * `pace` times as long.
 */
export async function signInAll(
  soak: Soak,
  { provider, runtime, baseUrl }: World,
  { perAccount, pace = 1 }: { perAccount: number; pace?: number },
): Promise<SoakClient[]> {
  const { random, tally, grants } = soak
  const address = systemAddress(baseUrl, provider.origin)
  const { id } = await registerPlainClient(address)
  const accounts = Array.from({ length: Math.ceil(grants / perAccount) }, (_, index) => ({
    email: `user${index}@example.com`,
    password: `correct horse ${index}`,
  }))
  await Promise.all(accounts.map((account) => provider.admin.createUser(account)))
  const connecting = Array.from({ length: grants }, async (_, number) => {
    const account = accounts[number % accounts.length] ?? { email: '', password: '' }
    const own = random.fork(`client ${number}`)
    const giveUpMs = (): number => (own.chance(0.03) ? Math.round(own.between(0, 15)) : 30_000)
    const hasty = systemAddress(baseUrl, provider.origin, giveUpMs)
    const pause = (ms: number): Promise<unknown> => sleep(ms * pace)
    const plain = await createPlainClient(hasty, { id })
    return new SoakClient({ account, address, plain, random: own, tally, sleep: pause, now: runtime.now })
  })
  const clients = await Promise.all(connecting)
  await atOnce(signInsAtOnce, clients, (client) => client.signIn())
  return clients
}

/** Runs `work` on all of `items`, at most `max` at the same time. */
export async function atOnce<Item>(
  max: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: max }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}

/** Events of the log that accuse the server. */
const badEvents: Readonly<Record<string, Accusation>> = {
  grant_ended: 'grants ended by the server',
  provider_session_ended: 'grants ended by the server',
  request_failed: 'failed requests',
}

/** Checks the logs of instances: no grant may have ended, and no unexpected failure may have occurred. */
export function checkLogs(instances: readonly Instance[], tally: Tally): void {
  for (const line of instances.flatMap((instance) => logLines(instance.log()))) {
    const accusation = badEvents[line.event]
    if (accusation) tally.accuse(accusation, JSON.stringify(line))
    if (line.event === 'provider_refreshed') tally.add('provider sessions stored')
  }
}
