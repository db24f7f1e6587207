/** One measured value and the bar it has to reach, in the form that every measuring command writes with `--json`. */
export interface Figure {
  area: string
  name: string
  value: number
  unit: string
  /** What `value` is held against; null for what is only reported. */
  bar: number | null
  ok: boolean
  /** What else was measured in the same run, and our value divided by its value. */
  peer?: string
  ratio?: number
  /** The smallest and the largest of what `value` is the middle of. */
  low?: number
  high?: number
  /** Why there is no value; it is NaN then, which is null in JSON. */
  reason?: string
}

/** A {@link Figure} and which side of the bar is good. */
export interface BarredFigure extends Figure {
  goal: 'at_most' | 'at_least' | 'none'
}

type Measurement = Omit<Figure, 'bar' | 'ok' | 'reason'>

/** A value that must not be above `bar`. */
export function atMost(bar: number, measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar: threeDigits(bar), ok: measured.value <= bar, goal: 'at_most' }
}

/** A value that must not be below `bar`. */
export function atLeast(bar: number, measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar, ok: measured.value >= bar, goal: 'at_least' }
}

/** A value that is reported and judged by nobody. */
export function reported(measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar: null, ok: true, goal: 'none' }
}

/** What could not be measured, and why. It counts as missed: nobody is to take it for well. */
export function notMeasured(about: Pick<Figure, 'area' | 'name'> & { reason: string }): BarredFigure {
  return { ...about, value: Number.NaN, unit: '', bar: null, ok: false, goal: 'none' }
}

/** `figures` as a table for people, one line each. */
export function figureTable(figures: readonly BarredFigure[]): string {
  const rows = figures.map((figure) => [
    figure.area,
    figure.name,
    valueText(figure),
    barText(figure),
    figure.ok ? (figure.goal === 'none' ? '' : 'ok') : 'MISSED',
    besideText(figure),
  ])
  return textTable(['area', 'figure', 'value', 'bar', '', 'beside'], rows)
}

/** `figures` as the text of a `--json` file. */
export function figureJson(figures: readonly BarredFigure[]): string {
  const plain = figures.map((figure) => ({ ...figure, goal: undefined }))
  return `${JSON.stringify(plain, undefined, 2)}\n`
}

/** Rows under a head, in columns as wide as they have to be. */
function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function valueText({ value, unit, low, high }: BarredFigure): string {
  if (Number.isNaN(value)) return 'not measured'
  const hasRange = low !== undefined && high !== undefined && low !== high
  return [value, unit, hasRange ? `(${low} to ${high})` : ''].filter((part) => part !== '').join(' ')
}

function besideText({ peer, ratio, reason = '' }: BarredFigure): string {
  return peer === undefined ? reason : `${ratio}x ${peer}`
}

function barText({ goal, bar, unit }: BarredFigure): string {
  switch (goal) {
    case 'at_most':
      return `<= ${bar} ${unit}`
    case 'at_least':
      return `>= ${bar} ${unit}`
    case 'none':
      return ''
  }
}

/** Three digits are more than such measurements can promise. */
function rounded(measured: Measurement): Measurement {
  const { value, ratio, low, high } = measured
  return {
    ...measured,
    value: threeDigits(value),
    ...(ratio !== undefined && { ratio: threeDigits(ratio) }),
    ...(low !== undefined && { low: threeDigits(low) }),
    ...(high !== undefined && { high: threeDigits(high) }),
  }
}

function threeDigits(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
