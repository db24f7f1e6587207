import { atLeast, type BarredFigure, quantity, reported } from '../figure.ts'
import { type Caller, type CallGroup, direct, lineOf } from './caller.ts'
import { createCpuMeter, cpuFigures } from './cpu-meter.ts'
import { roundFigures } from './round-figures.ts'
import { createRounds, type Rounds } from '../rounds.ts'

const width = 64
const callsPerRound = 1500

/** Measures calls per second with 64 always in flight. */
export async function measureThroughput(
  groups: readonly CallGroup[],
  rounds: number,
): Promise<BarredFigure[]> {
  const measured = groups.map((group) => ({ group, perSecond: createRounds() }))
  const cpu = createCpuMeter(groups.flatMap(({ callers }) => callers))
  for (let round = 0; round < rounds; round += 1) {
    for (const { group, perSecond } of measured) {
      for (const caller of group.callers) {
        await group.attempt(caller.name, async () => perSecond.add(caller.name, await callsPerSecond(caller)))
      }
      perSecond.next()
    }
  }
  return measured.flatMap(({ group, perSecond }) =>
    figuresOf(group, perSecond, (name) => cpu.microseconds(name, rounds * callsPerRound)),
  )
}

async function callsPerSecond({ echo }: Caller): Promise<number> {
  const begin = performance.now()
  let left = callsPerRound
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await echo()
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  return (callsPerRound / (performance.now() - begin)) * 1000
}

function figuresOf(group: CallGroup, perSecond: Rounds, cpuOf: (name: string) => number): BarredFigure[] {
  const { area, on, callers, ours, reference } = group
  const title = `${width} in flight`
  const bridges = callers.flatMap(({ name, kind }) => (kind === 'direct' ? [] : { name, kind }))
  // At least four times mcp-remote, and ahead of those that cannot sign in.
  const bars = [
    { peer: reference, bar: 4 },
    ...bridges
      .filter(
        ({ name, kind }) => kind === 'peer' && name !== reference && !Number.isNaN(perSecond.of(name).value),
      )
      .map(({ name }) => ({ peer: name, bar: 1 })),
  ]
  return [
    reported({ area, name: `${title}, direct, ${on}`, ...perSecond.of(direct), unit: '/s' }),
    reported({
      area,
      name: `${title}, best round, ${on}`,
      value: perSecond.of(ours).high,
      unit: '/s',
    }),
    ...bars.map(({ peer, bar }) =>
      atLeast(bar, {
        area,
        name: `${title}, times ${peer}, ${on}`,
        ...perSecond.ratio(ours, peer),
        unit: 'x',
        line: lineOf({ ...group, reference: peer }, title, (name) =>
          quantity(perSecond.of(name).value, '/s'),
        ),
      }),
    ),
    ...roundFigures(perSecond, bridges, { area, title, unit: '/s', ours, on }),
    ...cpuFigures(group, `CPU per call, ${title}`, cpuOf),
  ]
}
