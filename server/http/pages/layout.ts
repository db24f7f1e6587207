import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import { bridgeMark, type BridgePosition, bridgeScene, iconUrl } from './drawings.ts'
import { style } from './style.ts'

// One piece, because the hash covers every character between the tags.
const styleElement = rawHtml(`<style>${style}</style>`)
const styleHash = createHash('sha256').update(style).digest('base64')

/** What a page loads from elsewhere: sources of a Content-Security-Policy. */
export interface PolicyOpening {
  script?: readonly string[]
  frame?: readonly string[]
  style?: readonly string[]
  connect?: readonly string[]
}

/**
 * The Content-Security-Policy of a page: one stylesheet known by its hash, the icon as a data URL, and of other places
 * only what `opening` names. It leaves `form-action` out on purpose: Chromium applies that to the whole redirect chain
 * after a form post and would block the way back to the client. Pages are safe without it because every untrusted text
 * is escaped.
 */
export function contentSecurityPolicy(opening: PolicyOpening = {}): string {
  const directives: readonly (readonly [name: string, sources: readonly string[]])[] = [
    ['default-src', ["'none'"]],
    ['script-src', opening.script ?? []],
    ['style-src', [`'sha256-${styleHash}'`, ...(opening.style ?? [])]],
    ['frame-src', opening.frame ?? []],
    ['connect-src', opening.connect ?? []],
    ['img-src', ['data:']],
    ['base-uri', ["'none'"]],
    ['frame-ancestors', ["'none'"]],
  ]
  return directives
    .filter(([, sources]) => sources.length > 0)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ')
}

/** The policy of every page that loads nothing from elsewhere. */
export const pageContentSecurityPolicy: string = contentSecurityPolicy()

/** The parts in which pages differ. */
export interface Layout {
  /** Names the page in the tab; escaped here. */
  title: string
  /** How the drawing stands: raised when the way is barred, lowering while it is being asked, lowered when it is open. */
  bridge: BridgePosition
  /** Further elements of the head. */
  head?: SafeHtml
  /** What stands on the gate side, under the mark. */
  gate?: SafeHtml
  /** What stands on the other side: the form or the message. */
  main: SafeHtml
}

/** Puts a page's parts into the one document that all pages share: gate on one side, court on the other. */
export function layout(parts: Layout): string {
  return String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <meta name="theme-color" content="#10302d" media="(prefers-color-scheme: light)" />
          <meta name="theme-color" content="#0b2421" media="(prefers-color-scheme: dark)" />
          <title>${parts.title} · Drawbridge</title>
          <link rel="icon" type="image/svg+xml" href="${iconUrl}" />
          ${parts.head ?? ''} ${styleElement}
        </head>
        <body>
          <main class="${parts.gate === undefined ? 'crossing bare' : 'crossing'}">
            <div class="gate">
              <div class="gate-inner">
                <p class="brand">${bridgeMark}<span>Drawbridge</span></p>
                ${parts.gate ?? ''}
              </div>
              ${bridgeScene(parts.bridge)}
            </div>
            <div class="court">${parts.main}</div>
          </main>
        </body>
      </html> `,
  )
}

/** The web app behind it all: what people call it, and where accounts are created. */
export interface AppView {
  appName: string
  appUrl: string
}
