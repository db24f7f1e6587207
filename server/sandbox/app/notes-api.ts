import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { MAX_NOTE_LENGTH, parseNoteText, type Notes } from './notes.ts'
import type { TokenVerifier } from './token-verifier.ts'

const MAX_BODY_BYTES = 16 * 1024

/**
 * The JSON API of the notes, relative to `/api/notes`. It takes a bearer token only, never the cookie: so no page of
 * another site can make a browser call it.
 */
export function createNotesApi(
  notes: Notes,
  verifyToken: TokenVerifier,
): Hono<{ Variables: { userId: string } }> {
  const api = new Hono<{ Variables: { userId: string } }>()

  api.use(async (c, next) => {
    const token = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (token === undefined) return unauthorized(c, 'Send "Authorization: Bearer <access token>".')
    const verification = await verifyToken(token)
    switch (verification.kind) {
      case 'caller':
        c.set('userId', verification.userId)
        return next()
      case 'refused':
        return unauthorized(c, verification.reason, 'invalid_token')
      case 'unavailable':
        return problem(c, 503, 'temporarily_unavailable', 'The session provider does not answer. Try again.')
    }
  })
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (c) => problem(c, 413, 'too_large', `The body may have ${MAX_BODY_BYTES} bytes.`),
    }),
  )

  api.get('/', (c) => c.json({ notes: notes.list(c.get('userId')) }))
  api.post('/', async (c) => {
    let body: unknown
    try {
      body = await c.req.json()
    } catch {
      return problem(c, 400, 'invalid_json', 'The body must be JSON like {"text": "..."}.')
    }
    const text = parseNoteText(
      typeof body === 'object' && body !== null && 'text' in body ? body.text : undefined,
    )
    if (text === undefined) {
      return problem(c, 422, 'invalid_text', `"text" must be 1 to ${MAX_NOTE_LENGTH} characters long.`)
    }
    return c.json(notes.add(c.get('userId'), text), 201)
  })
  api.delete('/:id', (c) => {
    if (notes.remove(c.get('userId'), c.req.param('id'))) return c.body(null, 204)
    return problem(c, 404, 'not_found', 'There is no such note.')
  })
  api.all('*', (c) => {
    const isList = /\/api\/notes\/?$/.test(c.req.path)
    c.header('allow', isList ? 'GET, POST' : 'DELETE')
    return problem(c, 405, 'method_not_allowed', `This address does not take ${c.req.method}.`)
  })
  return api
}

function problem(
  c: Context,
  status: 400 | 401 | 404 | 405 | 413 | 422 | 503,
  error: string,
  message: string,
): Response {
  return c.json({ error, message }, status)
}

/** RFC 6750 section 3.1: the code stands in the challenge only when a token was sent. */
function unauthorized(c: Context, message: string, error?: string): Response {
  c.header('www-authenticate', `Bearer realm="Fieldnotes"${error === undefined ? '' : `, error="${error}"`}`)
  return problem(c, 401, error ?? 'unauthorized', message)
}
