import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { authenticate, type AuthServices } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'
import type { BrowserSessions } from './browser-session.ts'
import { maxNoteLength, parseNoteText, type Notes } from './notes.ts'
import type { ShowPage } from './page.ts'
import { messagePage, notesPage } from './pages.ts'

const maxBodyBytes = 16 * 1024

interface SignedIn {
  Variables: { user: { id: string; email: string } }
}

/** Creates the notes page and its forms, relative to `/notes`. Redirects to the first page without a sign-in. */
export function createNotesRoutes(
  baseUrl: string,
  notes: Notes,
  sessions: BrowserSessions,
  show: ShowPage,
): Hono<SignedIn> {
  const routes = new Hono<SignedIn>()
  const field = async (c: Context, name: string): Promise<string | null> =>
    new URLSearchParams(await c.req.text()).get(name)

  routes.use(async (c, next) => {
    const visitor = await sessions.visitor(c)
    if (!visitor) return c.redirect('/', 303)
    c.set('user', visitor.account)
    return next()
  })
  routes.get('/', (c) => {
    const { id, email } = c.var.user
    return show(c, (view) => notesPage(view, { email, notes: notes.list(id), baseUrl }))
  })
  routes.post('/', async (c) => {
    const text = parseNoteText(await field(c, 'text'))
    if (text === undefined) return show(c, (view) => messagePage(view, 'notAdded'), 422)
    notes.add(c.var.user.id, text)
    return c.redirect('/notes', 303)
  })
  routes.post('/delete', async (c) => {
    notes.remove(c.var.user.id, (await field(c, 'id')) ?? '')
    return c.redirect('/notes', 303)
  })
  return routes
}

/**
 * Creates the JSON API of the notes, relative to `/api/notes`. It accepts a bearer token only, never the cookie: so no page of
 * another site can make a browser call it.
 */
export function createNotesApi(notes: Notes, services: AuthServices): Hono<SignedIn> {
  const api = new Hono<SignedIn>()

  api.use(async (c, next) => {
    // The provider knows its signed-in users; a signature alone proves none, as its API keys are signed too.
    try {
      c.set('user', (await authenticate(services, c.req.raw)).account)
    } catch (error) {
      if (error instanceof AuthError) return unauthorized(c, error)
      throw error
    }
    return next()
  })
  api.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: (c) => problem(c, 413, 'too_large', `The body may have ${maxBodyBytes} bytes.`),
    }),
  )

  api.get('/', (c) => c.json({ notes: notes.list(c.var.user.id) }))
  api.post('/', async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined)
    const text = parseNoteText(isJsonObject(body) ? body['text'] : undefined)
    if (text !== undefined) return c.json(notes.add(c.var.user.id, text), 201)
    const message = `Send JSON like {"text": "..."}, with a text of 1 to ${maxNoteLength} characters.`
    return problem(c, 422, 'invalid_text', message)
  })
  api.delete('/:id', (c) => {
    if (notes.remove(c.var.user.id, c.req.param('id'))) return c.body(null, 204)
    return problem(c, 404, 'not_found', 'There is no such note.')
  })
  return api
}

function problem(c: Context, status: 401 | 404 | 413 | 422, error: string, message: string): Response {
  return c.json({ error, message }, status)
}

/** Includes the error code in the challenge only when a token was sent (RFC 6750 section 3.1). */
function unauthorized(c: Context, { code }: AuthError): Response {
  const isMissing = code === 'no_authorization'
  c.header('www-authenticate', `Bearer realm="Fieldnotes"${isMissing ? '' : ', error="invalid_token"'}`)
  return isMissing
    ? problem(c, 401, 'unauthorized', 'Send "Authorization: Bearer <access token>".')
    : problem(c, 401, 'invalid_token', 'The token is not valid, or its session has ended.')
}
