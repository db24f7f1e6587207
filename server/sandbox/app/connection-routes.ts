import { Hono } from 'hono'
import type { AuthServices } from '../provider/auth-services.ts'
import type { BrowserSessions } from './browser-session.ts'
import { type Connection, connectionsPage } from './connections-page.ts'
import type { ShowPage } from './page.ts'

interface SignedIn {
  Variables: { token: string }
}

const maxCallMs = 10_000

/**
 * Creates the page of one's connected assistants and its form, relative to `/connections`, as a web app would build it: it knows
 * nothing of Drawbridge but the API of connections below `baseUrl`, which it calls with the user's own token.
 */
export function createConnectionRoutes(
  baseUrl: string,
  { runtime }: AuthServices,
  sessions: BrowserSessions,
  show: ShowPage,
): Hono<SignedIn> {
  const routes = new Hono<SignedIn>()
  const call = (token: string, method: string, id?: string, body?: object): Promise<Response> => {
    const url = `${baseUrl}/account/api/connections${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = new Request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return runtime.fetch(request, { signal: AbortSignal.timeout(maxCallMs) })
  }

  routes.use(async (c, next) => {
    const visitor = await sessions.visitor(c)
    if (!visitor) return c.redirect('/', 303)
    c.set('token', visitor.accessToken)
    return next()
  })
  routes.get('/', async (c) => {
    const response = await call(c.var.token, 'GET')
    if (!response.ok) throw new Error(`The list of connections answered ${response.status}.`)
    const { connections } = (await response.json()) as { connections: Connection[] }
    return show(c, (view) => connectionsPage(view, { connections, notice: c.req.query('notice') }))
  })
  routes.post('/', async (c) => {
    const form = new URLSearchParams(await c.req.text())
    const id = form.get('id') ?? ''
    const isEnd = form.get('action') === 'end'
    const response = isEnd
      ? await call(c.var.token, 'DELETE', id)
      : await call(c.var.token, 'PATCH', id, { scope: form.getAll('scope').join(' ') })
    await response.body?.cancel()
    const done = isEnd ? 'ended' : 'saved'
    return c.redirect(`/connections?notice=${response.ok ? done : 'failed'}`, 303)
  })
  return routes
}
