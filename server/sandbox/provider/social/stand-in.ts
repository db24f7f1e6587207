import { Hono } from 'hono'
import { html } from '@drawbridge/shared/html.ts'
import { alertGlyph } from '../../../http/pages/drawings.ts'
import { layout, type PageView } from '../../../http/pages/layout.ts'
import { createLook } from '../../../http/pages/look.ts'
import { page } from '../../../http/response.ts'
import { Languages } from '../../../texts/languages.ts'
import type { Person } from '../accounts/account.ts'

/** The sign-in service that a page plays, and its accounts, which it offers without a password. */
export interface Played {
  name: string
  accounts: readonly Person[]
}

export const google: Played = {
  name: 'Google',
  accounts: [
    { subject: '100000000000000000001', name: 'Ada Example', email: 'ada@google.example' },
    { subject: '100000000000000000002', name: 'Grace Example', email: 'grace@google.example' },
  ],
}

/** The one company with single sign-on. */
export const company: Played & { id: string; domain: string } = {
  id: '5e8f2c1a-7d34-4b9e-9c60-2f1b8a4d6e73',
  domain: 'company.example',
  name: 'Company Example',
  accounts: [
    { subject: 'employee-1', name: 'Lin Example', email: 'lin@company.example' },
    { subject: 'employee-2', name: 'Noor Example', email: 'noor@company.example' },
    {
      subject: 'employee-3',
      name: 'Otto Example',
      email: 'otp@company.example',
      factorSecret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    },
  ],
}

/** A page that plays another sign-in service: it asks which account to continue with, or to deny. */
export interface StandIn {
  /** Its pages, relative to its own base URL. */
  routes: Hono
  /** Returns the URL to send the browser to. */
  authorizationUrl(state: string): string
  /** Returns the account behind a code: its subject, since anyone may choose any of them. */
  person(code: string): Person | undefined
}

/** `url` is the address of its pages, `callbackUrl` the only address it returns to. */
export function createStandIn(
  played: Played,
  { url, callbackUrl }: { url: string; callbackUrl: string },
): StandIn {
  const routes = new Hono()
  const appAccent = { light: '#1a56c4', dark: '#8ab4ff' }
  const view = {
    look: createLook({ appName: `Stand-in ${played.name}`, appAccent }),
    language: new Languages().choose(null, null),
  }
  const person = (code: string): Person | undefined => played.accounts.find(({ subject }) => subject === code)

  routes.get('/authorize', (c) => {
    const state = c.req.query('state') ?? ''
    return page(choicePage(view, played, `${url}/choose`, state), view)
  })

  routes.post('/choose', async (c) => {
    const form = new URLSearchParams(await c.req.text())
    const target = new URL(callbackUrl)
    target.searchParams.set('state', form.get('state') ?? '')
    const choice = form.get('account') ?? ''
    if (person(choice)) target.searchParams.set('code', choice)
    else if (choice === 'deny') target.searchParams.set('error', 'access_denied')
    else return c.text('No such account.', 400)
    return c.redirect(target.href, 303)
  })

  return {
    routes,
    person,
    authorizationUrl(state) {
      const parameters = { response_type: 'code', redirect_uri: callbackUrl, state }
      return `${url}/authorize?${new URLSearchParams(parameters).toString()}`
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
