import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AreaFigure, atLeast, atMost, type Figure, reported } from '../bench/figure.ts'
import { personOf } from '../tests/e2e/person.ts'
import { registerPlainClient } from '../tests/e2e/plain-client.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { startPostgres } from '../tests/support/server/postgres-server.ts'
import type { Store } from '../server/core/store.ts'
import { StoreUnavailableError } from '../server/core/store-unavailable.ts'
import { openPostgresStore } from '../server/store/postgres/postgres.ts'
import type { FaultMix } from './faults.ts'
import { startFaultyProvider } from './faulty-provider.ts'
import { closeConnections, systemAddress } from './http.ts'
import { type Instance, logLines, startInstance } from './instances.ts'
import { createMovedClock } from './moved-clock.ts'
import { atOnce, checkLog, type Soak, soakSettings } from './soak.ts'
import type { Tally } from './tally.ts'
import {
  addService,
  busyMs,
  connect,
  type Connection,
  daySeconds,
  hourSeconds,
  lastCallsSeconds,
  makeToken,
  type PersonalToken,
  type Service,
  type TokenSystem,
  useConnection,
  useService,
  useToken,
} from './token-users.ts'

const tokenDays = [7, 30, 90] as const
const peopleAtOnce = 8
const serviceCount = 3
const collectLimit = 100
/** Slow enough that kills hit refreshes, with replies that are lost after the refresh token was used up. */
const weather: FaultMix = {
  slow: 0.4,
  reply_lost: 0.15,
  dropped: 0.05,
  gateway_page: 0.05,
  rate_limited: 0.05,
}

/** Settings of a soak of tokens. */
export interface TokenSoak extends Soak {
  /** How many days pass at once. */
  days: number
}

/**
 * Lets ninety days pass over personal tokens, connections of the same people and services. After each jump of the clock every session
 * at the provider is due: instances are killed while all tokens are used. Checks that each token works until its end and no longer.
 */
export async function runTokenSoak(soak: TokenSoak): Promise<void> {
  const { random, tally, say } = soak
  const closers: (() => Promise<void>)[] = []
  try {
    const clock = createMovedClock(join(soak.scratch, 'clock'))
    const postgres = await startPostgres({ durable: true })
    closers.push(() => postgres.close())
    const options = { tokenTtlSeconds: hourSeconds, runtime: clock.runtime }
    const provider = await startFaultyProvider(options, random.fork('faults'), tally)
    closers.push(() => provider.close())
    const baseUrl = `http://localhost:${await freePort()}`
    const database = await postgres.createDatabase()
    const settings = {
      ...soakSettings(baseUrl, provider, database),
      ACCESS_TOKEN_TTL: `${hourSeconds}s`,
      PERSONAL_TOKENS: 'on',
    }
    const startOne = async (name: string): Promise<Instance> => {
      const instance = await startInstance(name, { ...soak, settings, environment: clock.environment })
      closers.push(() => instance.stop())
      return instance
    }
    const instances = [await startOne('one'), await startOne('two'), await startOne('three')] as const
    const address = systemAddress(baseUrl, provider.origin, () => random.pick(instances).port)
    const system: TokenSystem = { soak, clock, address, instances }

    const accounts = Array.from({ length: soak.grants }, (_, index) => ({
      email: `user${index}@example.com`,
      password: `correct horse ${index}`,
    }))
    const tokens: PersonalToken[] = []
    const connections: Connection[] = []
    const plain = await registerPlainClient(address)
    await atOnce(peopleAtOnce, accounts, async (account) => {
      await provider.admin.createUser(account)
      const person = personOf(address, account)
      connections.push(await connect(person, plain, clock))
      for (const days of tokenDays) tokens.push(await makeToken(person, days, system))
    })
    const services: Service[] = []
    for (let number = 0; number < serviceCount; number += 1)
      services.push(await addService(number, settings, soak))
    say(`${tokens.length} personal tokens, ${connections.length} connections, ${services.length} services`)

    const store = openPostgresStore(database)
    closers.push(() => store.close())

    provider.admin.resetCounters()
    tally.add('provider refreshes answered', -tally.get('provider refreshes answered'))
    const began = clock.now()
    for (const moment of momentsOf(tokens, began, soak.days)) {
      clock.moveTo(moment)
      provider.setFaults(weather)
      await Promise.all([
        killSome(system),
        collect(store, system),
        ...tokens.map((token) => useToken(token, system)),
        ...connections.map((connection) => useConnection(connection, system)),
        ...services.map((service) => useService(service, system)),
      ])
      provider.setFaults({})
      say(`day ${((clock.now() - began) / daySeconds).toFixed(2)}`)
    }
    tally.add('days', Math.floor((clock.now() - began) / daySeconds))
    const { rotations } = provider.admin.counters
    tally.add('provider rotations', rotations)
    tally.add('replayed parents', tally.get('provider refreshes answered') - rotations)
    tally.add('reuse revocations', provider.admin.counters.reuseRevocations)
    checkLog(instances.flatMap(logLines), tally)
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? '') : String(error)
    tally.accuse('failures of the soak itself', text.slice(0, 2000))
  }
  closeConnections()
  for (const close of closers.toReversed()) {
    await close().catch((error: unknown) => tally.accuse('failures of the soak itself', String(error)))
  }
}

/** Returns when the clock stops: every `days` days, and shortly before and after tokens end. */
function momentsOf(tokens: readonly PersonalToken[], began: number, days: number): number[] {
  const ends = tokenDays.flatMap((count) => {
    const own = tokens.filter((token) => token.days === count)
    return [
      Math.min(...own.map(({ endsAt }) => endsAt)) - lastCallsSeconds,
      Math.max(...own.map(({ endedBy }) => endedBy)) + 1,
    ]
  })
  const steps = Array.from(
    { length: Math.floor(90 / days) },
    (_, step) => began + (step + 1) * days * daySeconds,
  )
  // Not where some tokens are over and others are not.
  const isClear = (moment: number): boolean =>
    tokens.every(({ endsAt, endedBy }) => moment < endsAt - 2 * lastCallsSeconds || moment > endedBy)
  return [...steps.filter(isClear), ...ends].sort((one, other) => one - other)
}

/** Deletes what has expired, as instances do once a minute: none of these lives that long. */
async function collect(store: Store, { clock, soak: { random, tally } }: TokenSystem): Promise<void> {
  await sleep(random.between(0, busyMs))
  try {
    for (let count = collectLimit; count === collectLimit; tally.add('rows collected', count))
      count = await store.collectExpired(clock.now(), collectLimit)
  } catch (error) {
    // An instance would try again in a minute.
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}

/** Kills one to three instances, while the first requests of the day are answered. */
async function killSome({ instances, soak: { random, tally } }: TokenSystem): Promise<void> {
  await Promise.all(
    instances.map(async (instance, index) => {
      if (index > 0 && random.chance(0.5)) return
      await sleep(random.between(0, busyMs))
      const victim = index > 0 ? instance : random.pick(instances)
      victim.kill('SIGKILL', random.between(0, 500))
      tally.add('kills')
    }),
  )
}

/** Returns the figures of a soak of tokens of `people` that took `seconds`. */
export function tokenSoakFigures(tally: Tally, people: number, seconds: number): (AreaFigure & Figure)[] {
  const figures = [
    reported('duration', seconds, 's'),
    atLeast(90, 'days', tally.get('days')),
    atLeast(people * tokenDays.length, 'tokens made', tally.get('tokens made')),
    ...['token call 200', 'token call 401', 'token call 503', 'token call connection'].map((name) =>
      reported(name, tally.get(name)),
    ),
    ...['refresh 200', 'call 200', 'service token 200', 'service call 200'].map((name) =>
      atLeast(1, name, tally.get(name)),
    ),
    ...['service token 503', 'service token connection'].map((name) => reported(name, tally.get(name))),
    atLeast(people, 'sign-ins after thirty days', tally.get('sign-ins after thirty days')),
    reported('sign-ins repeated', tally.get('sign-ins repeated')),
    ...['kills', 'provider rotations', 'replayed parents', 'rows collected'].map((name) =>
      atLeast(1, name, tally.get(name)),
    ),
    ...[
      'wrong answers',
      'failed requests',
      'reuse revocations',
      'grants ended by the server',
      'grants lost',
      'services refused',
      'tokens lost',
      'tokens that outlived their end',
      'failures of the soak itself',
    ].map((name) => atMost(0, name, tally.get(name))),
    atLeast(
      people * tokenDays.length,
      'tokens that worked at their end',
      tally.get('tokens that worked at their end'),
    ),
    atLeast(
      people * tokenDays.length,
      'calls refused after the end',
      tally.get('calls refused after the end'),
    ),
  ]
  return figures.map((figure) => Object.assign(figure, { area: 'soak of tokens' }))
}
