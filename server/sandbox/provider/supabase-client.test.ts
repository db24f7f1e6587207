import { describe, expect, it } from 'vitest'
import {
  chooseAt,
  openWebApp,
  type ProviderFixture,
  SITE,
  startProvider,
  walkGoogle,
} from '../../../tests/support/sandbox/provider-fixture.ts'
import { hashPassword } from './accounts/password.ts'
import { computeTotp } from './accounts/totp.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

describe('an unmodified supabase-js client', () => {
  it('supabase-js signs up and is signed in at once', async () => {
    const { client } = startProvider()
    const { data, error } = await client().auth.signUp({
      ...ADA,
      email: 'ADA@Example.com',
      options: { data: { nickname: 'ada' } },
    })
    expect(error).toBeNull()
    expect(data.session).toMatchObject({ token_type: 'bearer', expires_in: 3600 })
    expect(data.user).toMatchObject({
      aud: 'authenticated',
      role: 'authenticated',
      email: ADA.email,
      email_confirmed_at: expect.any(String),
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { nickname: 'ada', email_verified: true },
    })
    expect(data.user?.factors).toBeUndefined()
  })

  it('supabase-js learns that a refresh token was tampered with', async () => {
    const { admin, client } = startProvider()
    await admin.createUser(ADA)
    const { auth } = client()
    const { data } = await auth.signInWithPassword(ADA)
    await auth.refreshSession()
    const [id, , mac = ''] = (data.session?.refresh_token ?? '').split('.')
    for (const forged of [`${id}.0.${mac}x`, `${id}.1.${mac}`, `${id}.0`]) {
      const { error } = await client().auth.refreshSession({ refresh_token: forged })
      expect(error?.code).toBe('validation_failed')
    }
  })

  it('proving the second factor ends every session without it, and earlier tokens', async () => {
    const { admin, client, runtime } = startProvider()
    const { id } = await admin.createUser(ADA)
    const { factorId, secret } = admin.enrollTotp(id)
    const [{ auth }, other] = [client(), client()]
    const before = [await auth.signInWithPassword(ADA), await other.auth.signInWithPassword(ADA)]
    await auth.mfa.challengeAndVerify({ factorId, code: computeTotp(secret, runtime.now()) })
    const errors = []
    for (const { data } of before) {
      const { error } = await client().auth.refreshSession({
        refresh_token: data.session?.refresh_token ?? '',
      })
      errors.push(error?.code)
    }
    expect(errors).toEqual(['refresh_token_already_used', 'refresh_token_not_found'])
  })

  it('an account with a second factor changes its password only in a session that proved it', async () => {
    const { admin, client, runtime } = startProvider()
    const { id } = await admin.createUser(ADA)
    const { factorId, secret } = admin.enrollTotp(id)
    const { auth } = client()
    await auth.signInWithPassword(ADA)
    const refused = await auth.updateUser({ password: 'battery staple' })
    expect(refused.error).toMatchObject({ code: 'insufficient_aal', status: 401 })
    await auth.mfa.challengeAndVerify({ factorId, code: computeTotp(secret, runtime.now()) })
    const changed = await auth.updateUser({ password: 'battery staple', data: { nickname: 'countess' } })
    expect(changed.data.user?.user_metadata['nickname']).toBe('countess')
    expect((await client().auth.signInWithPassword(ADA)).error?.code).toBe('invalid_credentials')
  })
})

it('a new password ends the other sessions of the account, and not the one that set it', async () => {
  const { client } = startProvider()
  const [{ auth }, other] = [client(), client()]
  await auth.signUp(ADA)
  await other.auth.signInWithPassword(ADA)
  const changed = await auth.updateUser({ password: 'battery staple' })
  expect(changed.error).toBeNull()
  expect((await other.auth.refreshSession()).error?.code).toBe('refresh_token_not_found')
  expect((await auth.refreshSession()).error).toBeNull()
})

it('the embedded provider says that it changes no address, and leaves it', async () => {
  const { admin, client } = startProvider()
  const { auth } = client()
  await auth.signUp(ADA)
  const { error } = await auth.updateUser({ email: 'eve@example.com' })
  expect(error).toMatchObject({ code: 'validation_failed', status: 400 })
  expect((await auth.updateUser({ email: 'Ada@Example.com' })).error).toBeNull()
  expect(admin.findUser(ADA.email)).toBeDefined()
})

it('the owner of an address that was never confirmed signs in with Google, which voids an earlier password', async () => {
  const provider = startProvider()
  const { accounts } = provider.services
  const taken = { email: 'ada@google.example', password: 'set by another' }
  const passwordHash = await hashPassword(taken.password, new Uint8Array(16))
  const { id } = accounts.create({ kind: 'email', email: taken.email, passwordHash, confirmed: false })
  const { auth } = provider.client()
  const { data } = await auth.signInWithOAuth({ provider: 'google', options: { skipBrowserRedirect: true } })
  const { searchParams } = await walkGoogle(provider, data.url ?? '', 'Ada Example')
  const signedIn = await auth.exchangeCodeForSession(searchParams.get('code') ?? '')
  expect(signedIn.data.user).toMatchObject({ id, app_metadata: { providers: ['google'] } })
  const attempt = await provider.client().auth.signInWithPassword(taken)
  expect(attempt.error?.code).toBe('invalid_credentials')
})

describe('single sign-on', () => {
  const options = { redirectTo: `${SITE}/auth/callback` }
  const domain = 'company.example'

  async function signIn({ client, fetch }: ProviderFixture, name = 'Lin') {
    const { auth } = client()
    const { data } = await auth.signInWithSSO({ domain, options })
    const { searchParams } = await chooseAt({ fetch }, data?.url ?? '', name)
    const signedIn = await auth.exchangeCodeForSession(searchParams.get('code') ?? '')
    return { auth, url: data?.url ?? '', id: signedIn.data.user?.id ?? '' }
  }

  it('single sign-on has its own account, the same each time', async () => {
    const provider = startProvider()
    const other = await provider.admin.createUser({ email: 'lin@company.example' })
    const { auth, id } = await signIn(provider)
    expect(id).not.toBe(other.id)
    expect((await auth.getClaims()).data?.claims.amr).toMatchObject([{ method: 'sso/saml' }])
    expect((await signIn(provider)).id).toBe(id)
    expect(provider.admin.findUser('lin@company.example')).toEqual(other)
  })

  it('otp@company.example has a second factor, whose code the mail page shows', async () => {
    const provider = startProvider()
    await signIn(provider, 'Otto')
    const { auth, id } = await signIn(provider, 'Otto')
    expect((await auth.mfa.getAuthenticatorAssuranceLevel()).data).toMatchObject({
      currentLevel: 'aal1',
      nextLevel: 'aal2',
    })
    const factors = (await auth.mfa.listFactors()).data?.totp ?? []
    expect(factors).toHaveLength(1)
    const page = await (await openWebApp(provider).fetch(new Request(`${SITE}/mail`))).text()
    const code = /Authenticator app of otp@company\.example.*?<strong>(\d{6})</s.exec(page)?.[1] ?? ''
    const verified = await auth.mfa.challengeAndVerify({ factorId: factors[0]?.id ?? '', code })
    expect(verified.data?.user.id).toBe(id)
    expect((await auth.mfa.getAuthenticatorAssuranceLevel()).data?.currentLevel).toBe('aal2')
  })

  it('single sign-on that is denied, late, used or banned ends at the site URL', async () => {
    const provider = startProvider()
    const { auth } = provider.client()
    const start = async (): Promise<string> => (await auth.signInWithSSO({ domain, options })).data?.url ?? ''
    const errorAfter = async (url: string, button: string): Promise<string | null> => {
      const back = await chooseAt(provider, url, button)
      expect(`${back.origin}${back.pathname}`).toBe(`${SITE}/`)
      return back.searchParams.get('error_code')
    }
    expect(await errorAfter(await start(), 'Deny')).toBe('validation_failed')
    const { id, url } = await signIn(provider)
    expect(await errorAfter(url, 'Lin')).toBe('saml_relay_state_not_found')
    const late = await start()
    provider.runtime.advance(300)
    expect(await errorAfter(late, 'Lin')).toBe('flow_state_expired')
    provider.admin.banUser(id)
    expect(await errorAfter(await start(), 'Lin')).toBe('user_banned')
  })
})
