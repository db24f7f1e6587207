import type { Context } from 'hono'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import { copyScriptSource } from '../../http/pages/copy-button.ts'
import { ICON, STYLE, styleSource } from './style.ts'

// In one piece, because its hash in the policy covers every space between the tags.
const styleElement = rawHtml(`<style>${STYLE}</style>`)

export interface PageFrame {
  title: string
  email?: string | undefined
  /** Address of the MCP server, announced to programs used on this page. */
  mcpUrl?: string
}

/** Returns the security headers of a page; `formTargets` are the origins that a form may lead to besides the app. */
function pageHeaders(
  formTargets: readonly string[],
  scriptTargets: readonly string[],
): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      `style-src ${styleSource}`,
      `script-src ${copyScriptSource}`,
      "img-src 'self'",
      `form-action ${["'self'", ...formTargets].join(' ')}`,
      // Not for the page's own script, which only copies; for the console, where users may call /mcp with the session cookie.
      `connect-src ${["'self'", ...scriptTargets].join(' ')}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    // Not `no-referrer`: with it browsers send `Origin: null` with the app's own forms.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
}

export function framePage(frame: PageFrame, content: SafeHtml): SafeHtml {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${frame.title} - Fieldnotes</title>
        <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
        ${frame.mcpUrl !== undefined && html`<link rel="mcp-server" href="${frame.mcpUrl}" />`}
        ${styleElement}
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
        <main id="content" tabindex="-1">${content}</main>
        <footer>
          <p>
            Demo web app for Drawbridge, on this machine only ·
            <a href="/mail">Mail and codes it would have sent</a>
          </p>
        </footer>
      </body>
    </html>`
}

/** Responds to a browser. */
export interface PageResponder {
  show(
    c: Context,
    page: SafeHtml,
    options?: { status?: PageStatus; setCookies?: readonly string[] },
  ): Response
  /** Redirects with GET. */
  redirect(c: Context, path: string, options?: { setCookies?: readonly string[] }): Response
}

type PageStatus = 200 | 400 | 403 | 404 | 413 | 422 | 500

/** Forms lead to `authOrigin` for social sign-in and back to `mcpOrigin`, which scripts of the console may call. */
export function createPageResponder(authOrigin: string, mcpOrigin: string): PageResponder {
  const headers = pageHeaders([authOrigin, mcpOrigin], [mcpOrigin])
  return {
    show(c, page, { status = 200, setCookies = [] } = {}) {
      for (const cookie of setCookies) c.header('set-cookie', cookie, { append: true })
      return c.html(page.toString(), status, headers)
    },
    redirect(c, path, { setCookies = [] } = {}) {
      for (const cookie of setCookies) c.header('set-cookie', cookie, { append: true })
      c.header('cache-control', 'no-store')
      return c.redirect(path, 303)
    },
  }
}

/** Formats epoch seconds for people. */
export function readableTime(seconds: number): string {
  const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  return `${date.format(seconds * 1000)} UTC`
}
