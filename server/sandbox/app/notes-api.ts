import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { maxNoteLength, parseNoteText, type Notes } from './notes.ts'
import { type AuthServices, sessionOf } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'

const maxBodyBytes = 16 * 1024

/**
 * Creates the JSON API of the notes, relative to `/api/notes`. It accepts a bearer token only, never the cookie: so no page of
 * another site can make a browser call it.
 */
export function createNotesApi(
  notes: Notes,
  services: AuthServices,
): Hono<{ Variables: { userId: string } }> {
  const api = new Hono<{ Variables: { userId: string } }>()

  api.use(async (c, next) => {
    const token = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (token === undefined) return unauthorized(c, 'Send "Authorization: Bearer <access token>".')
    // The provider knows its signed-in users; a signature alone proves none, as its API keys are signed too.
    try {
      c.set('userId', (await sessionOf(services, token)).account.id)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      return unauthorized(c, 'The token is not valid, or its session has ended.', 'invalid_token')
    }
    return next()
  })
  api.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: (c) => problem(c, 413, 'too_large', `The body may have ${maxBodyBytes} bytes.`),
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
    const text = parseNoteText(isJsonObject(body) ? body['text'] : undefined)
    if (text === undefined) {
      return problem(c, 422, 'invalid_text', `"text" must be 1 to ${maxNoteLength} characters long.`)
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
    return problem(c, 405, 'method_not_allowed', `This address does not support ${c.req.method}.`)
  })
  return api
}

function problem(
  c: Context,
  status: 400 | 401 | 404 | 405 | 413 | 422,
  error: string,
  message: string,
): Response {
  return c.json({ error, message }, status)
}

/** Includes the error code in the challenge only when a token was sent (RFC 6750 section 3.1). */
function unauthorized(c: Context, message: string, error?: string): Response {
  c.header('www-authenticate', `Bearer realm="Fieldnotes"${error === undefined ? '' : `, error="${error}"`}`)
  return problem(c, 401, error ?? 'unauthorized', message)
}
