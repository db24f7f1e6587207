import { Hono } from 'hono'
import { html } from '@drawbridge/shared/html.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { alertGlyph } from '../../../http/pages/drawings.ts'
import { layout, type PageView } from '../../../http/pages/layout.ts'
import { createLook } from '../../../http/pages/look.ts'
import { page } from '../../../http/response.ts'
import { Languages } from '../../../texts/languages.ts'

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
  const appAccent = { light: '#1a56c4', dark: '#8ab4ff' }
  const view = {
    look: createLook({ appName: `Stand-in ${played.name}`, appAccent }),
    language: new Languages().choose(null, null),
  }

  routes.get('/authorize', (c) => {
    const state = c.req.query('state') ?? ''
    return page(choicePage(view, played, `${url}/choose`, state), view)
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

function choicePage(
  view: PageView,
  { name: service, accounts }: Played,
  chooseUrl: string,
  state: string,
): string {
  return layout(view, {
    title: 'Choose an account',
    bridge: 'raised',
    gate: html`<h1>Choose an account</h1>
      <p class="ask">to continue to the app that sent you here</p>
      <p class="warning">
        ${alertGlyph} <span>Stand-in ${service} for development. No password, not the real one.</span>
      </p>`,
    main: html`<form method="post" action="${chooseUrl}" class="court-inner">
      <input type="hidden" name="state" value="${state}" />
      ${accounts.map(
        ({ subject, name, email }) =>
          html`<button name="account" value="${subject}" class="button secondary">
            <span>Continue as ${name}<br />${email}</span>
          </button>`,
      )}
      <button name="account" value="deny" class="button plain">Deny</button>
    </form>`,
  })
}
