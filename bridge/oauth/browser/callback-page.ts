import { html, rawHtml } from '@drawbridge/shared/html.ts'
import { createHash } from 'node:crypto'
import type { OAuthFault } from '../login-port.ts'

/** The outcome shown to a browser that returned. */
export type CallbackOutcome =
  | { kind: 'signed_in' }
  | { kind: 'failed'; fault: OAuthFault | undefined }
  /** The server refused the client; the browser is redirected to sign in with another one. */
  | { kind: 'again'; url: string }
  /** The response does not belong to a pending sign-in. */
  | { kind: 'foreign' }

const style = `
:root { color-scheme: light dark }
body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 18vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem }
p { margin: 0 }
`

// Keep this in one piece: the hash covers every character between the tags.
const styleElement = rawHtml(`<style>${style}</style>`)

const styleHash = createHash('sha256').update(style).digest('base64')

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  // The URL contains the code, so nothing may store or forward it.
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  connection: 'close',
} as const

const closing = 'You can close this tab and go back to your application.'

/** Renders the page that ends a sign-in. It repeats nothing that the browser sent, runs no script and loads nothing. */
export function callbackPage(outcome: CallbackOutcome): ReturnType<typeof page> {
  if (outcome.kind === 'signed_in') return page(200, 'You are signed in', closing)
  if (outcome.kind === 'again') {
    const asking = page(303, 'Sign-in continues', 'Your application is asking again in a different way.')
    return { ...asking, headers: { ...headers, location: outcome.url } }
  }
  if (outcome.kind === 'foreign') {
    return page(
      400,
      'This is not the pending sign-in',
      'Close this tab, and use the link that your application shows now.',
    )
  }
  if (outcome.fault === 'access_denied') {
    return page(200, 'You are not signed in', `Access was denied. ${closing}`)
  }
  return page(
    502,
    'The sign-in failed',
    'Close this tab and go back to your application: it says what happened.',
  )
}

/** A complete HTTP response to a browser. */
function page(status: number, title: string, text: string) {
  const body = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - Drawbridge</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p>${text}</p>
        </main>
      </body>
    </html> `
  return { status, headers: headers as Readonly<Record<string, string>>, body: body.toString() }
}
