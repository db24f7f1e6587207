import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createAuthClient } from './auth-client.ts'
import { createBrowserSessions } from './browser-session.ts'
import { createNotesApi } from './notes-api.ts'
import { createNotesRoutes } from './notes-routes.ts'
import { openNotes } from './notes.ts'
import { createPageResponder } from './page-frame.ts'
import { plainPage } from './pages.ts'
import { createSignInRoutes } from './sign-in-routes.ts'
import { ICON } from './style.ts'
import { createTokenVerifier } from './token-verifier.ts'

const MAX_FORM_BYTES = 64 * 1024

/** Settings of the demo web app. */
export interface WebAppConfig {
  /** Its own origin. */
  appUrl: string
  /** Base URL of the session provider's auth API. */
  authUrl: string
  /** Base name of the session cookie. */
  cookieName: string
  /** SQLite path of the notes, or `:memory:`. */
  database: string
  /** Address that it tells people to give to their assistant. */
  mcpUrl: string
  /** Where people see and end what they have connected. */
  connectionsUrl: string
}

/** A small web application with users and data: what a team would put Drawbridge in front of. */
export interface WebApp {
  fetch(request: Request): Promise<Response>
  close(): void
}

/** Fieldnotes, the demo web app. `authFetch` is its way to the session provider. */
export function createWebApp(
  config: WebAppConfig,
  ports: { runtime: Runtime; authFetch: (request: Request) => Promise<Response> },
): WebApp {
  const appUrl = config.appUrl.replace(/\/+$/, '')
  const authUrl = config.authUrl.replace(/\/+$/, '')
  const { runtime, authFetch } = ports
  const auth = createAuthClient(authUrl, authFetch)
  const sessionConfig = { cookieName: config.cookieName, secure: appUrl.startsWith('https:') }
  const sessions = createBrowserSessions(sessionConfig, { auth, runtime })
  const notes = openNotes(config.database, runtime)
  const pages = createPageResponder(new URL(authUrl).origin, new URL(config.mcpUrl).origin)
  const verifyToken = createTokenVerifier({ authUrl }, { auth, authFetch, runtime })

  const app = new Hono()
  app.route('/api/notes', createNotesApi(notes, verifyToken))
  app.all('/api/*', (c) => c.json({ error: 'not_found', message: 'There is nothing at this address.' }, 404))
  app.get('/favicon.svg', (c) =>
    c.body(ICON, 200, { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=86400' }),
  )

  const site = new Hono()
  site.use(async (c, next) => {
    if (c.req.method === 'POST' && !isSameOrigin(c.req.raw.headers, new URL(appUrl).origin)) {
      const text = 'This form did not come from a page of Fieldnotes. Open the app and try again.'
      return pages.show(c, plainPage('Refused', text), { status: 403 })
    }
    return next()
  })
  site.use(
    bodyLimit({
      maxSize: MAX_FORM_BYTES,
      onError: (c) => pages.show(c, plainPage('Too long', 'What you sent is too long.'), { status: 413 }),
    }),
  )
  site.route('/', createSignInRoutes({ appUrl, auth, sessions, pages, runtime }))
  site.route('/', createNotesRoutes({ links: config, notes, sessions, pages }))
  app.route('/', site)
  app.notFound((c) =>
    pages.show(c, plainPage('Nothing here', 'There is no page at this address.'), { status: 404 }),
  )
  app.onError((_error, c) => {
    const text = 'Something failed here. Try again.'
    if (c.req.path.startsWith('/api/')) return c.json({ error: 'internal', message: text }, 500)
    return pages.show(c, plainPage('That did not work', text), { status: 500 })
  })

  return { fetch: async (request) => app.fetch(request), close: () => notes.close() }
}

/**
 * Whether a form was sent by a page of this origin. Browsers say so in `Sec-Fetch-Site` and `Origin`; a request that
 * says neither is refused. Other ports of localhost are another origin, though the same site: SameSite cookies alone
 * would let their pages through.
 */
export function isSameOrigin(headers: Headers, appOrigin: string): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && site !== 'same-origin') return false
  if (origin === null || origin === 'null') return site === 'same-origin'
  return origin === appOrigin
}
