import { type AreaFigure, atLeast, atMost, reported } from '../bench/figure.ts'
import { accusations, type Tally } from './tally.ts'

/**
 * Returns the figures of a soak: everything that was counted. `least` are counts without which it proves nothing, and what is an
 * accusation must not have happened.
 */
export function soakFigures(
  area: string,
  tally: Tally,
  least: Readonly<Record<string, number>>,
  seconds: number,
): AreaFigure[] {
  const judged = new Set([...Object.keys(least), ...accusations])
  const figures = [
    reported('duration', seconds, 's'),
    ...tally
      .names()
      .filter((name) => !judged.has(name))
      .map((name) => reported(name, tally.get(name))),
    ...Object.entries(least).map(([name, bar]) => atLeast(bar, name, tally.get(name))),
    ...accusations.map((name) => atMost(0, name, tally.get(name))),
  ]
  return figures.map((figure) => Object.assign(figure, { area }))
}
