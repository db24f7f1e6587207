import { expect, it, test } from 'vitest'
import {
  contrastOf,
  isTextColour,
  neutralAccent,
  pageGround,
  panelOf,
  parseAccent,
  textOn,
} from './accent.ts'

test.each([
  ['#2563eb', { light: '#2563eb', dark: '#2563eb' }],
  ['#6D28D9', { light: '#6d28d9', dark: '#9969e4' }],
  ['#c4b5fd', { light: '#766d98', dark: '#c4b5fd' }],
])('parseAccent takes %s, lighter or darker where it would not stand out', (text, accent) => {
  expect(parseAccent(text)).toEqual(accent)
})

test.each(['', 'violet', '#62d', '6d28d9', '#6d28d9ff', '#6d28d9,', '#6d28d9,#c4b5fd', '#6d28d9;}x{'])(
  'parseAccent refuses %j',
  (text) => {
    expect(() => parseAccent(text)).toThrow('expected a colour such as #6d28d9')
  },
)

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

it('WCAG 1.4.11: every accent has 3:1 to the page in both modes, and its text where it was changed 4.5:1', () => {
  for (const colour of colours) {
    const accent = parseAccent(colour)
    for (const mode of ['light', 'dark'] as const) {
      const contrast = contrastOf(accent[mode], pageGround[mode])
      expect(contrast, `${colour} in ${mode} mode`).toBeGreaterThanOrEqual(accent[mode] === colour ? 3 : 4.5)
    }
  }
})

it('the grey of an app without an accent stands out, and may be the colour of links', () => {
  expect(isTextColour(neutralAccent, 'light') && isTextColour(neutralAccent, 'dark')).toBe(true)
})

it('WCAG 1.4.3: text on a button is black or white, and has 4.5:1 on every colour', () => {
  expect(Math.min(...colours.map((colour) => contrastOf(colour, textOn(colour))))).toBeGreaterThan(4.5)
  expect([textOn('#6d28d9'), textOn('#c4b5fd')]).toEqual(['#ffffff', '#000000'])
})

test('links have the accent only where text may have it', () => {
  const accent = { light: '#e5484d', dark: '#c4b5fd' }
  expect([isTextColour(accent, 'light'), isTextColour(accent, 'dark')]).toEqual([false, true])
})

test('contrast is computed as WCAG does', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrastOf('#0000ff', '#ff0000')).toBeCloseTo(2.15, 2)
})
