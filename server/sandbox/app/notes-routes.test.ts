import { describe, expect, it, vi } from 'vitest'
import {
  openWebApp,
  SITE,
  startProvider,
  type ProviderFixture,
} from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

interface Site {
  provider: ProviderFixture
  call: (
    method: string,
    path: string,
    options?: { token?: string; body?: string; authorization?: string },
  ) => Promise<Response>
  signIn: (email?: string) => Promise<string>
}

function openSite(): Site {
  const provider = startProvider()
  const app = openWebApp(provider)
  return {
    provider,
    call(method, path, { token, body, authorization } = {}) {
      const headers = new Headers(body === undefined ? {} : { 'content-type': 'application/json' })
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      if (authorization !== undefined) headers.set('authorization', authorization)
      return app.fetch(
        new Request(`${SITE}${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
      )
    },
    async signIn(email = ADA.email) {
      if (provider.admin.findUser(email) === undefined) await provider.admin.createUser({ ...ADA, email })
      const { data } = await provider.client().auth.signInWithPassword({ ...ADA, email })
      return data.session?.access_token ?? ''
    },
  }
}

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('the notes API', () => {
  it('the notes API adds, lists newest first and deletes', async () => {
    const { call, provider, signIn } = openSite()
    const token = await signIn()
    const first = await call('POST', '/api/notes', { token, body: '{"text":" one "}' })
    expect(first.status).toBe(201)
    const note = JSON.parse(await first.text())
    expect(note).toEqual({
      id: expect.stringMatching(/^[\w-]{11}$/),
      text: 'one',
      created_at: new Date(provider.runtime.now() * 1000).toISOString(),
    })
    await call('POST', '/api/notes', { token, body: '{"text":"two"}' })
    const list = await call('GET', '/api/notes', { token })
    expect(await list.json()).toMatchObject({ notes: [{ text: 'two' }, note] })
    expect((await call('DELETE', `/api/notes/${note.id}`, { token })).status).toBe(204)
    expect(await (await call('GET', '/api/notes', { token })).json()).toMatchObject({
      notes: [{ text: 'two' }],
    })
  })

  it('the notes API shows and deletes only the caller’s notes', async () => {
    const { call, signIn } = openSite()
    const [ada, eve] = [await signIn(), await signIn('eve@example.com')]
    const { id } = JSON.parse(
      await (await call('POST', '/api/notes', { token: ada, body: '{"text":"mine"}' })).text(),
    )
    expect(await (await call('GET', '/api/notes', { token: eve })).json()).toEqual({ notes: [] })
    expect((await call('DELETE', `/api/notes/${id}`, { token: eve })).status).toBe(404)
    expect(await (await call('GET', '/api/notes', { token: ada })).json()).toMatchObject({ notes: [{ id }] })
  })

  it.each([
    ['POST', '/api/notes', '{', 422, 'invalid_text'],
    ['POST', '/api/notes', 'null', 422, 'invalid_text'],
    ['POST', '/api/notes', '{"text":7}', 422, 'invalid_text'],
    ['POST', '/api/notes', '{"text":" \\n "}', 422, 'invalid_text'],
    ['POST', '/api/notes', JSON.stringify({ text: 'x'.repeat(2001) }), 422, 'invalid_text'],
    ['POST', '/api/notes', JSON.stringify({ text: 'x'.repeat(20_000) }), 413, 'too_large'],
    ['DELETE', '/api/notes/unknown', undefined, 404, 'not_found'],
    ['PUT', '/api/notes', '{}', 404, 'not_found'],
    ['GET', '/api/other', undefined, 404, 'not_found'],
  ])('the notes API answers %s %s %s with %i %s', async (method, path, body, status, error) => {
    const { call, signIn } = openSite()
    const token = await signIn()
    const response = await call(method, path, { token, ...(body === undefined ? {} : { body }) })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toEqual({ error, message: expect.any(String) })
  })

  it('the notes API answers an internal failure with JSON without details', async () => {
    const { call, provider, signIn } = openSite()
    const token = await signIn()
    vi.spyOn(provider.services.accounts, 'get').mockImplementationOnce(() => {
      throw new Error('The disk is full.')
    })
    const response = await call('GET', '/api/notes', { token })
    expect(response.status).toBe(500)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toEqual({ error: 'internal', message: 'Something went wrong. Try again.' })
  })
})

describe('a caller of the notes API', () => {
  it.each([
    { authorization: undefined, error: 'unauthorized' },
    { authorization: 'Basic YTpi', error: 'unauthorized' },
    { authorization: 'Bearer', error: 'unauthorized' },
    { authorization: 'Bearer not-a-jwt', error: 'invalid_token' },
  ])('the notes API answers Authorization $authorization with $error', async ({ authorization, error }) => {
    const response = await openSite().call('GET', '/api/notes', { ...(authorization && { authorization }) })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="Fieldnotes"/)
    expect(response.headers.get('www-authenticate')?.includes('error="invalid_token"')).toBe(
      error === 'invalid_token',
    )
    expect(await response.json()).toEqual({ error, message: expect.any(String) })
  })

  it('the notes API refuses signed tokens without a session, and API keys', async () => {
    const { call, provider, signIn } = openSite()
    const good = claimsOf(await signIn())
    const { session_id: _, ...noSession } = good
    for (const claims of [
      noSession,
      { ...good, sub: '' },
      { ...good, exp: 1_700_000_000 },
      { role: 'anon' },
    ]) {
      const token = await provider.admin.signClaims(claims)
      const response = await call('GET', '/api/notes', { token })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: 'invalid_token' })
    }
    const key = await provider.admin.serviceKey()
    expect((await call('GET', '/api/notes', { token: key })).status).toBe(401)
  })
})
