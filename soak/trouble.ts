import { setTimeout as sleep } from 'node:timers/promises'
import { weathers } from './faults.ts'
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
export async function killAgainAndAgain(instance: Instance, end: number): Promise<void> {
  for (;;) {
    await sleep(killEveryMs)
    if (Date.now() >= end) return
    instance.kill('SIGKILL', 0)
    await instance.restarted()
  }
}
