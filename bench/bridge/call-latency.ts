import { quantile } from '../contest.ts'
import { atMost, type BarredFigure, reported } from '../figure.ts'
import { type CallGroup, direct } from './caller.ts'
import { createCpuMeter, cpuFigures } from './cpu-meter.ts'
import { createRounds, type Rounds, type Spread } from './rounds.ts'

const callsAtOnce = 100

interface Measured {
  group: CallGroup
  /** Of the hundred calls of a round, in milliseconds. */
  p50: Rounds
  p99: Rounds
}

/** How much longer a call takes through a bridge than without one, when there is one at a time. */
export async function measureLatency(groups: readonly CallGroup[], rounds: number): Promise<BarredFigure[]> {
  const measured = groups.map((group) => ({ group, p50: createRounds(), p99: createRounds() }))
  const cpu = createCpuMeter(groups.flatMap(({ callers }) => callers))
  for (let round = 0; round < rounds; round += 1) {
    for (const each of measured) await measureRound(each)
  }
  return measured.flatMap((each) => figuresOf(each, (name) => cpu.microseconds(name, rounds * callsAtOnce)))
}

async function measureRound({ group, p50, p99 }: Measured): Promise<void> {
  for (const { name, echo } of group.callers) {
    await group.attempt(name, async () => {
      const times = new Float64Array(callsAtOnce)
      for (let call = 0; call < callsAtOnce; call += 1) {
        const begin = performance.now()
        await echo()
        times[call] = performance.now() - begin
      }
      times.sort()
      p50.add(name, quantile(times, 0.5))
      p99.add(name, quantile(times, 0.99))
    })
  }
  p50.next()
  p99.next()
}

function figuresOf({ group, p50, p99 }: Measured, cpuOf: (name: string) => number): BarredFigure[] {
  const { area, on, callers, ours, reference } = group
  const title = 'added to a call'
  const added = (name: string): Spread => p50.difference(name, direct)
  const timesReference = added(ours).value / added(reference).value
  return [
    reported({ area, name: `a call, direct, ${on}`, ...p50.of(direct), unit: 'ms' }),
    atMost(0.15, { area, name: `${title}, p50, ${on}`, ...added(ours), unit: 'ms' }),
    atMost(1, { area, name: `${title}, p99, ${on}`, ...p99.difference(ours, direct), unit: 'ms' }),
    atMost(0.15, { area, name: `${title}, p50, times ${reference}, ${on}`, value: timesReference, unit: '' }),
    ...callers.flatMap(({ name, kind }) => {
      if (kind === 'direct') return []
      return reported({
        area,
        name: `${title}, p50, ${name}, ${on}`,
        ...added(name),
        unit: 'ms',
        ...(kind === 'peer' && { peer: name, ratio: added(ours).value / added(name).value }),
      })
    }),
    ...cpuFigures(group, 'CPU per call, one at a time', cpuOf),
  ]
}
