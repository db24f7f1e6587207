import { describe, expect, it } from 'vitest'
import { STYLE } from './style.ts'

type Palette = Map<string, string>

/** The custom properties of a block that hold a colour. */
function paletteOf(block: string): Palette {
  return new Map(
    [...block.matchAll(/--([\w-]+):(#[0-9a-f]{6}|#[0-9a-f]{3})\b/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  )
}

const [light = '', dark = ''] = [...STYLE.matchAll(/:root\{[^}]*\}/g)].map(([block]) => block)
const palettes = { light: paletteOf(light), dark: paletteOf(dark) }

/** Relative luminance (WCAG 2.2). */
function luminance(colour: string): number {
  const channels = colour.slice(1).match(/../g) ?? []
  const [r = 0, g = 0, b = 0] = channels.map((channel) => {
    const value = Number.parseInt(channel, 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(palette: Palette, one: string, two: string): number {
  const [high = 0, low = 0] = [one, two]
    .map((name) => luminance(palette.get(name) ?? expect.unreachable(`no colour ${name}`)))
    .toSorted((a, b) => b - a)
  return (high + 0.05) / (low + 0.05)
}

describe.each(['light', 'dark'] as const)('the %s palette', (name) => {
  const palette = palettes[name]

  it.each([
    ['ink', 'paper'],
    ['ink', 'card'],
    ['ink', 'wash'],
    ['soft', 'paper'],
    ['soft', 'card'],
    ['accent', 'paper'],
    ['accent', 'card'],
    ['accent', 'wash'],
    ['accent-hover', 'card'],
    ['on-accent', 'accent'],
    ['on-accent', 'accent-hover'],
    ['danger', 'card'],
    ['danger', 'danger-wash'],
  ])('shows %s on %s with the contrast of text (4.5)', (text, ground) => {
    expect(contrast(palette, text, ground)).toBeGreaterThanOrEqual(4.5)
  })

  it.each([
    ['field', 'paper'],
    ['field', 'card'],
    ['accent', 'paper'],
    ['accent', 'card'],
  ])('shows %s on %s with the contrast of a control or a focus ring (3)', (edge, ground) => {
    expect(contrast(palette, edge, ground)).toBeGreaterThanOrEqual(3)
  })
})

it('nothing of the style comes from elsewhere', () => {
  expect(STYLE).not.toMatch(/url\(|@import|@font-face/)
})

it('no focus ring is taken away', () => {
  expect(STYLE).toContain(':focus-visible{outline:3px solid var(--accent)')
  expect(STYLE).not.toMatch(/outline:\s*(none|0)/)
})
