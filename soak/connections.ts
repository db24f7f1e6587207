import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { folder, nextProgram } from '../tests/peers/hosts/host-app.ts'
import { startPgbouncer } from '../tests/support/server/pgbouncer.ts'
import { weathers } from './faults.ts'
import { type Instance, supervise, variablesOf } from './instances.ts'
import type { Random } from './random.ts'
import {
  amidTrouble,
  atOnce,
  checkLogs,
  openWorld,
  type Scenario,
  signInAll,
  type Soak,
  startInstances,
  type World,
} from './soak.ts'

/** Lifetime of the provider's access tokens: every connection needs the provider several times a minute. */
const tokenTtlSeconds = 15
/** Pause between the last fault and the final calls, by when every provider token is due. */
const calmSeconds = tokenTtlSeconds + 5
const perAccount = 5
const verificationsAtOnce = 16
/** A process of Next.js that has just started serves less than three processes that stay. */
const paceInNext = 3
const killEveryMs = 3000

/** Connections at three instances, while these are killed, and the provider and the database fail. */
export const connectionSoak: Scenario = {
  area: 'soak',
  least: (grants) => ({ ...leastOfAll(grants), 'replayed parents': 1, 'database restarts': 1 }),
  async run(soak) {
    const world = await openWorld(soak, { tokenTtlSeconds })
    const settings = { ...world.settings, ACCESS_TOKEN_TTL: '30s' }
    const instances = await startInstances(soak, world, { settings })
    await useConnections(soak, world, instances, 1, (end) => makeTrouble({ ...world, instances, end }, soak))
  },
}

/**
 * Connections at one `next start` that is killed again and again. The only store is a schema of a Postgres behind PgBouncer in
 * transaction mode.
 */
export const nextSoak: Scenario = {
  area: 'soak in Next.js',
  least: leastOfAll,
  async run(soak) {
    const world = await openWorld(soak, { tokenTtlSeconds })
    const pooler = await startPgbouncer(world.database, { connections: 10 })
    soak.endings.push(() => pooler.close())
    const { port } = new URL(world.baseUrl)
    const settings = {
      ...world.settings,
      STORE: `${pooler.url(world.database)}&schema=drawbridge`,
      // Longer than lost answers are repeated: a repeated request gets the tokens of the first one for as long as they are good.
      ACCESS_TOKEN_TTL: '10m',
    }
    const program = {
      name: 'next start',
      script: nextProgram,
      argv: ['start', '-p', port, '-H', '127.0.0.1'],
      directory: folder,
      environment: { ...variablesOf(settings), NEXT_TELEMETRY_DISABLED: '1' },
      logFile: join(soak.scratch, 'log'),
      readyLine: /Ready in/,
    }
    const next = await supervise(program, soak.tally)
    // 128 and the number of SIGTERM.
    soak.endings.push(() => next.stop('143'))
    await useConnections(soak, world, [next], paceInNext, (end) => killAgainAndAgain(next, end))
  },
}

/** What both prove nothing without. */
function leastOfAll(grants: number): Record<string, number> {
  return {
    'sign-ins': grants,
    races: 1,
    'refresh cancelled by the client': 1,
    ...amidTrouble,
    'grants that work at the end': grants,
  }
}

/** Signs in, lets clients work amid `trouble`, and checks at the end that every connection works. */
async function useConnections(
  soak: Soak,
  world: World,
  instances: readonly [Instance, ...Instance[]],
  pace: number,
  trouble: (end: number) => Promise<void>,
): Promise<void> {
  const { grants, seconds, tally, say } = soak
  say(`signing in ${grants} times`)
  const clients = await signInAll(soak, world, { perAccount, pace })
  say(`${clients.length} connections are at work for ${seconds} s`)
  world.provider.resetCounters()
  const end = Date.now() + seconds * 1000
  await Promise.all([trouble(end), ...clients.map((client) => client.run(end))])
  say('calm')
  await sleep(calmSeconds * 1000)
  say('the last call and refresh of each')
  await atOnce(verificationsAtOnce, clients, async (client) => {
    if ((await client.verify()) === undefined) tally.add('grants that work at the end')
  })
  world.provider.report()
  checkLogs(instances, tally)
}

/** The targets of the faults, which last until `end`, in milliseconds since the epoch. */
interface Victims extends Pick<World, 'provider' | 'postgres'> {
  instances: readonly [Instance, ...Instance[]]
  end: number
}

/**
 * Injects faults until the end and leaves everything running and calm: faults at the provider in phases, an instance
 * killed or told to exit every few seconds, and two database outages, one by a shutdown and one by SIGKILL.
 */
async function makeTrouble(victims: Victims, soak: Soak): Promise<void> {
  const random = soak.random.fork('trouble')
  await Promise.all([
    faultAtProvider(victims, random.fork('provider'), soak),
    killInstances(victims, random.fork('kills')),
    takeDatabaseAway(victims, random.fork('database'), soak),
  ])
}

/** Has every mix of faults in turn, from a random one on after the first, and calm after each. */
async function faultAtProvider({ provider, end }: Victims, random: Random, { say }: Soak): Promise<void> {
  const start = Math.floor(random.between(1, weathers.length))
  for (let phase = 0; Date.now() < end; phase += 1) {
    const { name, mix } = weathers[phase === 0 ? 0 : (start + phase) % weathers.length] ?? {}
    // By the end of the first one, every provider token is due.
    const longMs = phase === 0 ? 20_000 : random.between(8000, 16_000)
    const troubleMs = Math.min(longMs, end - Date.now())
    say(`provider: ${name} for ${(troubleMs / 1000).toFixed(0)} s`)
    provider.setFaults(mix ?? {})
    await sleep(troubleMs)
    provider.setFaults({})
    await sleep(random.between(3000, 7000))
  }
}

async function killInstances({ end, instances }: Victims, random: Random): Promise<void> {
  for (;;) {
    await sleep(random.between(2000, 8000))
    if (Date.now() >= end) return
    if (random.chance(0.2)) {
      random.pick(instances).kill('SIGTERM', 0)
      continue
    }
    const victims = random.chance(0.15) ? instances : [random.pick(instances)]
    for (const victim of victims) victim.kill('SIGKILL', random.between(0, 3000))
  }
}

async function takeDatabaseAway(
  { postgres }: Victims,
  random: Random,
  { seconds, tally, say }: Soak,
): Promise<void> {
  for (const end of ['stop', 'kill'] as const) {
    await sleep(random.between(seconds / 5, seconds / 3) * 1000)
    const awayMs = random.between(500, 5000)
    say(`database: ${end}, away for ${(awayMs / 1000).toFixed(1)} s`)
    await postgres[end]()
    await sleep(awayMs)
    await postgres.start()
    tally.add('database restarts')
  }
}

/** Kills the only process every three seconds until `end`, and waits for the next one, as a platform starts it. */
async function killAgainAndAgain(instance: Instance, end: number): Promise<void> {
  for (;;) {
    await sleep(killEveryMs)
    if (Date.now() >= end) return
    instance.kill('SIGKILL', 0)
    await instance.restarted()
  }
}
