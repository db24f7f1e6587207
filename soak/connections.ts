import { setTimeout as sleep } from 'node:timers/promises'
import { folder, nextProgram } from '../tests/peers/hosts/host-app.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { startPgbouncer } from '../tests/support/server/pgbouncer.ts'
import { type Instance, supervise, variablesOf } from './instances.ts'
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
import { killAgainAndAgain, makeTrouble } from './trouble.ts'
import { join } from 'node:path'

/** Lifetime of the provider's access tokens: every connection needs the provider several times a minute. */
const tokenTtlSeconds = 15
/** Pause between the last fault and the final calls, by when every provider token is due. */
const calmSeconds = tokenTtlSeconds + 5
const perAccount = 5
const verificationsAtOnce = 16
/** A process of Next.js that has just started serves less than three processes that stay. */
const paceInNext = 3

/** Connections at three instances, while these are killed, and the provider and the database fail. */
export const connectionSoak: Scenario = {
  area: 'soak',
  least: (grants) => ({ ...leastOfAll(grants), 'replayed parents': 1, 'database restarts': 1 }),
  async run(soak) {
    const world = await openWorld(soak, { tokenTtlSeconds })
    const settings = { ...world.settings, ACCESS_TOKEN_TTL: '30s' }
    const instances = await startInstances(soak, { settings })
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
    const port = await freePort()
    const settings = {
      ...world.settings,
      STORE: `${pooler.url(world.database)}&schema=drawbridge`,
      // Longer than lost answers are repeated: a repeated request gets the tokens of the first one for as long as they are good.
      ACCESS_TOKEN_TTL: '10m',
    }
    const program = {
      name: 'next start',
      script: nextProgram,
      argv: ['start', '-p', String(port), '-H', '127.0.0.1'],
      directory: folder,
      environment: { ...variablesOf(settings), NEXT_TELEMETRY_DISABLED: '1' },
      logFile: join(soak.scratch, 'log'),
      readyLine: /Ready in/,
    }
    const next = await supervise(program, port, soak.tally)
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
  const clients = await signInAll(soak, world, instances, { perAccount, pace })
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
