import { html, rawHtml } from '@drawbridge/shared/html.ts'
import { createHash } from 'node:crypto'
import type { OAuthFault } from '../login-port.ts'

/** What a browser that came back is told. */
export type CallbackOutcome =
  | { kind: 'signed_in' }
  | { kind: 'failed'; fault: OAuthFault | undefined }
  /** The server refused the client that asked: another one asks there. */
  | { kind: 'again'; url: string }
  /** The answer of no sign-in that is on its way. */
  | { kind: 'foreign' }

/** A whole answer to a browser. */
interface CallbackPage {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}

const style = `
:root { color-scheme: light dark }
body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 18vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem }
p { margin: 0 }
`

// One piece: a space more between the tags, and the hash is of another style.
const styleElement = rawHtml(`<style>${style}</style>`)

const styleHash = createHash('sha256').update(style).digest('base64')

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  // The address holds the code: nothing may keep it or pass it on.
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  connection: 'close',
} as const

const closing = 'You can close this tab and go back to your application.'

/**
 * The page that ends a sign-in in the browser. It quotes nothing of what the browser brought, runs no script and loads
 * nothing. After a sign-in that worked the browser goes to `successUrl` instead, if there is one; it is sent on at once when
 * the sign-in goes on elsewhere.
 */
export function callbackPage(outcome: CallbackOutcome, successUrl?: string): CallbackPage {
  if (outcome.kind === 'signed_in') {
    if (successUrl === undefined) return page(200, 'You are signed in', closing)
    return redirect('You are signed in', closing, successUrl)
  }
  if (outcome.kind === 'again') {
    return redirect('The sign-in goes on', 'Your application asked once more, in another way.', outcome.url)
  }
  if (outcome.kind === 'foreign') {
    return page(
      400,
      'This is not the sign-in that is waited for',
      'Close this tab, and use the link that your application shows now.',
    )
  }
  if (outcome.fault === 'access_denied') {
    return page(200, 'You are not signed in', `Access was denied. ${closing}`)
  }
  return page(
    502,
    'The sign-in did not work',
    'Close this tab and go back to your application: it says what happened.',
  )
}

function redirect(title: string, text: string, location: string): CallbackPage {
  return { ...page(303, title, text), headers: { ...headers, location } }
}

function page(status: number, title: string, text: string): CallbackPage {
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
  return { status, headers, body: body.toString() }
}
