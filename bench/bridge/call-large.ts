import { setTimeout as pause } from 'node:timers/promises'
import { atMost, type BarredFigure, quantity, reported } from '../figure.ts'
import { type CallGroup, direct, lineOf, megabytes } from './caller.ts'
import { roundFigures } from './round-figures.ts'
import { createRounds, type Rounds } from '../rounds.ts'
import { floor } from './subject.ts'

const settleMs = 100

/**
 * Measures the time of a large result, and the peak memory of a bridge up to then; use bridges that have done nothing
 * else.
 */
export async function measureLarge(group: CallGroup, rounds: number): Promise<BarredFigure[]> {
  const { area, on, callers, ours } = group
  // The first round grows buffers and heaps.
  await measureRound(group, createRounds())
  const times = createRounds()
  for (let round = 0; round < rounds; round += 1) await measureRound(group, times)
  const title = `${megabytes} MB result`
  const bridges = callers.flatMap(({ name, kind, client }) =>
    kind === 'direct' || client === undefined ? [] : { name, kind, client },
  )
  const peakOf = (wanted: string): number =>
    (bridges.find(({ name }) => name === wanted)?.client.peakMemoryBytes() ?? Number.NaN) / 1e6
  return [
    reported({ area, name: `${title}, direct, ${on}`, ...times.of(direct), unit: 'ms' }),
    atMost(1.5, {
      area,
      name: `${title}, times direct, ${on}`,
      ...times.ratio(ours, direct),
      unit: 'x',
      line: lineOf(group, title, (name) => quantity(times.of(name).value, 'ms')),
    }),
    atMost(150, {
      area,
      name: `${title}, peak memory, ${on}`,
      value: peakOf(ours),
      unit: 'MB',
      line: lineOf(group, `${title}, memory`, (name) => quantity(peakOf(name), 'MB')),
    }),
    reported({
      area,
      name: `${title}, ${floor}, times direct, ${on}`,
      ...times.ratio(floor, direct),
      unit: '',
    }),
    ...roundFigures(times, bridges, { area, title, unit: 'ms', ours, on }),
    ...bridges.map(({ name, kind }) =>
      reported({
        area,
        name: `${title}, peak memory, ${name}, ${on}`,
        value: peakOf(name),
        unit: 'MB',
        ...(kind === 'peer' && { peer: name, ratio: peakOf(ours) / peakOf(name) }),
      }),
    ),
  ]
}

async function measureRound({ callers, attempt }: CallGroup, times: Rounds): Promise<void> {
  for (const { name, large } of callers) {
    await attempt(name, async () => {
      // Garbage collectors of the previous bridges are still running, and processors are few.
      await pause(settleMs)
      const begin = performance.now()
      await large()
      times.add(name, performance.now() - begin)
    })
  }
  times.next()
}
