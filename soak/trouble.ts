import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresServer } from '../tests/support/server/postgres-server.ts'
import { planPhases } from './faults.ts'
import type { FaultyProvider } from './faulty-provider.ts'
import type { Instance } from './instances.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'

/** The targets of the faults. */
export interface Victims {
  provider: FaultyProvider
  instances: readonly [Instance, ...Instance[]]
  postgres: PostgresServer
}

interface Trouble extends Victims {
  seconds: number
  tally: Tally
  say(text: string): void
}

/**
 * Injects faults for as long as `trouble` says and leaves everything running and calm: faults at the provider in phases,
 * an instance killed or told to exit every few seconds, and two database outages, one by a shutdown and one by SIGKILL.
 */
export async function makeTrouble(trouble: Trouble, random: Random): Promise<void> {
  await Promise.all([
    faultAtProvider(trouble, random.fork('provider')),
    killInstances(trouble, random.fork('kills')),
    takeDatabaseAway(trouble, random.fork('database')),
  ])
}

async function faultAtProvider({ seconds, provider, say }: Trouble, random: Random): Promise<void> {
  for (const { name, seconds: length, mix } of planPhases(seconds, random)) {
    say(`provider: ${name} for ${length} s`)
    provider.setFaults(mix)
    await sleep(length * 1000)
  }
  provider.setFaults({})
}

async function killInstances({ seconds, instances, tally }: Trouble, random: Random): Promise<void> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    await sleep(random.between(2000, 8000))
    if (Date.now() >= end) return
    if (random.chance(0.2)) {
      random.pick(instances).kill('SIGTERM', 0)
      tally.add('updates')
      continue
    }
    const victims = random.chance(0.15) ? instances : [random.pick(instances)]
    for (const victim of victims) {
      victim.kill('SIGKILL', random.between(0, 3000))
      tally.add('kills')
    }
  }
}

async function takeDatabaseAway({ seconds, postgres, tally, say }: Trouble, random: Random): Promise<void> {
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
