import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { BrowserSessions } from './browser-session.ts'
import type { AuthServices } from '../provider/auth-services.ts'
import { computeTotp } from '../provider/accounts/totp.ts'
import { company } from '../provider/api/sso-api.ts'
import { createMailRoutes, type ReadableSecrets } from './mail-routes.ts'
import { createNotesApi } from './notes-api.ts'
import { createNotesRoutes } from './notes-routes.ts'
import { Notes } from './notes.ts'
import { createPageResponder } from './page-frame.ts'
import { plainPage } from './pages.ts'
import { createSignInRoutes } from './sign-in-routes.ts'
import { ICON } from './style.ts'

const maxFormBytes = 64 * 1024

export interface WebAppConfig {
  appUrl: string
  /** Base name of the session cookie. */
  cookieName: string
  /** Address shown to users for their assistant. */
  mcpUrl: string
  connectionsUrl: string
}

/** A small web application with users and data, as a team might put behind Drawbridge. */
export interface WebApp {
  fetch(request: Request): Promise<Response>
}

/** Creates Fieldnotes, the demo web app, whose users are those of the embedded provider. */
export function createWebApp(config: WebAppConfig, services: AuthServices): WebApp {
  const { appUrl } = config
  const sessions = new BrowserSessions(config.cookieName, services)
  const notes = new Notes(services)
  const mcpOrigin = new URL(config.mcpUrl).origin
  const pages = createPageResponder(new URL(services.config.url).origin, mcpOrigin)

  const app = new Hono()
  app.route('/api/notes', createNotesApi(notes, services))
  app.all('/api/*', (c) => c.json({ error: 'not_found', message: 'Page not found.' }, 404))
  app.get('/favicon.svg', (c) =>
    c.body(ICON, 200, { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=86400' }),
  )

  const site = new Hono()
  // SameSite cookies alone would accept the pages of other ports of localhost.
  site.use(csrf({ origin: new URL(appUrl).origin }))
  site.use(
    bodyLimit({
      maxSize: maxFormBytes,
      onError: (c) => pages.show(c, plainPage('Too long', 'Your input is too long.'), { status: 413 }),
    }),
  )
  site.route('/', createSignInRoutes({ appUrl, mcpOrigin, services, sessions, pages }))
  site.route('/', createMailRoutes({ read: () => readableSecrets(services), pages }))
  site.route('/', createNotesRoutes({ links: config, notes, sessions, pages }))
  app.route('/', site)
  app.notFound((c) =>
    pages.show(c, plainPage('Nothing here', 'There is no page at this address.'), { status: 404 }),
  )
  app.onError((error, c) => {
    if (error instanceof HTTPException && error.status === 403) {
      const text = 'This form did not come from a page of Fieldnotes. Open the app and try again.'
      return pages.show(c, plainPage('Refused', text), { status: 403 })
    }
    const text = 'Something went wrong. Try again.'
    if (c.req.path.startsWith('/api/')) return c.json({ error: 'internal', message: text }, 500)
    return pages.show(c, plainPage('That did not work', text), { status: 500 })
  })

  return { fetch: async (request) => app.fetch(request) }
}

function readableSecrets({ mailbox, runtime }: AuthServices): ReadableSecrets {
  const authenticators = company.accounts.flatMap(({ email, factorSecret }) =>
    factorSecret === undefined ? [] : [{ email, code: computeTotp(factorSecret, runtime.now()) }],
  )
  return { mails: mailbox.list(), authenticators }
}
