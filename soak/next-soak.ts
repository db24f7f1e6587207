import { setTimeout as sleep } from 'node:timers/promises'
import { type AreaFigure, atLeast, atMost, type Figure, reported } from '../bench/figure.ts'
import { type NextServer, startNextServer } from '../tests/peers/hosts/host-app.ts'
import { freePort } from '../tests/support/server/free-port.ts'
import { startPgbouncer } from '../tests/support/server/pgbouncer.ts'
import { startPostgres } from '../tests/support/server/postgres-server.ts'
import { startFaultyProvider } from './faulty-provider.ts'
import { closeConnections } from './http.ts'
import { jsonLines } from './instances.ts'
import { checkLog, providerTokenSeconds, signInAll, type Soak, soakSettings, verifyAll } from './soak.ts'
import type { Tally } from './tally.ts'

const killEveryMs = 3000
/** A process that has just started serves less than three processes that stay. */
const pace = 3
/** Longer than lost answers are repeated: a repeated request gets the tokens of the first one for as long as they are good. */
const accessTokenTtl = '10m'

/**
 * Signs in, kills `next start` every three seconds while clients work, and checks at the end that every connection works. The only
 * store is a schema of a Postgres behind PgBouncer in transaction mode.
 */
export async function runNextSoak(soak: Soak): Promise<void> {
  const { tally, say } = soak
  const closers: (() => Promise<unknown>)[] = []
  try {
    const postgres = await startPostgres({ durable: true })
    closers.push(() => postgres.close())
    const pooler = await startPgbouncer(postgres.url('postgres'), { connections: 10 })
    closers.push(() => pooler.close())
    const options = { tokenTtlSeconds: providerTokenSeconds }
    const provider = await startFaultyProvider(options, soak.random.fork('faults'), tally)
    closers.push(() => provider.close())
    const port = await freePort()
    const baseUrl = `http://localhost:${port}`
    const store = `${pooler.url(await postgres.createDatabase())}&schema=drawbridge`
    const settings = { ...soakSettings(baseUrl, provider, store), ACCESS_TOKEN_TTL: accessTokenTtl }
    let next = await startNextServer(port, settings)
    closers.push(() => next.end('SIGKILL'))
    say(`signing in ${soak.grants} times`)
    const clients = await signInAll({ ...soak, pace }, { baseUrl, anyPort: () => port, provider })
    say(`${clients.length} connections are at work for ${soak.seconds} s`)
    provider.admin.resetCounters()
    const end = Date.now() + soak.seconds * 1000

    /** Kills the process and starts the next one, as a platform does. */
    async function killAgainAndAgain(): Promise<void> {
      for (;;) {
        await sleep(killEveryMs)
        if (Date.now() >= end) return
        await next.end('SIGKILL')
        checkOutput(next, tally)
        tally.add('kills')
        next = await startNextServer(port, settings)
      }
    }

    await Promise.all([killAgainAndAgain(), ...clients.map((client) => client.run(end))])
    await verifyAll(clients, soak)
    tally.add('provider rotations', provider.admin.counters.rotations)
    checkOutput(next, tally)
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? '') : String(error)
    tally.accuse('failures of the soak itself', text.slice(0, 2000))
  }
  closeConnections()
  for (const close of closers.toReversed()) {
    await close().catch((error: unknown) => tally.accuse('failures of the soak itself', String(error)))
  }
}

function checkOutput(next: NextServer, tally: Tally): void {
  checkLog(jsonLines(next.output()), tally)
}

/** Returns the figures of a soak of `grants` connections that took `seconds`. */
export function nextSoakFigures(tally: Tally, grants: number, seconds: number): (AreaFigure & Figure)[] {
  const figures = [
    reported('duration', seconds, 's'),
    atLeast(grants, 'sign-ins', tally.get('sign-ins')),
    ...['call 200', 'call 401', 'call 503', 'call connection', 'refresh 200', 'refresh 503'].map((name) =>
      reported(name, tally.get(name)),
    ),
    ...['kills', 'races', 'provider rotations'].map((name) => atLeast(1, name, tally.get(name))),
    ...[
      'wrong answers',
      'failed requests',
      'reuse revocations',
      'grants ended by the server',
      'grants lost',
    ].map((name) => atMost(0, name, tally.get(name))),
    atMost(0, 'failures of the soak itself', tally.get('failures of the soak itself')),
    atLeast(grants, 'grants that work at the end', tally.get('grants that work at the end')),
  ]
  return figures.map((figure) => Object.assign(figure, { area: 'soak in Next.js' }))
}
