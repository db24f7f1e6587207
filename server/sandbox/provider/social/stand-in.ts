import { Hono } from 'hono'
import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

const codeSeconds = 60

/** An account that is offered without a password. */
interface OfferedAccount {
  subject: string
  name: string
  email: string
  /** Secret of the second factor that the account has from its first sign-in on, in base32; undefined: it has none. */
  factorSecret?: string
}

/** The sign-in service that a page plays, and its accounts. */
export interface Played {
  name: string
  accounts: readonly OfferedAccount[]
}

export const google: Played = {
  name: 'Google',
  accounts: [
    { subject: '100000000000000000001', name: 'Ada Example', email: 'ada@google.example' },
    { subject: '100000000000000000002', name: 'Grace Example', email: 'grace@google.example' },
  ],
}

/** A page that plays another sign-in service: it asks which account to continue with, or to deny. */
export interface StandIn {
  /** Its pages, relative to its own base URL. */
  routes: Hono
  /** Returns the URL to send the browser to. */
  authorizationUrl(state: string): string
  /** Returns the account behind a code, once, within a minute. */
  redeem(code: string): OfferedAccount | undefined
}

/** `url` is the address of its pages, `callbackUrl` the only address it returns to. */
export function createStandIn(
  played: Played,
  { url, callbackUrl }: { url: string; callbackUrl: string },
  runtime: Runtime,
): StandIn {
  // In memory: a code lives for a minute, and the real service's codes are not in our database either.
  const codes = new Map<string, { account: OfferedAccount; expiresAt: number }>()
  const routes = new Hono()

  routes.get('/authorize', (c) => {
    const state = c.req.query('state') ?? ''
    const page = choicePage(played, `${url}/choose`, state)
    return c.html(page.toString(), 200, pageHeaders)
  })

  routes.post('/choose', async (c) => {
    const form = new URLSearchParams(await c.req.text())
    const target = new URL(callbackUrl)
    target.searchParams.set('state', form.get('state') ?? '')
    const choice = form.get('account')
    const account = played.accounts.find(({ subject }) => subject === choice)
    if (account !== undefined) target.searchParams.set('code', issueCode(account))
    else if (choice === 'deny') target.searchParams.set('error', 'access_denied')
    else return c.text('No such account.', 400)
    return c.redirect(target.href, 303)
  })

  function issueCode(account: OfferedAccount): string {
    const now = runtime.now()
    for (const [code, { expiresAt }] of codes) if (expiresAt <= now) codes.delete(code)
    const code = Buffer.from(runtime.randomBytes(24)).toString('base64url')
    codes.set(code, { account, expiresAt: now + codeSeconds })
    return code
  }

  return {
    routes,
    authorizationUrl(state) {
      const parameters = { response_type: 'code', redirect_uri: callbackUrl, state }
      return `${url}/authorize?${new URLSearchParams(parameters).toString()}`
    },
    redeem(code) {
      const issued = codes.get(code)
      codes.delete(code)
      return issued !== undefined && issued.expiresAt > runtime.now() ? issued.account : undefined
    },
  }
}

const style = `
:root{color-scheme:light dark;--paper:#f6f7f9;--card:#fff;--ink:#1c1f24;--soft:#565d68;--line:#d5d9e0;--accent:#1a56c4;--hover:#eef2fa;--note:#7a4b00;--note-paper:#fff4dc;--note-line:#ecd39b}
@media(prefers-color-scheme:dark){:root{--paper:#101215;--card:#1a1d22;--ink:#eceff4;--soft:#a4adba;--line:#363c46;--accent:#8ab4ff;--hover:#232833;--note:#ffd88a;--note-paper:#2b230f;--note-line:#5c4a1c}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:24px 16px;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:400px;background:var(--card);border:1px solid var(--line);border-radius:16px;overflow:hidden;box-shadow:0 1px 2px rgb(0 0 0/.06),0 12px 32px -16px rgb(0 0 0/.25)}
.note{margin:0;padding:10px 24px;font-size:13px;color:var(--note);background:var(--note-paper);border-bottom:1px solid var(--note-line)}
.body{padding:28px 24px 24px}
h1{margin:0 0 4px;font-size:24px;line-height:1.25;font-weight:600;letter-spacing:-.01em}
.lead{margin:0 0 20px;color:var(--soft)}
form{display:grid;gap:10px;margin:0}
button{font:inherit;color:inherit;text-align:left;cursor:pointer;display:flex;align-items:center;gap:14px;width:100%;min-height:64px;padding:10px 14px;background:transparent;border:1px solid var(--line);border-radius:12px}
button:hover{background:var(--hover);border-color:var(--accent)}
button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.face{flex:none;font-style:normal;width:40px;height:40px;border-radius:50%;display:grid;place-items:center;font-weight:600;color:#fff;background:#1f6f54}
.face.b{background:#8a3b64}
.who{min-width:0}
.who b,.who span{display:block;overflow-wrap:anywhere}
.who b{font-weight:600}
.who span{font-size:14px;color:var(--soft)}
@media(max-width:359px){.body,.note{padding-inline:14px}button{gap:10px;padding-inline:10px}.who span{font-size:13px}}
button.deny{justify-content:center;min-height:44px;margin-top:6px;border-color:transparent;color:var(--accent);font-weight:600}
`

// In one piece, because its hash in the policy covers every space between the tags.
const styleElement = rawHtml(`<style>${style}</style>`)

/** Headers of the page. No `form-action`: browsers apply it to the redirects that lead back to any client. */
const pageHeaders: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy':
    `default-src 'none'; base-uri 'none'; frame-ancestors 'none'; ` +
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

function choicePage({ name: service, accounts }: Played, chooseUrl: string, state: string): SafeHtml {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Choose an account - stand-in ${service}</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <p class="note">Stand-in ${service} for development. No password, not the real one.</p>
          <div class="body">
            <h1>Choose an account</h1>
            <p class="lead">to continue to the app that sent you here</p>
            <form method="post" action="${chooseUrl}">
              <input type="hidden" name="state" value="${state}" />
              ${accounts.map(
                ({ subject, name, email }, index) =>
                  html`<button name="account" value="${subject}">
                    <i class="face ${index % 2 === 1 && 'b'}" aria-hidden="true">${name.slice(0, 1)}</i>
                    <span class="who"><b>Continue as ${name}</b><span>${email}</span></span>
                  </button>`,
              )}
              <button class="deny" name="account" value="deny">Deny</button>
            </form>
          </div>
        </main>
      </body>
    </html>`
}
