import { describe, expect, it } from 'vitest'
import {
  atLeast,
  atMost,
  type BarredFigure,
  figureJson,
  figureTable,
  notMeasured,
  reported,
} from './figure.ts'

const measured = (value: number) => ({ area: 'refresh', name: 'CPU', value, unit: 'us' })

describe('figures', () => {
  it.each<[figure: BarredFigure, ok: boolean]>([
    [atMost(200, measured(200)), true],
    [atMost(200, measured(200.1)), false],
    [atMost(200, measured(Number.NaN)), false],
    [atLeast(200, measured(200)), true],
    [atLeast(200, measured(199.9)), false],
    [atLeast(200, measured(Number.NaN)), false],
    [reported(measured(1e9)), true],
  ])('%o', (figure, ok) => {
    expect(figure.ok).toBe(ok)
  })

  it('the JSON has the members that are promised and no others', () => {
    const figures = [
      atMost(200, { ...measured(123.456), peer: 'other', ratio: 0.51234 }),
      reported({ ...measured(0.012345), low: 0.011111, high: 1234.5 }),
      notMeasured({ area: 'refresh', name: 'CPU', reason: 'no CPU' }),
    ]
    expect(JSON.parse(figureJson(figures))).toEqual([
      {
        area: 'refresh',
        name: 'CPU',
        value: 123,
        unit: 'us',
        bar: 200,
        ok: true,
        peer: 'other',
        ratio: 0.512,
      },
      {
        area: 'refresh',
        name: 'CPU',
        value: 0.0123,
        unit: 'us',
        bar: null,
        ok: true,
        low: 0.0111,
        high: 1235,
      },
      { area: 'refresh', name: 'CPU', value: null, unit: '', bar: null, ok: false, reason: 'no CPU' },
    ])
  })

  it('the table says which bar was missed, and what is not there', () => {
    const table = figureTable([
      atMost(200, measured(300)),
      atLeast(200, { ...measured(300), low: 299.6, high: 400 }),
      reported({ ...measured(300), peer: 'other', ratio: 0.5 }),
      notMeasured({ area: 'refresh', name: 'CPU', reason: 'no CPU' }),
      atMost(200, { ...measured(Number.NaN), low: Number.NaN, high: Number.NaN }),
    ])
    expect(table.split('\n').slice(2)).toEqual([
      'refresh  CPU     300 us               <= 200 us  MISSED',
      'refresh  CPU     300 us (300 to 400)  >= 200 us  ok',
      'refresh  CPU     300 us                                  0.5x other',
      'refresh  CPU     not measured                    MISSED  no CPU',
      'refresh  CPU     not measured         <= 200 us  MISSED',
    ])
  })
})
