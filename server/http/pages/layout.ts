import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Language } from '../../texts/language.ts'
import { alertGlyph, type BridgePosition, bridgeScene, iconUrl } from './drawings.ts'
import type { Look } from './look.ts'

/** External resources of a page: sources of a Content-Security-Policy. */
export interface PolicyOpening {
  script?: readonly string[]
  frame?: readonly string[]
  style?: readonly string[]
  connect?: readonly string[]
}

/**
 * Builds the Content-Security-Policy of a page: one stylesheet by its hash, icon and logo as data URLs, and from other hosts only what
 * `opening` lists. Omits `form-action` on purpose: Chromium applies it to the whole redirect chain after a form post and would
 * block the way back to the client. Pages are safe without it because every untrusted text is escaped.
 */
export function contentSecurityPolicy(look: Look, opening: PolicyOpening = {}): string {
  const directives: readonly (readonly [name: string, sources: readonly string[]])[] = [
    ['default-src', ["'none'"]],
    ['script-src', opening.script ?? []],
    ['style-src', [look.styleSource, ...(opening.style ?? [])]],
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

export interface Layout extends PageView {
  /** The title of the page; escaped here. */
  title: string
  /** Position of the drawing: raised when access is denied, lowering while it is being requested, lowered when it is given. */
  bridge: BridgePosition
  head?: SafeHtml
  gate: SafeHtml
  /** Content of the other side: the form or the message. */
  main: SafeHtml
  links?: PageLinks | undefined
}

/** What every page has: its look, and the language that it is in. */
export interface PageView {
  look: Look
  language: Language
}

/** Builds the document that all pages share: gate on one side, court on the other. */
export function layout(parts: Layout): string {
  return String(
    html`<!doctype html>
      <html lang="${parts.language.tag}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <meta name="theme-color" content="#10302d" media="(prefers-color-scheme: light)" />
          <meta name="theme-color" content="#0b2421" media="(prefers-color-scheme: dark)" />
          <title>${parts.title} · Drawbridge</title>
          <link rel="icon" type="image/svg+xml" href="${iconUrl}" />
          ${parts.head ?? ''} ${parts.look.styleElement}
        </head>
        <body>
          <main class="crossing">
            <div class="gate">
              <div class="gate-inner">
                <p class="brand">${parts.look.brand}</p>
                ${parts.gate}
              </div>
              ${bridgeScene(parts.bridge)}
            </div>
            <div class="court">${parts.main} ${siteLinks(parts) ?? ''}</div>
          </main>
        </body>
      </html> `,
  )
}

/** The web app: its look, its display name, and where accounts are created. */
export interface AppView {
  look: Look
  appName: string
  appUrl: string
  links?: PageLinks
}

/** Renders a warning in a box. With an `id`, screen readers announce it, and a field can refer to it. */
export function alertBox(text: SafeHtml | string, id?: string): SafeHtml {
  const announced = id !== undefined && html`role="alert" id="${id}"`
  return html`<p class="alert" ${announced}>${alertGlyph} <span>${text}</span></p>`
}

export function noteBox(text: SafeHtml | string): SafeHtml {
  return html`<p class="note-box"><span>${text}</span></p>`
}

/** Pages of the operator: privacy, terms and support. */
export interface PageLinks {
  privacyUrl?: string | undefined
  termsUrl?: string | undefined
  supportUrl?: string | undefined
}

function siteLinks({
  links: { privacyUrl, termsUrl, supportUrl } = {},
  language,
}: Layout): SafeHtml | undefined {
  const { privacy, terms, support } = language.texts.common
  const links = [
    [privacy, privacyUrl],
    [terms, termsUrl],
    [support, supportUrl],
  ].filter(([, url]) => url !== undefined)
  if (links.length === 0) return undefined
  return html`<footer class="site-links">
    ${links.map(([name, url]) => html`<a class="link" href="${url}">${name}</a> `)}
  </footer>`
}
