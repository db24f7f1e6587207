import { describe, expect, it, test } from 'vitest'
import {
  contrastOf,
  isTextColour,
  neutralAccent,
  pageGround,
  panelOf,
  parseAccent,
  textOn,
} from './accent.ts'

describe('parseAccent', () => {
  test.each([
    ['#2563eb', { light: '#2563eb', dark: '#2563eb' }],
    ['#6D28D9 , #c4b5fd', { light: '#6d28d9', dark: '#c4b5fd' }],
  ])('takes %s', (text, accent) => {
    expect(parseAccent(text)).toEqual(accent)
  })

  test.each(['', 'violet', '#62d', '6d28d9', '#6d28d9ff', '#6d28d9,', '#6d28d9,#c4b5fd,#fff', '#6d28d9;}x{'])(
    'refuses %j',
    (text) => {
      expect(() => parseAccent(text)).toThrow(
        /^expected a colour such as #6d28d9, or two for light and dark: /,
      )
    },
  )

  test.each([
    ['#6d28d9', 'in dark mode #6d28d9 has 2.5:1. Give two colours, a lighter one as the second, for dark,'],
    ['#c4b5fd', 'in light mode #c4b5fd has 1.8:1. Give two colours, a darker one as the first, for light,'],
    ['#6d28d9,#4b5563', 'in dark mode #4b5563 has 2.3:1. Give two colours, a lighter one as the second,'],
  ])('WCAG 1.4.11: %s does not stand out from the page, which is said with what to do', (text, said) => {
    expect(() => parseAccent(text)).toThrow(said)
  })

  it('does not round a contrast up to the required one', () => {
    expect(contrastOf('#959595', pageGround.light)).toBeGreaterThan(2.9)
    expect(() => parseAccent('#959595,#ffffff')).toThrow('#959595 has 2.9:1')
    expect(() => parseAccent('#939393,#ffffff')).not.toThrow()
  })
})

const steps = Array.from({ length: 16 }, (_, step) => (step * 17).toString(16).padStart(2, '0'))
const colours = steps.flatMap((red) =>
  steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)),
)

it.each(['light', 'dark'] as const)(
  'WCAG 1.4.3: every text on the panel has 4.5:1 to it in %s mode, whatever the accent, a button under the mouse too',
  (mode) => {
    for (const colour of colours) {
      const { ground, raised, text, quiet, bright } = panelOf({ light: colour, dark: colour }, mode)
      const pairs = [text, quiet, bright, '#ffd58a'].map((on) => contrastOf(on, ground))
      expect(Math.min(...pairs, contrastOf(text, raised)), colour).toBeGreaterThan(4.5)
    }
  },
)

it('the grey of an app without an accent stands out as an accent must', () => {
  expect(parseAccent(`${neutralAccent.light},${neutralAccent.dark}`)).toEqual(neutralAccent)
  expect(isTextColour(neutralAccent, 'light') && isTextColour(neutralAccent, 'dark')).toBe(true)
})

it('WCAG 1.4.3: text on a button is black or white, and has 4.5:1 on every colour', () => {
  expect(Math.min(...colours.map((colour) => contrastOf(colour, textOn(colour))))).toBeGreaterThan(4.5)
  expect([textOn('#6d28d9'), textOn('#c4b5fd')]).toEqual(['#ffffff', '#000000'])
})

test('links have the accent only where text may have it', () => {
  const accent = parseAccent('#e5484d,#c4b5fd')
  expect([isTextColour(accent, 'light'), isTextColour(accent, 'dark')]).toEqual([false, true])
})

test('computes the contrast as WCAG does', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrastOf('#0000ff', '#ff0000')).toBeCloseTo(2.15, 2)
})
