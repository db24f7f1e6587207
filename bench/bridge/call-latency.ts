import { atMost, type BarredFigure, quantity, reported } from '../figure.ts'
import { type CallGroup, direct, lineOf } from './caller.ts'
import { createCpuMeter, cpuFigures } from './cpu-meter.ts'
import { createRounds, quantile, type Rounds, type Spread } from '../rounds.ts'

const callsAtOnce = 100
const title = 'added to a call'

interface Measured {
  group: CallGroup
  /** Median of the hundred calls of a round, in milliseconds. */
  p50: Rounds
  p99: Rounds
}

/**
 * Measures how much longer a single call takes through a bridge than without one, over the first thousands of calls.
 */
export async function measureLatency(groups: readonly CallGroup[], rounds: number): Promise<BarredFigure[]> {
  const cpu = createCpuMeter(groups.flatMap(({ callers }) => callers))
  const measured = groups.map((group) => ({ group, p50: createRounds(), p99: createRounds() }))
  for (let round = 0; round < rounds; round += 1) {
    for (const each of measured) await measureRound(each)
  }
  const cpuOf = (name: string): number => cpu.microseconds(name, rounds * callsAtOnce)
  return measured.flatMap((each) => latencyFigures(each, cpuOf))
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

function latencyFigures({ group, p50, p99 }: Measured, cpuOf: (name: string) => number): BarredFigure[] {
  return [
    reported({ area: group.area, name: `a call, direct, ${group.on}`, ...p50.of(direct), unit: 'ms' }),
    ...tailFigures(group, p99),
    ratioBar(group, p50),
    ...addedFigures(group, p50),
    ...cpuFigures(group, 'CPU per call, one at a time', cpuOf),
  ]
}

function tailFigures({ area, on, ours }: CallGroup, p99: Rounds): BarredFigure[] {
  return [reported({ area, name: `${title}, p99, ${on}`, ...p99.difference(ours, direct), unit: 'ms' })]
}

function ratioBar(group: CallGroup, p50: Rounds): BarredFigure {
  const { area, on, ours, reference } = group
  const added = (name: string): number => p50.difference(name, direct).value
  return atMost(0.35, {
    area,
    name: `${title}, p50, times ${reference}, ${on}`,
    value: added(ours) / added(reference),
    unit: 'x',
    line: lineOf(group, title, (name) => quantity(added(name), 'ms')),
  })
}

function addedFigures({ area, on, callers, ours }: CallGroup, p50: Rounds): BarredFigure[] {
  const added = (name: string): Spread => p50.difference(name, direct)
  return callers.flatMap(({ name, kind }) => {
    if (kind === 'direct') return []
    return reported({
      area,
      name: `${title}, p50, ${name}, ${on}`,
      ...added(name),
      unit: 'ms',
      ...(kind === 'peer' && { peer: name, ratio: added(ours).value / added(name).value }),
    })
  })
}
