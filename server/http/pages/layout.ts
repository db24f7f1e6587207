import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Language } from '../../texts/language.ts'
import { alertGlyph, type BridgePosition, bridgeScene } from './drawings.ts'
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

interface LayoutParts {
  /** The title of the page; escaped here. */
  title: string
  /** Position of the drawing: raised when access is denied, lowering while it is being requested, lowered when it is given. */
  bridge: BridgePosition
  head?: SafeHtml | undefined
  gate: SafeHtml
  main: SafeHtml
}

/** Contents common to all pages: their look, language, and links to the operator's pages. */
export interface PageView {
  look: Look
  language: Language
  links?: PageLinks | undefined
}

/** Builds the document that all pages share: gate on one side, court on the other. */
export function layout(view: PageView, parts: LayoutParts): string {
  const { look } = view
  return String(
    html`<!doctype html>
      <html lang="${view.language.tag}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <meta
            name="theme-color"
            content="${look.themeColours.light}"
            media="(prefers-color-scheme: light)"
          />
          <meta name="theme-color" content="${look.themeColours.dark}" media="(prefers-color-scheme: dark)" />
          <title>${parts.title} · ${look.name}</title>
          <link rel="icon" href="${look.iconUrl}" />
          ${parts.head} ${look.styleElement}
        </head>
        <body>
          <main class="crossing">
            <div class="gate">
              <div class="gate-inner">
                <p class="brand">${look.brand}</p>
                ${parts.gate}
              </div>
              ${look.hasScene && bridgeScene(parts.bridge)}
            </div>
            <div class="court">${parts.main} ${siteLinks(view)}</div>
          </main>
        </body>
      </html> `,
  )
}

/** The web app: its look, its display name and its address. */
export interface AppView {
  look: Look
  appName: string
  appUrl: string
  /** The page that creates accounts, if not the app's first. */
  signUpUrl?: string | undefined
  links?: PageLinks | undefined
}

/** Renders a warning in a box. With an `id`, screen readers announce it, and a field can refer to it. */
export function alertBox(text: SafeHtml | string, id?: string): SafeHtml {
  const announced = id !== undefined && html`role="alert" id="${id}"`
  return html`<p class="alert" ${announced}>${alertGlyph} <span>${text}</span></p>`
}

/** Renders a list on the gate side under a small heading; nothing if it is empty. */
export function gateList(heading: string, items: readonly (string | SafeHtml)[]): SafeHtml | false {
  if (items.length === 0) return false
  return html`<h2 class="allows">${heading}</h2>
    <ul class="permissions">
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>`
}

/** Renders a heading with a note below it. */
export function headingWith(title: string, note: SafeHtml | string, id?: string): SafeHtml {
  return html`<div class="heading">
    <h2 ${id !== undefined && html`id="${id}"`}>${title}</h2>
    <p class="quiet">${note}</p>
  </div>`
}

/** Renders a link in a line of its own. */
export function aloneLink(url: string, text: SafeHtml | string): SafeHtml {
  return html`<p>
    <a class="link alone" rel="noreferrer" href="${url}"><span>${text}</span></a>
  </p>`
}

/** Renders a term and its descriptions in a list of facts. A wide one has a line of its own. */
export function fact(
  term: string,
  descriptions: SafeHtml | string | readonly (SafeHtml | string)[],
  isWide = false,
): SafeHtml {
  return html`<div ${isWide && html`class="wide"`}>
    <dt>${term}</dt>
    ${[descriptions].flat().map((description) => html`<dd>${description}</dd>`)}
  </div>`
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
}: PageView): SafeHtml | undefined {
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
