import type { Rounds, Spread } from './rounds.ts'

/** One measured value and its bar, in the format that every measuring command writes with `--json`. */
export interface Figure {
  name: string
  value: number
  unit: string
  /** The bar for `value`; null for values that are only reported. */
  bar: number | null
  ok: boolean
  /** The direction of the bar. */
  goal?: '<=' | '>='
  /** A peer measured in the same run, and our value divided by its value. */
  peer?: string
  ratio?: number
  /** Minimum and maximum of the values whose median is `value`. */
  low?: number
  high?: number
  /** Reason for a missing value; it is NaN then, which is null in JSON. */
  reason?: string
}

/** A {@link Figure}, and what it belongs to. */
export interface AreaFigure extends Figure {
  area: string
}

/** Requires a value not above `bar`. */
export function atMost(bar: number, name: string, value: number | Spread, unit = ''): Figure {
  const figure = reported(name, value, unit)
  return { ...figure, bar: threeDigits(bar), ok: spread(value).value <= bar, goal: '<=' }
}

/** Requires a value not below `bar`. */
export function atLeast(bar: number, name: string, value: number | Spread, unit = ''): Figure {
  const figure = reported(name, value, unit)
  return { ...figure, bar: threeDigits(bar), ok: spread(value).value >= bar, goal: '>=' }
}

/** Reports a value without a bar. */
export function reported(name: string, value: number | Spread, unit = ''): Figure {
  const rounded = Object.entries(spread(value)).map(([key, number]) => [key, threeDigits(number)])
  return { name, ...(Object.fromEntries(rounded) as Spread), unit, bar: null, ok: true }
}

/** Reports a missing value with its reason. Counts as missed, so that it is not mistaken for a success. */
export function notMeasured(name: string, reason: string): Figure {
  return { name, reason, value: Number.NaN, unit: '', bar: null, ok: false }
}

/** Reports `ours` and each of `others`, with the ratio of `ours` to it in the same rounds. */
export function listed(
  rounds: Rounds,
  title: string,
  unit: string,
  [ours = '', ...others]: readonly string[],
): Figure[] {
  return [
    reported(`${title}, ${ours}`, rounds.of(ours), unit),
    ...others.map((peer) => ({
      ...reported(`${title}, ${peer}`, rounds.of(peer), unit),
      peer,
      ratio: threeDigits(rounds.ratio(ours, peer).value),
    })),
  ]
}

/** Requires that the value of `ours` is at most `bar` times that of `peer`, and lists both. */
export function compared(
  rounds: Rounds,
  title: string,
  unit: string,
  { ours, peer, bar }: { ours: string; peer: string; bar: number },
): Figure[] {
  return [
    atMost(bar, `${title}, ${ours}, times ${peer}`, rounds.ratio(ours, peer), 'x'),
    ...listed(rounds, title, unit, [ours, peer]),
  ]
}

/** Formats the figures of one or more areas as a table for display, one line each. */
export function figureTable(figures: readonly AreaFigure[]): string {
  const rows = figures.map((figure) => [
    figure.area,
    figure.name,
    valueText(figure),
    figure.goal === undefined ? '' : `${figure.goal} ${figure.bar} ${figure.unit}`.trim(),
    figure.ok ? (figure.goal === undefined ? '' : 'ok') : 'MISSED',
    figure.reason ?? (figure.peer === undefined ? '' : `${figure.ratio}x ${figure.peer}`),
  ])
  const all = [['area', 'figure', 'value', 'bar', '', 'peer'], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** Formats figures as the text of a `--json` file. */
export function figureJson(figures: readonly AreaFigure[]): string {
  return `${JSON.stringify(figures, undefined, 2)}\n`
}

function valueText({ value, unit, low, high }: Figure): string {
  if (Number.isNaN(value)) return 'not measured'
  return [value, unit, low === high ? '' : `(${low} to ${high})`].filter((part) => part !== '').join(' ')
}

function spread(value: number | Spread): Partial<Spread> & { value: number } {
  return typeof value === 'number' ? { value } : value
}

/** Rounds to three digits, the limit of such measurements. */
function threeDigits(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
