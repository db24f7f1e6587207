import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../server/core/store.ts'
import { StoreUnavailableError } from '../server/core/store-unavailable.ts'
import { openPostgresStore } from '../server/store/postgres/postgres.ts'
import { personOf } from '../tests/e2e/person.ts'
import type { SoakClient } from './client.ts'
import type { FaultMix } from './faults.ts'
import { systemAddress } from './http.ts'
import { createMovedClock } from './moved-clock.ts'
import {
  amidTrouble,
  atOnce,
  checkLogs,
  openWorld,
  type Scenario,
  signInAll,
  startInstances,
} from './soak.ts'
import {
  addService,
  makeToken,
  type PersonalToken,
  type Service,
  type TokenSystem,
  useService,
  useToken,
} from './token-users.ts'

const daySeconds = 86_400
/** Lifetime of the tokens of the provider and of clients. */
const hourSeconds = 3600
const tokenDays = [7, 30, 90] as const
const peopleAtOnce = 8
const serviceCount = 3
const collectLimit = 100
/** Amid trouble, tokens are called for the last time that long before they end: the calls of one moment take less. */
const lastCallsSeconds = 300
/** And after that in a calm moment. */
const calmCallsSeconds = 20
/** For so long instances are killed, and requests begin, at each moment. */
const busyMs = 3000
/** Slow enough that kills hit refreshes, with replies that are lost after the refresh token was used up. */
const weather: FaultMix = {
  slow: 0.4,
  reply_lost: 0.15,
  dropped: 0.05,
  gateway_page: 0.05,
  rate_limited: 0.05,
}

/**
 * Ninety days of personal tokens, connections of the same people and services. After each jump of the clock every session at the
 * provider is due: instances are killed while all tokens are used. Each token has to work until its end and no longer.
 */
export const tokenSoak: Scenario = {
  area: 'soak of tokens',
  least: (people) => ({
    days: 90,
    'tokens made': people * tokenDays.length,
    'tokens that worked at their end': people * tokenDays.length,
    'calls refused after the end': people * tokenDays.length,
    'sign-ins after thirty days': people,
    'refresh 200': 1,
    'call 200': 1,
    'service token 200': 1,
    'service call 200': 1,
    'rows collected': 1,
    'replayed parents': 1,
    ...amidTrouble,
  }),
  async run(soak) {
    const { random, tally, say } = soak
    const clock = createMovedClock(join(soak.scratch, 'clock'))
    const world = await openWorld(soak, { tokenTtlSeconds: hourSeconds, runtime: clock.runtime })
    const { provider, baseUrl } = world
    const settings = { ...world.settings, ACCESS_TOKEN_TTL: `${hourSeconds}s`, PERSONAL_TOKENS: 'on' }
    const { environment, runtime } = clock
    const { now } = runtime
    const instances = await startInstances(soak, world, { settings, environment })
    const address = systemAddress(baseUrl, provider.origin)
    const system: TokenSystem = { soak, now, address, instances, ports: { random, tally, sleep } }

    const connections = await signInAll(soak, world, { perAccount: 1 })
    const tokens: PersonalToken[] = []
    await atOnce(peopleAtOnce, connections, async ({ given }) => {
      const person = personOf(address, given.account)
      for (const days of tokenDays) tokens.push(await makeToken(person, days, system))
    })
    const services: Service[] = []
    for (let number = 0; number < serviceCount; number += 1)
      services.push(await addService(number, settings, soak))
    say(`${tokens.length} personal tokens, ${connections.length} connections, ${services.length} services`)
    const store = openPostgresStore(world.database)
    soak.endings.push(() => store.close())

    provider.resetCounters()
    const began = now()
    for (const { at, ending } of momentsOf(tokens, began, soak.days)) {
      clock.moveTo(at)
      const isCalm = ending !== undefined
      provider.setFaults(isCalm ? {} : weather)
      const soon = (): Promise<void> => sleep(isCalm ? 0 : random.between(0, busyMs))
      await Promise.all([
        ...(isCalm ? [] : [killSome(system, soon), soon().then(() => collect(store, system))]),
        ...tokens.map((token) => useToken(token, system, soon)),
        ...connections.map((connection) => soon().then(() => useConnection(connection, system))),
        ...services.map((service) => useService(service, system, soon)),
      ])
      const atTheirEnd = tokens.filter(({ days, isLost }) => days === ending && !isLost)
      tally.add('tokens that worked at their end', atTheirEnd.length)
      say(`day ${((now() - began) / daySeconds).toFixed(2)}`)
    }
    tally.add('days', Math.floor((now() - began) / daySeconds))
    provider.report()
    checkLogs(instances, tally)
  },
}

/** When the clock stops, in seconds since the epoch. Calm is a moment in which tokens of `ending` days are about to end. */
interface Moment {
  at: number
  ending?: number
}

/** Returns a moment every `days` days, and those shortly before and after tokens end. */
function momentsOf(tokens: readonly PersonalToken[], began: number, days: number): Moment[] {
  const ends = tokenDays.flatMap((count) => {
    const own = tokens.filter((token) => token.days === count)
    const first = Math.min(...own.map(({ endsAt }) => endsAt))
    return [
      { at: first - lastCallsSeconds },
      { at: first - calmCallsSeconds, ending: count },
      { at: Math.max(...own.map(({ endedBy }) => endedBy)) + 1 },
    ]
  })
  const steps = Array.from({ length: Math.floor(90 / days) }, (_, step) => ({
    at: began + (step + 1) * days * daySeconds,
  }))
  // Not where some tokens are over and others are not.
  const isClear = ({ at }: Moment): boolean =>
    tokens.every(({ endsAt, endedBy }) => at < endsAt - 2 * lastCallsSeconds || at > endedBy)
  return [...steps.filter(isClear), ...ends].sort((one, other) => one.at - other.at)
}

/** Deletes what has expired, as instances do once a minute: none of these lives that long. */
async function collect(store: Store, { now, soak: { tally } }: TokenSystem): Promise<void> {
  try {
    for (let count = collectLimit; count === collectLimit; tally.add('rows collected', count))
      count = await store.collectExpired(now(), collectLimit)
  } catch (error) {
    // An instance would try again in a minute.
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}

/** Kills one to three instances, while the first requests of the day are answered. */
async function killSome(
  { instances, soak: { random } }: TokenSystem,
  soon: () => Promise<void>,
): Promise<void> {
  const victims = instances.filter(() => random.chance(0.5))
  if (victims.length === 0) victims.push(random.pick(instances))
  await Promise.all(
    victims.map(async (victim) => {
      await soon()
      victim.kill('SIGKILL', random.between(0, 500))
    }),
  )
}

/** Refreshes a connection and calls with it; signs in again once its thirty days are over. */
async function useConnection(connection: SoakClient, { soak: { tally } }: TokenSystem): Promise<void> {
  if ((await connection.verify()) === undefined || !connection.isOver()) return
  await connection.signIn()
  tally.add('sign-ins after thirty days')
  await connection.verify()
}
