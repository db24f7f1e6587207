import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import {
  type Accent,
  isTextColour,
  mix,
  type Mode,
  neutralAccent,
  pageGround,
  panelOf,
  textOn,
} from '../../core/accent.ts'
import { bridgeMark, iconOf, markIconUrl } from './drawings.ts'
import { style } from './style.ts'

/** The look of the pages, with the app's name, logo and colour: made once, and the same on every page. */
export interface Look {
  /** The line at the top: mark and name. */
  brand: SafeHtml
  /** Behind the title of each page: whose pages they are. */
  name: string
  iconUrl: string
  /** Whether pages have the drawing of a drawbridge. */
  hasScene: boolean
  /** Colours of what browsers draw around a page. */
  themeColours: Readonly<Record<Mode, string>>
  /** The stylesheet, as an element. */
  styleElement: SafeHtml
  /** The source that allows it in a Content-Security-Policy. */
  styleSource: string
}

export interface LookSettings {
  appName: string
  /** The logo as a data URL. */
  logoUrl?: string | undefined
  appAccent?: Accent | undefined
}

/**
 * Makes the look. An app with a logo or an accent has pages of its own, without any sign of Drawbridge: every colour follows the accent,
 * or is grey without one. Does not check the contrast of the accent: `parseAccent` has.
 */
export function createLook({ appName, logoUrl, appAccent }: LookSettings): Look {
  const accent = appAccent ?? (logoUrl === undefined ? undefined : neutralAccent)
  const sheet = accent === undefined ? style : `${style}${accentStyle(accent)}`
  const common = {
    // In one piece, because the hash covers every character between the tags.
    styleElement: rawHtml(`<style>${sheet}</style>`),
    styleSource: `'sha256-${createHash('sha256').update(sheet).digest('base64')}'`,
  }
  if (accent === undefined) {
    return {
      ...common,
      brand: html`${bridgeMark}<span>Drawbridge</span>`,
      name: 'Drawbridge',
      iconUrl: markIconUrl,
      hasScene: true,
      themeColours: { light: '#10302d', dark: '#0b2421' },
    }
  }
  return {
    ...common,
    brand:
      logoUrl === undefined
        ? html`<bdi>${appName}</bdi>`
        : // The name is read once: it is the text of the logo.
          html`<img class="logo" src="${logoUrl}" alt="${appName}" /><bdi aria-hidden="true"
              >${appName}</bdi
            >`,
    name: appName,
    iconUrl: logoUrl ?? iconOf(accent.light),
    hasScene: false,
    themeColours: { light: panelOf(accent, 'light').ground, dark: panelOf(accent, 'dark').ground },
  }
}

function accentStyle(accent: Accent): string {
  return `${accentRules(accent, 'light')}
@media (prefers-color-scheme: dark) {${accentRules(accent, 'dark')}}
`
}

/**
 * The accent is the colour of primary buttons and of what marks a choice or the focus, which `parseAccent` has checked; links have it in
 * a mode where it is dark or light enough for text, otherwise the colour of text. The dark side of the page is derived from it.
 */
function accentRules(accent: Accent, mode: Mode): string {
  const colour = accent[mode]
  const panel = panelOf(accent, mode)
  return `
:root {
  --accent: ${colour}; --on-accent: ${textOn(colour)}; --wash: ${mix(pageGround[mode], colour, 0.08)};
  --gate: ${panel.ground}; --gate-stone: ${panel.raised}; --gate-line: ${panel.line};
  --gate-text: ${panel.text}; --gate-quiet: ${panel.quiet}; --gate-bright: ${panel.bright};
}
.primary:hover { background: var(--accent); box-shadow: inset 0 0 0 2px var(--on-accent); }
.link, .link:hover { color: var(--${isTextColour(accent, mode) ? 'accent' : 'text'}); }
`
}
