import { type BarredFigure, reported } from '../figure.ts'
import type { Rounds } from '../rounds.ts'
import type { Subject } from './subject.ts'

/**
 * Returns a figure for each of `subjects`: the median of its rounds with their range, and for a peer the ratio of
 * Drawbridge to it in the same rounds. `ours` is the compared one. Subjects without measurements have no figure.
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
