import { Hono, type Context } from 'hono'
import type { BrowserSessions, Visitor } from './browser-session.ts'
import type { Pages } from './page.ts'
import { parseNoteText, type Notes } from './notes.ts'
import { messagePage, notesPage, type ServerLinks } from './pages.ts'

type SignedIn = Extract<Visitor, { kind: 'user' }>

/** Creates the notes page and its forms. Redirects to the first page without a sign-in. */
export function createNotesRoutes(
  links: ServerLinks,
  notes: Notes,
  sessions: BrowserSessions,
  pages: Pages,
): Hono {
  const routes = new Hono()

  async function forUser(
    c: Context,
    answer: (visitor: SignedIn) => Response | Promise<Response>,
  ): Promise<Response> {
    const visitor = await sessions.visitor(c.req.raw)
    if (visitor.kind === 'user') return answer(visitor)
    return pages.redirect('/', { setCookies: visitor.setCookies })
  }

  routes.get('/notes', (c) =>
    forUser(c, ({ user, setCookies }) => {
      const state = { email: user.email, notes: notes.list(user.id), links }
      return pages.show(c, (view) => notesPage(view, state), { setCookies })
    }),
  )

  routes.post('/notes', (c) =>
    forUser(c, async ({ user, setCookies }) => {
      const text = parseNoteText(new URLSearchParams(await c.req.text()).get('text'))
      if (text === undefined) {
        return pages.show(c, (view) => messagePage(view, 'notAdded'), { status: 422, setCookies })
      }
      notes.add(user.id, text)
      return pages.redirect('/notes', { setCookies })
    }),
  )

  routes.post('/notes/delete', (c) =>
    forUser(c, async ({ user, setCookies }) => {
      notes.remove(user.id, new URLSearchParams(await c.req.text()).get('id') ?? '')
      return pages.redirect('/notes', { setCookies })
    }),
  )

  return routes
}
