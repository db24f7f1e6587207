import { type AreaFigure, atLeast, atMost, reported } from '../bench/figure.ts'

/** Cases that must not happen, in the words of the report. */
const accusations = [
  'wrong answers',
  'failed requests',
  'races with several answers',
  'refreshes at once',
  'reuse revocations',
  'grants ended by the server',
  'grants lost',
  'services refused',
  'tokens lost',
  'tokens that outlived their end',
  'failures of the soak itself',
] as const

export type Accusation = (typeof accusations)[number]

/** Counts events by name. */
export interface Tally {
  add(name: string, count?: number): void
  get(name: string): number
  /** Records a case that must not happen, with details for an investigation, of which it keeps the start. Never a token. */
  accuse(name: Accusation, detail: string): void
  /** Returns the names of what was counted, sorted. */
  names(): string[]
  /** Returns the first accusations of each kind, as sentences. */
  accusations(): readonly string[]
}

const maxOfAKind = 5
const maxDetail = 2000

export function createTally(): Tally {
  const counts = new Map<string, number>()
  const sentences: string[] = []
  const tally: Tally = {
    add: (name, count = 1) => void counts.set(name, tally.get(name) + count),
    get: (name) => counts.get(name) ?? 0,
    accuse(name, detail) {
      tally.add(name)
      if (tally.get(name) <= maxOfAKind)
        sentences.push(`${new Date().toISOString()} ${name}: ${detail.slice(0, maxDetail)}`)
    },
    names: () => [...counts.keys()].sort(),
    accusations: () => sentences,
  }
  return tally
}

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
