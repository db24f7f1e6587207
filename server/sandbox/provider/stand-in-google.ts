import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { Hono } from 'hono'
import { denialPage, googlePage, PAGE_HEADERS } from './google-page.ts'

const CODE_SECONDS = 60

/** An account that the stand-in Google offers; no password is asked. */
export interface GoogleAccount {
  subject: string
  name: string
  email: string
}

/** The accounts that the stand-in Google offers. */
const GOOGLE_ACCOUNTS: readonly GoogleAccount[] = [
  { subject: '100000000000000000001', name: 'Ada Example', email: 'ada@google.example' },
  { subject: '100000000000000000002', name: 'Grace Example', email: 'grace@google.example' },
]

/** A page that plays Google: it asks which account to continue with, or to deny. */
export interface StandInGoogle {
  /** Its pages, relative to its own base URL. */
  routes: Hono
  /** Where to send the browser. */
  authorizationUrl(state: string, parameters: readonly (readonly [string, string])[]): string
  /** The person behind a code, once, within a minute. */
  redeem(code: string): GoogleAccount | undefined
}

/** `url` is where its pages are reached, `callbackUrl` the only place it returns to. */
export function createStandInGoogle(
  { url, callbackUrl }: { url: string; callbackUrl: string },
  runtime: Runtime,
): StandInGoogle {
  // In memory: a code lives a minute, and the real Google's codes do not sit in our database either.
  const codes = new Map<string, { account: GoogleAccount; expiresAt: number }>()
  const routes = new Hono()

  routes.get('/authorize', (c) => {
    const hint = c.req.query('login_hint')
    const accounts = GOOGLE_ACCOUNTS.toSorted((a, b) => Number(b.email === hint) - Number(a.email === hint))
    const page = googlePage({ state: c.req.query('state') ?? '', accounts, chooseUrl: `${url}/choose` })
    return c.html(page.toString(), 200, PAGE_HEADERS)
  })

  routes.post('/choose', async (c) => {
    const form = new URLSearchParams(await c.req.text())
    const target = new URL(callbackUrl)
    target.searchParams.set('state', form.get('state') ?? '')
    const choice = form.get('account')
    const account = GOOGLE_ACCOUNTS.find(({ subject }) => subject === choice)
    if (account !== undefined) target.searchParams.set('code', issueCode(account))
    else if (choice === 'deny') target.searchParams.set('error', 'access_denied')
    else return c.html(denialPage().toString(), 400, PAGE_HEADERS)
    return c.redirect(target.href, 303)
  })

  function issueCode(account: GoogleAccount): string {
    const now = runtime.now()
    for (const [code, { expiresAt }] of codes) if (expiresAt <= now) codes.delete(code)
    const code = Buffer.from(runtime.randomBytes(24)).toString('base64url')
    codes.set(code, { account, expiresAt: now + CODE_SECONDS })
    return code
  }

  return {
    routes,
    authorizationUrl(state, parameters) {
      const target = new URL(`${url}/authorize`)
      for (const [name, value] of parameters) target.searchParams.set(name, value)
      target.searchParams.set('response_type', 'code')
      target.searchParams.set('redirect_uri', callbackUrl)
      target.searchParams.set('state', state)
      return target.href
    },
    redeem(code) {
      const issued = codes.get(code)
      codes.delete(code)
      return issued !== undefined && issued.expiresAt > runtime.now() ? issued.account : undefined
    },
  }
}
