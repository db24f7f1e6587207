import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import type { FetchHandler } from '../../http/endpoint.ts'
import { BrowserSessions } from './browser-session.ts'
import type { AuthServices } from '../provider/auth-services.ts'
import { createConnectRoutes } from './connect-routes.ts'
import { createConnectionRoutes } from './connection-routes.ts'
import { createMailRoutes } from './mail-routes.ts'
import { createNotesApi, createNotesRoutes } from './notes-routes.ts'
import { Notes } from './notes.ts'
import { type AppTexts, createShowPage } from './page.ts'
import { messagePage } from './pages.ts'
import { createGoogleRoutes, createSignInRoutes } from './sign-in-routes.ts'

const maxFormBytes = 64 * 1024

/**
 * Creates Fieldnotes, the demo web app, whose users come from the embedded provider: a small application with users and data, as a
 * team might put behind Drawbridge. `baseUrl` is Drawbridge's: users see its address for their assistant.
 */
export function createWebApp(
  { appUrl, baseUrl, cookieName }: { appUrl: string; baseUrl: string; cookieName: string },
  services: AuthServices,
): { fetch: FetchHandler } {
  const sessions = new BrowserSessions(cookieName, services)
  const notes = new Notes(services)
  const mcpOrigin = new URL(baseUrl).origin
  const show = createShowPage({ mcpOrigin, now: services.runtime.now })
  const showError = (c: Context, error: keyof AppTexts['errors'], status: number): Response =>
    show(c, (view) => messagePage(view, error), status)

  const app = new Hono()
  app.route('/api/notes', createNotesApi(notes, services))
  app.all('/api/*', (c) => c.json({ error: 'not_found', message: 'Page not found.' }, 404))

  const site = new Hono()
  // SameSite cookies alone would accept the pages of other ports of localhost.
  site.use(csrf({ origin: new URL(appUrl).origin }))
  site.use(bodyLimit({ maxSize: maxFormBytes, onError: (c) => showError(c, 'tooLong', 413) }))
  const ports = { appUrl, mcpOrigin, services, sessions, show }
  site.route('/', createSignInRoutes(ports))
  site.route('/', createGoogleRoutes(ports))
  site.route('/', createMailRoutes(services, show))
  site.route('/notes', createNotesRoutes(baseUrl, notes, sessions, show))
  site.route('/connect', createConnectRoutes(baseUrl, services, sessions, show))
  site.route('/connections', createConnectionRoutes(baseUrl, services, sessions, show))
  app.route('/', site)
  app.notFound((c) => showError(c, 'notFound', 404))
  app.onError((error, c) => {
    if (error instanceof HTTPException && error.status === 403) return showError(c, 'foreignForm', 403)
    if (!c.req.path.startsWith('/api/')) return showError(c, 'failed', 500)
    return c.json({ error: 'internal', message: 'Something went wrong. Try again.' }, 500)
  })

  return { fetch: async (request) => app.fetch(request) }
}
