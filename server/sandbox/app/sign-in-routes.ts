import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { isUrl } from '@drawbridge/shared/url.ts'
import { Hono, type Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { exchangeCode, signIn, signUp } from '../provider/api/auth-api.ts'
import type { AuthServices, SessionBody } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'
import type { BrowserSessions } from './browser-session.ts'
import { afterSignIn } from './connect-routes.ts'
import type { DemoView, ShowPage } from './page.ts'
import { type Failure, type FormState, landingPage, signUpPage } from './pages.ts'
import en from './texts/en.json' with { type: 'json' }

interface SignInPorts {
  appUrl: string
  /** People may come from here to create an account, and go back. */
  mcpOrigin: string
  services: AuthServices
  sessions: BrowserSessions
  show: ShowPage
}

/** Creates the first page, and the routes for accounts with a password. */
export function createSignInRoutes({ mcpOrigin, services, sessions, show }: SignInPorts): Hono {
  const routes = new Hono()

  routes.get('/', async (c) => {
    if (await sessions.visitor(c)) return c.redirect(afterSignIn(c), 303)
    // A social sign-in whose state is unknown ends here instead of at the callback.
    const form = c.req.query('error') === undefined ? {} : { error: failureOfRedirect(c) }
    return show(c, (view) => landingPage(view, form))
  })
  routes.post('/sign-in', (c) => takeCredentials(c, landingPage, (...given) => signIn(services, ...given)))
  routes.get('/sign-up', (c) =>
    show(c, (view) => signUpPage(view, { returnTo: returnTarget(c.req.query('return_to')) })),
  )
  routes.post('/sign-up', (c) =>
    takeCredentials(c, signUpPage, (email, password) => signUp(services, { email, password })),
  )
  routes.post('/sign-out', async (c) => {
    await sessions.signOut(c)
    return c.redirect('/', 303)
  })
  return routes

  /** Signs in with what the form of `page` posted, or shows it again. */
  async function takeCredentials(
    c: Context,
    page: (view: DemoView, form: FormState) => string,
    open: (email: string, password: string) => Promise<SessionBody>,
  ): Promise<Response> {
    const form = new URLSearchParams(await c.req.text())
    const email = (form.get('email') ?? '').trim()
    const returnTo = returnTarget(form.get('return_to'))
    try {
      sessions.replace(c, await open(email, form.get('password') ?? ''))
      return c.redirect(returnTo ?? afterSignIn(c), 303)
    } catch (error) {
      const state = { email, error: failureOf(error), returnTo }
      return show(c, (view) => page(view, state), 422)
    }
  }

  /** Undefined for every other address: a link to this page must not lead elsewhere. */
  function returnTarget(url: string | null | undefined): string | undefined {
    return url && isUrl(url) && new URL(url).origin === mcpOrigin ? url : undefined
  }
}

const verifierCookie = 'fieldnotes-verifier'
const callbackPath = '/auth/callback'

/** Creates the routes of the sign-in with Google. */
export function createGoogleRoutes({ appUrl, services, sessions, show }: SignInPorts): Hono {
  const routes = new Hono()
  routes.post('/sign-in/google', async (c) => {
    const verifier = createCodeVerifier((length) => services.runtime.randomBytes(length))
    // Bound to this browser, unreadable to scripts, and sent only to the callback.
    setCookie(c, verifierCookie, verifier, {
      path: callbackPath,
      httpOnly: true,
      sameSite: 'Lax',
      maxAge: 600,
    })
    const parameters = new URLSearchParams({
      provider: 'google',
      redirect_to: `${appUrl}${callbackPath}`,
      code_challenge: await deriveCodeChallenge(verifier),
      code_challenge_method: 's256',
    })
    return c.redirect(`${services.config.url}/authorize?${parameters.toString()}`, 303)
  })
  routes.get(callbackPath, async (c) => {
    const code = c.req.query('code')
    const verifier = getCookie(c, verifierCookie)
    const refuse = (error: Failure, status: number): Response =>
      show(c, (view) => landingPage(view, { error }), status)
    deleteCookie(c, verifierCookie, { path: callbackPath })
    if (code === undefined) return refuse(failureOfRedirect(c), 400)
    if (verifier === undefined) return refuse('bad_code_verifier', 400)
    try {
      sessions.replace(c, await exchangeCode(services, code, verifier))
      return c.redirect(afterSignIn(c), 303)
    } catch (error) {
      return refuse(failureOf(error), 422)
    }
  })
  return routes
}

/** Returns why the provider refused; rethrows everything else. A ban reads like a wrong password. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof AuthError)) throw error
  return error.code === 'user_banned' ? 'invalid_credentials' : failureOfCode(error.code)
}

/** Returns why a social sign-in failed, from its redirect; the text in the URL is never shown. */
function failureOfRedirect(c: Context): Failure {
  const code = c.req.query('error_code') ?? c.req.query('error') ?? ''
  if (code === 'user_banned') return 'banned'
  // Single sign-on that was refused: it says nothing of an address or a password.
  return code === 'validation_failed' ? 'unknown' : failureOfCode(code)
}

function failureOfCode(code: string): Failure {
  return Object.hasOwn(en.texts.failures, code) ? (code as Failure) : 'unknown'
}
