import { type BarredFigure, reported } from '../figure.ts'
import type { Rounds } from './rounds.ts'
import type { Subject } from './subject.ts'

/**
 * A figure for each of `subjects`: the middle of its rounds with their range; beside a peer, what Drawbridge takes of
 * that in the same rounds. `ours` is the one that is compared. Whoever was never measured has no figure here.
 */
export function roundFigures(
  rounds: Rounds,
  subjects: readonly Pick<Subject, 'name' | 'kind'>[],
  {
    area,
    title,
    unit,
    ours,
    on,
  }: { area: string; title: string; unit: string; ours: string; /** Which Node. */ on: string },
): BarredFigure[] {
  return subjects.flatMap(({ name, kind }) => {
    const spread = rounds.of(name)
    if (Number.isNaN(spread.value)) return []
    return reported({
      area,
      name: `${title}, ${name}, ${on}`,
      ...spread,
      unit,
      ...(kind === 'peer' && { peer: name, ratio: rounds.ratio(ours, name).value }),
    })
  })
}
