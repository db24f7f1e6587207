import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { Hono, type Context } from 'hono'
import { type AuthClient, type AuthFault, explainFault, explainRedirect } from './auth-client.ts'
import type { BrowserSessions } from './browser-session.ts'
import { type PageResponder, readFlash } from './page-frame.ts'
import { landingPage, plainPage, signUpPage } from './pages.ts'

const verifierCookie = 'fieldnotes-verifier'

/** Dependencies of the routes of sign-in, sign-up and sign-out. */
export interface SignInParts {
  appUrl: string
  auth: AuthClient
  sessions: BrowserSessions
  pages: PageResponder
  runtime: Pick<Runtime, 'randomBytes'>
}

/** Creates the pages and forms of sign-in, sign-up and sign-out. */
export function createSignInRoutes({ appUrl, auth, sessions, pages, runtime }: SignInParts): Hono {
  const routes = new Hono()
  const callbackUrl = `${appUrl}/auth/callback`
  // Bound to this browser, unreadable to scripts, and sent only to the callback.
  const verifierAttributes = `Path=/auth/callback; HttpOnly; SameSite=Lax${appUrl.startsWith('https:') ? '; Secure' : ''}`
  const clearedVerifier = `${verifierCookie}=; Max-Age=0; ${verifierAttributes}`

  routes.get('/', async (c) => {
    const visitor = await sessions.visitor(c.req.raw)
    if (visitor.kind === 'unknown') return showLanding(c, explainFault({ kind: 'unavailable' }), 503)
    const { setCookies } = visitor
    if (visitor.kind === 'user') return pages.redirect(c, '/notes', { setCookies })
    // A social sign-in whose state is unknown ends here instead of at the callback.
    const query = new URL(c.req.url).searchParams
    const form = query.has('error') ? { error: explainRedirect(query) } : {}
    return pages.show(c, landingPage(form, readFlash(c.req.raw)), { setCookies })
  })

  routes.post('/sign-in', async (c) => {
    const { email, password } = await readCredentials(c)
    const result = await auth.signIn(email, password)
    if (!result.ok) {
      return pages.show(c, landingPage({ email, error: explainFault(result.fault) }), statusOf(result.fault))
    }
    const setCookies = sessions.signIn(c.req.raw, result.value)
    return pages.redirect(c, '/notes', { setCookies, flash: 'signed-in' })
  })

  routes.get('/sign-up', (c) => pages.show(c, signUpPage({})))

  routes.post('/sign-up', async (c) => {
    const { email, password } = await readCredentials(c)
    const result = await auth.signUp(email, password)
    if (!result.ok) {
      return pages.show(c, signUpPage({ email, error: explainFault(result.fault) }), statusOf(result.fault))
    }
    if (result.value === undefined) {
      return pages.show(
        c,
        plainPage('Confirm your address', 'Your account has been created. Confirm it, then sign in.'),
      )
    }
    const setCookies = sessions.signIn(c.req.raw, result.value)
    return pages.redirect(c, '/notes', { setCookies, flash: 'signed-up' })
  })

  routes.post('/sign-in/google', async (c) => {
    const verifier = createCodeVerifier((length) => runtime.randomBytes(length))
    const setCookies = [`${verifierCookie}=${verifier}; Max-Age=600; ${verifierAttributes}`]
    const url = auth.googleUrl(callbackUrl, await deriveCodeChallenge(verifier))
    return pages.redirect(c, url, { setCookies })
  })

  routes.get('/auth/callback', async (c) => {
    const query = new URL(c.req.url).searchParams
    const code = query.get('code')
    if (code === null) return showLanding(c, explainRedirect(query), 400)
    const cookies = parseCookieHeader(c.req.header('cookie') ?? '')
    const verifier = cookies.find(({ name }) => name === verifierCookie)?.value
    if (verifier === undefined) {
      return showLanding(c, explainFault({ kind: 'refused', code: 'bad_code_verifier' }), 400)
    }
    const result = await auth.exchangeCode(code, verifier)
    if (!result.ok) return showLanding(c, explainFault(result.fault), statusOf(result.fault).status)
    const setCookies = [...sessions.signIn(c.req.raw, result.value), clearedVerifier]
    return pages.redirect(c, '/notes', { setCookies, flash: 'signed-in' })
  })

  routes.post('/sign-out', async (c) => {
    const setCookies = await sessions.signOut(c.req.raw)
    return pages.redirect(c, '/', { setCookies, flash: 'signed-out' })
  })

  function showLanding(c: Context, error: string, status: 400 | 422 | 503): Response {
    return pages.show(c, landingPage({ error }), { status, setCookies: [clearedVerifier] })
  }

  return routes
}

async function readCredentials(c: Context): Promise<{ email: string; password: string }> {
  const form = new URLSearchParams(await c.req.text())
  return { email: (form.get('email') ?? '').trim(), password: form.get('password') ?? '' }
}

function statusOf(fault: AuthFault): { status: 422 | 503 } {
  return { status: fault.kind === 'unavailable' ? 503 : 422 }
}
