import { Hono, type Context } from 'hono'
import type { BrowserSessions, Visitor } from './browser-session.ts'
import type { PageResponder } from './page-frame.ts'
import { maxNoteLength, parseNoteText, type Notes } from './notes.ts'
import { notesPage, type ServerLinks } from './pages.ts'

export interface NotesRoutesParts {
  links: ServerLinks
  notes: Notes
  sessions: BrowserSessions
  pages: PageResponder
}

type SignedIn = Extract<Visitor, { kind: 'user' }>

/** Creates the notes page and its forms. Redirects to the first page without a sign-in. */
export function createNotesRoutes({ links, notes, sessions, pages }: NotesRoutesParts): Hono {
  const routes = new Hono()

  async function forUser(
    c: Context,
    answer: (visitor: SignedIn) => Response | Promise<Response>,
  ): Promise<Response> {
    const visitor = await sessions.visitor(c.req.raw)
    if (visitor.kind === 'user') return answer(visitor)
    return pages.redirect(c, '/', { setCookies: visitor.setCookies })
  }

  function show(
    c: Context,
    { user, setCookies }: SignedIn,
    draft?: { text: string; error: string },
  ): Response {
    const page = notesPage({ email: user.email, notes: notes.list(user.id), links, draft })
    return pages.show(c, page, { status: draft ? 422 : 200, setCookies })
  }

  routes.get('/notes', (c) => forUser(c, (visitor) => show(c, visitor)))

  routes.post('/notes', (c) =>
    forUser(c, async (visitor) => {
      const typed = new URLSearchParams(await c.req.text()).get('text') ?? ''
      const text = parseNoteText(typed)
      if (text === undefined) {
        const error =
          typed.trim() === ''
            ? 'Write something first.'
            : `That note is too long: ${maxNoteLength.toLocaleString('en')} characters fit.`
        return show(c, visitor, { text: typed, error })
      }
      notes.add(visitor.user.id, text)
      return pages.redirect(c, '/notes', { setCookies: visitor.setCookies })
    }),
  )

  routes.post('/notes/delete', (c) =>
    forUser(c, async ({ user, setCookies }) => {
      const id = new URLSearchParams(await c.req.text()).get('id') ?? ''
      notes.remove(user.id, id)
      return pages.redirect(c, '/notes', { setCookies })
    }),
  )

  return routes
}
