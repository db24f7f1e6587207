import { describe, expect, it } from 'vitest'
import { startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from './accounts/totp.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

describe('an unmodified supabase-js client', () => {
  it('signs up and is signed in at once', async () => {
    const { client } = startProvider()
    const { data, error } = await client().auth.signUp({
      ...ADA,
      options: { data: { nickname: 'ada' } },
    })
    expect(error).toBeNull()
    expect(data.session?.token_type).toBe('bearer')
    expect(data.session?.expires_in).toBe(3600)
    expect(data.user).toMatchObject({
      aud: 'authenticated',
      role: 'authenticated',
      email: ADA.email,
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { nickname: 'ada', email_verified: true },
      identities: [{ provider: 'email', identity_data: { email: ADA.email } }],
    })
    expect(data.user?.email_confirmed_at).toBeDefined()
    expect(data.user?.factors).toBeUndefined()
  })

  it('is refused a second account for one address, in any letter case', async () => {
    const { client } = startProvider()
    await client().auth.signUp(ADA)
    const { data, error } = await client().auth.signUp({ ...ADA, email: 'ADA@Example.com' })
    expect(error).toMatchObject({
      code: 'user_already_exists',
      status: 422,
      message: 'User already registered',
    })
    expect(data.session).toBeNull()
  })

  it('learns why a password is weak', async () => {
    const { client } = startProvider()
    const { error } = await client().auth.signUp({ ...ADA, password: '12345' })
    expect(error).toMatchObject({ name: 'AuthWeakPasswordError', code: 'weak_password', reasons: ['length'] })
  })

  it('is refused until its address is confirmed', async () => {
    const { admin, client } = startProvider()
    const { id } = await admin.createUser({ ...ADA, confirmed: false })
    const first = await client().auth.signInWithPassword(ADA)
    expect(first.error?.code).toBe('email_not_confirmed')
    admin.confirmUser(id)
    expect((await client().auth.signInWithPassword(ADA)).error).toBeNull()
  })

  it('reads the user and the verified claims of its token', async () => {
    const { admin, client, runtime } = startProvider()
    const { id } = await admin.createUser(ADA)
    const { auth } = client()
    await auth.signInWithPassword(ADA)
    expect((await auth.getUser()).data.user).toMatchObject({ id, email: ADA.email })
    const { data, error } = await auth.getClaims()
    expect(error).toBeNull()
    expect(data?.header.alg).toBe('ES256')
    expect(data?.claims).toMatchObject({
      iss: 'http://localhost:8788/auth/v1',
      aud: 'authenticated',
      sub: id,
      role: 'authenticated',
      email: ADA.email,
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: runtime.now() }],
      is_anonymous: false,
      iat: runtime.now(),
      exp: runtime.now() + 3600,
    })
    expect(admin.listSessions(id).map((session) => session.id)).toEqual([data?.claims.session_id])
    await auth.getClaims()
    expect(admin.counters).toMatchObject({ jwks: 1, user: 1 })
  })

  it.each([
    { scope: 'local', left: [false, true] },
    { scope: 'others', left: [true, false] },
    { scope: 'global', left: [false, false] },
  ] as const)('signs out with scope $scope', async ({ scope, left }) => {
    const { admin, client } = startProvider()
    await admin.createUser(ADA)
    const [here, there] = [client().auth, client().auth]
    const tokens = []
    for (const auth of [here, there]) {
      tokens.push((await auth.signInWithPassword(ADA)).data.session?.access_token ?? '')
    }
    expect((await here.signOut({ scope })).error).toBeNull()
    const observer = client().auth
    for (const [index, token] of tokens.entries()) {
      const { error } = await observer.getUser(token)
      expect(error?.name).toBe(left[index] ? undefined : 'AuthSessionMissingError')
      // The token itself stays valid for services that check only the signature.
      expect((await observer.getClaims(token)).error).toBeNull()
    }
  })

  it('changes its password, which ends the other sessions', async () => {
    const { admin, client } = startProvider()
    const { id } = await admin.createUser(ADA)
    const { auth } = client()
    await auth.signInWithPassword(ADA)
    await client().auth.signInWithPassword(ADA)
    expect((await auth.updateUser({ password: ADA.password })).error?.code).toBe('same_password')
    expect((await auth.updateUser({ password: 'short' })).error?.code).toBe('weak_password')
    expect(admin.listSessions(id)).toHaveLength(2)
    const { data, error } = await auth.updateUser({
      password: 'battery staple',
      data: { nickname: 'countess' },
    })
    expect(error).toBeNull()
    expect(data.user?.user_metadata['nickname']).toBe('countess')
    expect(admin.listSessions(id)).toHaveLength(1)
    expect((await client().auth.signInWithPassword(ADA)).error?.code).toBe('invalid_credentials')
    const renewed = await client().auth.signInWithPassword({ ...ADA, password: 'battery staple' })
    expect(renewed.error).toBeNull()
  })
})

describe('a password', () => {
  it('is changed by a session with the second factor, when the account has one', async () => {
    const { admin, client, runtime } = startProvider()
    const { id } = await admin.createUser(ADA)
    const { factorId, secret } = admin.enrollTotp(id)
    const { auth } = client()
    await auth.signInWithPassword(ADA)
    const refused = await auth.updateUser({ password: 'battery staple' })
    expect(refused.error).toMatchObject({ code: 'insufficient_aal', status: 401 })
    await auth.mfa.challengeAndVerify({ factorId, code: computeTotp(secret, runtime.now()) })
    expect((await auth.updateUser({ password: 'battery staple' })).error).toBeNull()
  })
})
