import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import { ICON, STYLE, STYLE_SOURCE } from './style.ts'

// Whole, because its hash in the policy covers every space between the tags.
const STYLE_ELEMENT = rawHtml(`<style>${STYLE}</style>`)

/** What surrounds every page. */
export interface PageFrame {
  title: string
  /** Address of the signed-in user. */
  email?: string | undefined
  /** What has just been done. */
  flash?: string | undefined
}

/** Security headers of every page; `formTargets` are the origins that a form may lead to besides the app. */
export function pageHeaders(
  formTargets: readonly string[],
  scriptTargets: readonly string[],
): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      `style-src ${STYLE_SOURCE}`,
      "img-src 'self'",
      `form-action ${["'self'", ...formTargets].join(' ')}`,
      // The pages have no script; this is for the console, where one may call /mcp with the session cookie.
      `connect-src ${["'self'", ...scriptTargets].join(' ')}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    // Not `no-referrer`: with it browsers send `Origin: null` with the app's own forms.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
}

/** A whole page around its content. */
export function framePage(frame: PageFrame, content: SafeHtml): SafeHtml {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${frame.title} - Fieldnotes</title>
        <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
        ${STYLE_ELEMENT}
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header>
          <a class="brand" href="/"
            >${rawHtml(ICON.replace('<svg ', '<svg aria-hidden="true" '))} Fieldnotes</a
          >
          ${
            frame.email !== undefined &&
            html`<div class="account">
              <span>${frame.email}</span>
              <form method="post" action="/sign-out"><button class="link">Sign out</button></form>
            </div>`
          }
        </header>
        <main id="content" tabindex="-1">
          ${frame.flash !== undefined && html`<p class="flash" role="status">${frame.flash}</p>`} ${content}
        </main>
        <footer><p>Demo web app for Drawbridge — runs on this machine only</p></footer>
      </body>
    </html>`
}
