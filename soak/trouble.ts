import { setTimeout as sleep } from 'node:timers/promises'
import { planPhases } from './faults.ts'
import type { Instance } from './instances.ts'
import type { Random } from './random.ts'
import type { Soak, World } from './soak.ts'

const killEveryMs = 3000

/** The targets of the faults, which last until `end`, in milliseconds since the epoch. */
interface Victims extends Pick<World, 'provider' | 'postgres'> {
  instances: readonly [Instance, ...Instance[]]
  end: number
}

/**
 * Injects faults until the end and leaves everything running and calm: faults at the provider in phases, an instance
 * killed or told to exit every few seconds, and two database outages, one by a shutdown and one by SIGKILL.
 */
export async function makeTrouble(victims: Victims, soak: Soak): Promise<void> {
  const random = soak.random.fork('trouble')
  await Promise.all([
    faultAtProvider(victims, random.fork('provider'), soak),
    killInstances(victims, random.fork('kills')),
    takeDatabaseAway(victims, random.fork('database'), soak),
  ])
}

async function faultAtProvider({ provider }: Victims, random: Random, { seconds, say }: Soak): Promise<void> {
  for (const { name, seconds: length, mix } of planPhases(seconds, random)) {
    say(`provider: ${name} for ${length} s`)
    provider.setFaults(mix)
    await sleep(length * 1000)
  }
  provider.setFaults({})
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
export async function killAgainAndAgain(instance: Instance, end: number): Promise<void> {
  for (;;) {
    await sleep(killEveryMs)
    if (Date.now() >= end) return
    instance.kill('SIGKILL', 0)
    await instance.restarted()
  }
}
