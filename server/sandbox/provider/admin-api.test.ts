import { createClient } from '@supabase/supabase-js'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { SITE, startProvider, type ProviderFixture } from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

interface Answer {
  status: number
  body: Record<string, unknown>
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>

async function asAdmin(provider: ProviderFixture): Promise<Call> {
  const headers = { authorization: `Bearer ${await provider.admin.serviceKey()}` }
  return async (method, path, body) => {
    const response = await provider.call(method, `/admin/users${path}`, body, headers)
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
}

const signInCode = async (provider: ProviderFixture, account = ADA): Promise<string | undefined> =>
  (await provider.client().auth.signInWithPassword(account)).error?.code

describe('who may', () => {
  it.each([
    { who: 'nobody', token: () => undefined, status: 401, code: 'no_authorization' },
    { who: 'nonsense', token: () => 'x.y.z', status: 403, code: 'bad_jwt' },
    {
      who: 'a user',
      token: async (provider: ProviderFixture) =>
        (await provider.client().auth.signInWithPassword(ADA)).data.session?.access_token,
      status: 403,
      code: 'not_admin',
    },
    {
      who: 'the anon key',
      token: (provider: ProviderFixture) => provider.admin.signClaims({ role: 'anon', exp: 32_503_680_000 }),
      status: 403,
      code: 'not_admin',
    },
    {
      who: 'a key of another secret',
      token: () =>
        new SignJWT({ role: 'service_role', exp: 32_503_680_000 })
          .setProtectedHeader({ alg: 'HS256' })
          .sign(Buffer.alloc(32, 1)),
      status: 403,
      code: 'bad_jwt',
    },
  ])('$who is refused with $code', async ({ token, status, code }) => {
    const provider = startProvider()
    await provider.admin.createUser(ADA)
    const bearer = await token(provider)
    const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['DELETE', `/${crypto.randomUUID()}`],
    ] as const) {
      const response = await provider.call(method, `/admin/users${path}`, undefined, headers)
      expect(response.status).toBe(status)
      expect(await response.json()).toMatchObject({ code })
    }
  })

  it('the service key is, whatever access tokens are signed with', async () => {
    const provider = startProvider()
    for (const algorithm of ['ES256', 'HS256'] as const) {
      provider.admin.setAlgorithm(algorithm)
      expect((await (await asAdmin(provider))('GET', '')).status).toBe(200)
    }
  })
})

describe('creating a user', () => {
  it('answers the user, who can sign in once confirmed', async () => {
    const provider = startProvider()
    const call = await asAdmin(provider)
    const created = await call('POST', '', { ...ADA, user_metadata: { nickname: 'ada' } })
    expect(created).toMatchObject({
      status: 200,
      body: { email: ADA.email, user_metadata: { nickname: 'ada' }, identities: [{ provider: 'email' }] },
    })
    expect(await signInCode(provider)).toBe('email_not_confirmed')
    const confirmed = await call('PUT', `/${String(created.body['id'])}`, { email_confirm: true })
    expect(confirmed.body['email_confirmed_at']).toBeDefined()
    expect(await signInCode(provider)).toBeUndefined()
  })

  it('makes it confirmed or banned at once', async () => {
    const provider = startProvider()
    const call = await asAdmin(provider)
    await call('POST', '', { ...ADA, email_confirm: true })
    const eve = { ...ADA, email: 'eve@example.com' }
    await call('POST', '', { ...eve, email_confirm: true, ban_duration: '876000h' })
    expect(await signInCode(provider)).toBeUndefined()
    expect(await signInCode(provider, eve)).toBe('user_banned')
  })

  it('without a password gives it one that nobody knows', async () => {
    const provider = startProvider()
    await (
      await asAdmin(provider)
    )('POST', '', { email: ADA.email, email_confirm: true, ban_duration: '1h' })
    expect(await signInCode(provider)).toBe('user_banned')
  })

  it.each([
    { body: {}, status: 400, code: 'validation_failed' },
    { body: { email: 'no address' }, status: 400, code: 'validation_failed' },
    { body: { email: 'ADA@example.com' }, status: 422, code: 'email_exists' },
    { body: { email: 'eve@example.com', ban_duration: 'forever' }, status: 400, code: 'validation_failed' },
    { body: { email: 'eve@example.com', email_confirm: 'yes' }, status: 400, code: 'bad_json' },
  ])('$body is refused with $code', async ({ body, status, code }) => {
    const provider = startProvider()
    await provider.admin.createUser(ADA)
    expect(await (await asAdmin(provider))('POST', '', body)).toMatchObject({ status, body: { code } })
    expect(provider.admin.findUser('eve@example.com')).toBeUndefined()
  })
})

describe('changing a user', () => {
  async function start(): Promise<{ provider: ProviderFixture; call: Call; id: string }> {
    const provider = startProvider()
    const { id } = await provider.admin.createUser(ADA)
    return { provider, call: await asAdmin(provider), id }
  }

  it('bans for a time, and lifts the ban', async () => {
    const { provider, call, id } = await start()
    const { body } = await call('PUT', `/${id}`, { ban_duration: '2h' })
    const until = new Date((provider.runtime.now() + 7200) * 1000).toISOString()
    expect(body['banned_until']).toBe(until)
    expect(await signInCode(provider)).toBe('user_banned')
    await call('PUT', `/${id}`, { ban_duration: 'none' })
    expect(await signInCode(provider)).toBeUndefined()
    await call('PUT', `/${id}`, { ban_duration: '2h' })
    provider.runtime.advance(7200)
    expect(await signInCode(provider)).toBeUndefined()
  })

  it('gives a new password and ends every session', async () => {
    const { provider, call, id } = await start()
    await provider.client().auth.signInWithPassword(ADA)
    expect((await call('PUT', `/${id}`, { password: '123' })).body['code']).toBe('weak_password')
    expect(provider.admin.listSessions(id)).toHaveLength(1)
    await call('PUT', `/${id}`, { password: 'battery staple' })
    expect(provider.admin.listSessions(id)).toEqual([])
    expect(await signInCode(provider)).toBe('invalid_credentials')
    expect(await signInCode(provider, { ...ADA, password: 'battery staple' })).toBeUndefined()
  })

  it('gives a new address, unless it is taken', async () => {
    const { provider, call, id } = await start()
    await provider.admin.createUser({ email: 'eve@example.com' })
    const taken = await call('PUT', `/${id}`, { email: 'Eve@example.com' })
    expect(taken).toMatchObject({ status: 422, body: { code: 'email_exists' } })
    const moved = await call('PUT', `/${id}`, { email: 'Countess@example.com' })
    expect(moved.body).toMatchObject({
      email: 'countess@example.com',
      identities: [{ email: 'countess@example.com' }],
    })
    expect(await signInCode(provider, { ...ADA, email: 'countess@example.com' })).toBeUndefined()
  })

  it.each([
    { id: 'nobody', code: 'validation_failed' },
    { id: '00000000-0000-4000-8000-000000000000', code: 'user_not_found' },
  ])('$id is 404 $code', async ({ id, code }) => {
    const { call } = await start()
    for (const method of ['GET', 'PUT', 'DELETE']) {
      expect(await call(method, `/${id}`)).toMatchObject({ status: 404, body: { code } })
    }
  })
})

describe('reading and deleting users', () => {
  it('lists them newest first, by pages', async () => {
    const provider = startProvider()
    const call = await asAdmin(provider)
    for (const name of ['a', 'b', 'c']) {
      await provider.admin.createUser({ email: `${name}@example.com` })
      provider.runtime.advance(1)
    }
    const emails = async (query: string): Promise<unknown> =>
      ((await call('GET', query)).body['users'] as { email: string }[]).map(({ email }) => email[0])
    expect(await emails('')).toEqual(['c', 'b', 'a'])
    expect(await emails('?page=2&per_page=2')).toEqual(['a'])
    expect((await call('GET', '?page=0')).status).toBe(400)
  })

  it('deletes one with its sessions', async () => {
    const provider = startProvider()
    const call = await asAdmin(provider)
    const { id } = await provider.admin.createUser(ADA)
    expect((await call('GET', `/${id}`)).body['email']).toBe(ADA.email)
    expect(await call('DELETE', `/${id}`)).toEqual({ status: 200, body: {} })
    expect((await call('GET', `/${id}`)).status).toBe(404)
  })

  it('works through the admin client of the vendor', async () => {
    const provider = startProvider()
    const client = createClient(SITE, await provider.admin.serviceKey(), {
      auth: { persistSession: false, autoRefreshToken: false },
      global: { fetch: (input, init) => provider.fetch(new Request(input, init)) },
    })
    const created = await client.auth.admin.createUser({ ...ADA, email_confirm: true })
    expect(created.error).toBeNull()
    const id = created.data.user?.id ?? ''
    expect((await client.auth.admin.updateUserById(id, { ban_duration: '24h' })).error).toBeNull()
    expect((await client.auth.admin.listUsers()).data.users).toHaveLength(1)
    expect((await client.auth.admin.getUserById(id)).data.user?.email).toBe(ADA.email)
    expect((await client.auth.admin.deleteUser(id)).error).toBeNull()
  })
})
