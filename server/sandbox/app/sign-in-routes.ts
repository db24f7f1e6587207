import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { isUrl } from '@drawbridge/shared/url.ts'
import { Hono, type Context } from 'hono'
import { exchangeCode, signIn, signUp } from '../provider/api/auth-api.ts'
import type { AuthServices, SessionBody } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'
import type { BrowserSessions } from './browser-session.ts'
import type { DemoView, Pages } from './page.ts'
import { type Failure, type FormState, landingPage, signUpPage } from './pages.ts'
import en from './texts/en.json' with { type: 'json' }

const verifierCookie = 'fieldnotes-verifier'

/** People may come from `mcpOrigin` to create an account, and go back there. */
export function createSignInRoutes(
  { appUrl, mcpOrigin }: { appUrl: string; mcpOrigin: string },
  services: AuthServices,
  sessions: BrowserSessions,
  pages: Pages,
): Hono {
  const routes = new Hono()
  const callbackUrl = `${appUrl}/auth/callback`
  // Bound to this browser, unreadable to scripts, and sent only to the callback.
  const verifierAttributes = 'Path=/auth/callback; HttpOnly; SameSite=Lax'
  const clearedVerifier = `${verifierCookie}=; Max-Age=0; ${verifierAttributes}`

  routes.get('/', async (c) => {
    const visitor = await sessions.visitor(c.req.raw)
    const { setCookies } = visitor
    if (visitor.kind === 'user') return pages.redirect('/notes', { setCookies })
    // A social sign-in whose state is unknown ends here instead of at the callback.
    const query = new URL(c.req.url).searchParams
    const form = query.has('error') ? { error: failureOfRedirect(query) } : {}
    return pages.show(c, (view) => landingPage(view, form), { setCookies })
  })

  routes.post('/sign-in', (c) => takeCredentials(c, landingPage, (...given) => signIn(services, ...given)))
  routes.get('/sign-up', (c) =>
    pages.show(c, (view) => signUpPage(view, { returnTo: returnTarget(c.req.query('return_to')) })),
  )
  routes.post('/sign-up', (c) =>
    takeCredentials(c, signUpPage, (email, password) => signUp(services, { email, password })),
  )

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
      const session = await open(email, form.get('password') ?? '')
      return pages.redirect(returnTo ?? '/notes', { setCookies: sessions.replace(c.req.raw, session) })
    } catch (error) {
      const form = { email, error: failureOf(error), returnTo }
      return pages.show(c, (view) => page(view, form), { status: 422 })
    }
  }

  /** Undefined for every other address: a link to this page must not lead elsewhere. */
  function returnTarget(url: string | null | undefined): string | undefined {
    return url && isUrl(url) && new URL(url).origin === mcpOrigin ? url : undefined
  }

  routes.post('/sign-in/google', async () => {
    const verifier = createCodeVerifier((length) => services.runtime.randomBytes(length))
    const setCookies = [`${verifierCookie}=${verifier}; Max-Age=600; ${verifierAttributes}`]
    const parameters = new URLSearchParams({
      provider: 'google',
      redirect_to: callbackUrl,
      code_challenge: await deriveCodeChallenge(verifier),
      code_challenge_method: 's256',
    })
    return pages.redirect(`${services.config.url}/authorize?${parameters.toString()}`, { setCookies })
  })

  routes.get('/auth/callback', async (c) => {
    const query = new URL(c.req.url).searchParams
    const code = query.get('code')
    if (code === null) return showLanding(c, failureOfRedirect(query), 400)
    const cookies = parseCookieHeader(c.req.header('cookie') ?? '')
    const verifier = cookies.find(({ name }) => name === verifierCookie)?.value
    if (verifier === undefined) return showLanding(c, 'bad_code_verifier', 400)
    try {
      const session = await exchangeCode(services, code, verifier)
      const setCookies = [...sessions.replace(c.req.raw, session), clearedVerifier]
      return pages.redirect('/notes', { setCookies })
    } catch (error) {
      return showLanding(c, failureOf(error), 422)
    }
  })

  routes.post('/sign-out', async (c) => {
    const setCookies = await sessions.signOut(c.req.raw)
    return pages.redirect('/', { setCookies })
  })

  function showLanding(c: Context, error: Failure, status: 400 | 422): Response {
    return pages.show(c, (view) => landingPage(view, { error }), { status, setCookies: [clearedVerifier] })
  }

  return routes
}

/** Returns why the provider refused; rethrows everything else. A ban reads like a wrong password. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof AuthError)) throw error
  return error.code === 'user_banned' ? 'invalid_credentials' : failureOfCode(error.code)
}

/** Returns why a social sign-in failed, from its redirect; the text in the URL is never shown. */
function failureOfRedirect(parameters: URLSearchParams): Failure {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  if (code === 'user_banned') return 'banned'
  // Single sign-on that was refused: it says nothing of an address or a password.
  return code === 'validation_failed' ? 'unknown' : failureOfCode(code)
}

function failureOfCode(code: string): Failure {
  return Object.hasOwn(en.texts.failures, code) ? (code as Failure) : 'unknown'
}
