/** One measured value and its bar, in the format that every measuring command writes with `--json`. */
export interface Figure {
  area: string
  name: string
  value: number
  unit: string
  /** The bar for `value`; null for values that are only reported. */
  bar: number | null
  ok: boolean
  /** A peer measured in the same run, and our value divided by its value. */
  peer?: string
  ratio?: number
  /** Minimum and maximum of the values whose median is `value`. */
  low?: number
  high?: number
  /** Reason for a missing value; it is NaN then, which is null in JSON. */
  reason?: string
  /** Set on the figures that decide about a path: its line of the table of verdicts. */
  line?: Line
}

/** What was measured of one path, as short texts. */
export interface Line {
  path: string
  ours: string
  /** The least that a Node program takes for it. */
  floor?: string
  /** The best of the peers that do the same. */
  peer?: string
}

/** A {@link Figure} with the direction of its bar. */
export interface BarredFigure extends Figure {
  goal: 'at_most' | 'at_least' | 'none'
}

type Measurement = Omit<Figure, 'bar' | 'ok' | 'reason'>

/** Requires a value not above `bar`. */
export function atMost(bar: number, measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar: threeDigits(bar), ok: measured.value <= bar, goal: 'at_most' }
}

/** Requires a value not below `bar`. */
export function atLeast(bar: number, measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar, ok: measured.value >= bar, goal: 'at_least' }
}

/** Reports a value without a bar. */
export function reported(measured: Measurement): BarredFigure {
  return { ...rounded(measured), bar: null, ok: true, goal: 'none' }
}

/** Reports a missing value with its reason. Counts as missed, so that it is not mistaken for a success. */
export function notMeasured(about: Pick<Figure, 'area' | 'name'> & { reason: string }): BarredFigure {
  return { ...about, value: Number.NaN, unit: '', bar: null, ok: false, goal: 'none' }
}

/** Formats figures as a table for display, one line each. */
export function figureTable(figures: readonly BarredFigure[]): string {
  const rows = figures.map((figure) => [
    figure.area,
    figure.name,
    valueText(figure),
    barText(figure),
    figure.ok ? (figure.goal === 'none' ? '' : 'ok') : 'MISSED',
    besideText(figure),
  ])
  return textTable(['area', 'figure', 'value', 'bar', '', 'peer'], rows)
}

/** Formats the paths that have a bar as a table for display, one line each. */
export function verdictTable(figures: readonly BarredFigure[]): string {
  const rows = figures.flatMap((figure) => {
    const { line, ok } = figure
    if (!line) return []
    const { path, ours, floor = '', peer = '' } = line
    return [[path, ours, floor, peer, `${valueText(figure)}, ${barText(figure)}`, ok ? 'ok' : 'MISSED']]
  })
  return textTable(['path', 'ours', 'floor', 'best peer', 'ratio and bar', 'verdict'], rows)
}

/** Formats a value with its unit, as in the tables. */
export function quantity(value: number, unit: string): string {
  return `${threeDigits(value)} ${unit}`
}

/** Formats figures as the text of a `--json` file. */
export function figureJson(figures: readonly BarredFigure[]): string {
  const plain = figures.map((figure) => ({ ...figure, goal: undefined }))
  return `${JSON.stringify(plain, undefined, 2)}\n`
}

/** Formats rows below a head, in columns as wide as necessary. */
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

/** Rounds to three digits, the limit of such measurements. */
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
