import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import { type Accent, isTextColour, type Mode, textOn } from '../../core/accent.ts'
import { bridgeMark } from './drawings.ts'
import { style } from './style.ts'

/** What the app's own look makes of the pages: made once, and the same on every page. */
export interface Look {
  /** The line at the top: mark and name. */
  brand: SafeHtml
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

/** Makes the look. Does not check the contrast of the accent: `parseAccent` has. */
export function createLook({ appName, logoUrl, appAccent }: LookSettings): Look {
  const sheet = appAccent === undefined ? style : `${style}${accentStyle(appAccent)}`
  return {
    // The name is read once: it is the text of the logo.
    brand:
      logoUrl === undefined
        ? html`${bridgeMark}<span>Drawbridge</span>`
        : html`<img class="logo" src="${logoUrl}" alt="${appName}" /><bdi aria-hidden="true"
              >${appName}</bdi
            >`,
    // In one piece, because the hash covers every character between the tags.
    styleElement: rawHtml(`<style>${sheet}</style>`),
    styleSource: `'sha256-${createHash('sha256').update(sheet).digest('base64')}'`,
  }
}

function accentStyle(accent: Accent): string {
  return `${accentRules(accent, 'light')}
@media (prefers-color-scheme: dark) {${accentRules(accent, 'dark')}}
`
}

/**
 * The accent is the colour of primary buttons and of what marks a choice or the focus, which `parseAccent` has checked; links have it in
 * a mode where it is dark or light enough for text, otherwise the colour of text.
 */
function accentRules(accent: Accent, mode: Mode): string {
  return `
:root { --accent: ${accent[mode]}; --on-accent: ${textOn(accent[mode])}; }
.primary:hover { background: var(--accent); box-shadow: inset 0 0 0 2px var(--on-accent); }
.link, .link:hover { color: var(--${isTextColour(accent, mode) ? 'accent' : 'text'}); }
`
}
