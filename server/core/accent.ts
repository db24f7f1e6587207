/** The app's colour on the pages, as # and six hex digits, in light and in dark mode. */
export type Accent = Readonly<Record<Mode, string>>

export type Mode = 'light' | 'dark'

/** The background of the pages' buttons and links. */
export const pageGround: Accent = { light: '#fcfdfc', dark: '#131918' }

/** Minimum contrast of a button and the page behind it (WCAG 2.2, 1.4.11). */
const minButtonContrast = 3
/** Minimum contrast of text (WCAG 2.2, 1.4.3). */
const minTextContrast = 4.5

/** Reads a colour. In a mode whose page it does not stand out from, it is made darker or lighter. */
export function parseAccent(text: string): Accent {
  const colour = text.toLowerCase()
  if (!/^#[\da-f]{6}$/.test(colour)) throw new TypeError('expected a colour such as #6d28d9')
  return {
    light: standingOut(colour, 'light', '#000000'),
    dark: standingOut(colour, 'dark', '#ffffff'),
  }
}

function standingOut(colour: string, mode: Mode, added: string): string {
  const contrast = (mixed: string): number => contrastOf(mixed, pageGround[mode])
  return contrast(colour) >= minButtonContrast
    ? colour
    : mixedUntil(colour, added, (mixed) => contrast(mixed) >= minTextContrast)
}

/** The colour of the pages of an app that has a logo and no accent. */
export const neutralAccent: Accent = { light: '#374151', dark: '#d1d5db' }

/** The colours of the dark side of a page. Text, large text and drawings contrast at least 4.5:1 with each background. */
export interface Panel {
  ground: string
  /** A button under the mouse. */
  raised: string
  line: string
  text: string
  quiet: string
  /** Addresses, marks and the focus. */
  bright: string
}

/** Contrast of white and the panel, which leaves room for quieter text. */
const minPanelContrast = { light: 13, dark: 15 }
const minBrightContrast = 9

/** Derives the panel from the accent of the light mode, the stronger of the two; a little darker in dark mode. */
export function panelOf({ light: accent }: Accent, mode: Mode): Panel {
  const ground = mixedUntil(
    accent,
    '#000000',
    (colour) => contrastOf(colour, '#ffffff') >= minPanelContrast[mode],
  )
  return {
    ground,
    raised: mix(ground, '#ffffff', 0.1),
    line: mix(ground, '#ffffff', 0.2),
    text: mix('#ffffff', ground, 0.04),
    quiet: mix('#ffffff', ground, 0.28),
    bright: mixedUntil(accent, '#ffffff', (colour) => contrastOf(colour, ground) >= minBrightContrast),
  }
}

/** `share` of `other` in `colour`, from 0 to 1. */
export function mix(colour: string, other: string, share: number): string {
  const [own, added] = [channelsOf(colour), channelsOf(other)]
  const mixed = own.map((part, index) => Math.round(part + ((added[index] ?? 0) - part) * share))
  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** Adds just as much of `other` as it takes. All of it must be enough. */
function mixedUntil(colour: string, other: string, isEnough: (colour: string) => boolean): string {
  const steps = Array.from({ length: 50 }, (_, step) => mix(colour, other, step / 50))
  return steps.find(isEnough) ?? other
}

/** Black or white, whichever contrasts more: one of the two has at least 4.5:1 to every colour. */
export function textOn(colour: string): '#000000' | '#ffffff' {
  return contrastOf(colour, '#000000') > contrastOf(colour, '#ffffff') ? '#000000' : '#ffffff'
}

/** Returns whether text may have the accent. */
export function isTextColour(accent: Accent, mode: Mode): boolean {
  return contrastOf(accent[mode], pageGround[mode]) >= minTextContrast
}

/**
 * The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio").
 *
 * @internal
 */
export function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** WCAG 2.2, "relative luminance", of a colour. */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour)
    .map((part) => part / 255)
    .map((part) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Red, green and blue of a colour, from 0 to 255. */
function channelsOf(colour: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16))
}
