import { createServerClient } from '@supabase/ssr'
import type { User } from '@supabase/supabase-js'
import { describe, expect, it } from 'vitest'
import {
  AUTH,
  SITE,
  startProvider,
  walkGoogle,
  type ProviderFixture,
} from '../../../../tests/support/sandbox/provider-fixture.ts'

const CALLBACK = 'http://localhost:8787/oauth/callback'
const VERIFIER = 'a-code-verifier-of-at-least-forty-three-characters'

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return Buffer.from(digest).toString('base64url')
}

async function authorizeUrl(changes: Record<string, string> = {}): Promise<string> {
  const parameters = {
    provider: 'google',
    redirect_to: CALLBACK,
    code_challenge: await challengeOf(VERIFIER),
    code_challenge_method: 's256',
    ...changes,
  }
  return `${AUTH}/authorize?${new URLSearchParams(parameters).toString()}`
}

const exchange = (provider: ProviderFixture, code: string, verifier = VERIFIER): Promise<Response> =>
  provider.call('POST', '/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })

async function signInSocially(provider: ProviderFixture, button = 'Ada Example'): Promise<{ user: User }> {
  const target = await walkGoogle(provider, await authorizeUrl(), button)
  const response = await exchange(provider, target.searchParams.get('code') ?? '')
  return JSON.parse(await response.text())
}

describe('a social sign-in', () => {
  it('works with unmodified clients and their cookies', async () => {
    const provider = startProvider()
    const jar = new Map<string, string>()
    const client = () =>
      createServerClient(SITE, 'sb_publishable_test', {
        cookies: {
          getAll: () => [...jar].map(([name, value]) => ({ name, value })),
          setAll(cookies) {
            for (const { name, value, options } of cookies) {
              if (value === '' || options.maxAge === 0) jar.delete(name)
              else jar.set(name, value)
            }
          },
        },
        global: { fetch: (input, init) => provider.fetch(new Request(input, init)) },
      })
    const start = await client().auth.signInWithOAuth({
      provider: 'google',
      options: { redirectTo: CALLBACK, skipBrowserRedirect: true },
    })
    expect(start.error).toBeNull()
    const target = await walkGoogle(provider, start.data.url ?? '', 'Grace Example')
    expect(target.origin + target.pathname).toBe(CALLBACK)
    const { data, error } = await client().auth.exchangeCodeForSession(target.searchParams.get('code') ?? '')
    expect(error).toBeNull()
    expect(data.session?.provider_token).toBeTruthy()
    expect(data.user).toMatchObject({
      email: 'grace@google.example',
      app_metadata: { provider: 'google', providers: ['google'] },
      user_metadata: { full_name: 'Grace Example', email_verified: true },
    })
    expect(
      [...jar.keys()].filter((name) => /^sb-localhost-auth-token(\.\d+)?$/.test(name)).length,
    ).toBeGreaterThan(0)
    expect((await client().auth.getClaims()).data?.claims.amr).toMatchObject([{ method: 'oauth' }])
  })

  it('comes back to the same account each time', async () => {
    const provider = startProvider()
    const first = await signInSocially(provider)
    const second = await signInSocially(provider)
    const other = await signInSocially(provider, 'Grace Example')
    expect(second.user.id).toBe(first.user.id)
    expect(other.user.id).not.toBe(first.user.id)
  })

  it('joins the password account with the same address', async () => {
    const provider = startProvider()
    const ada = { email: 'ada@google.example', password: 'correct horse' }
    const { id } = await provider.admin.createUser(ada)
    const { user } = await signInSocially(provider)
    expect(user).toMatchObject({ id, app_metadata: { provider: 'email', providers: ['email', 'google'] } })
    expect((await provider.client().auth.signInWithPassword(ada)).error).toBeNull()
  })

  it('takes an unconfirmed account over, without the password somebody gave it', async () => {
    const provider = startProvider()
    const planted = { email: 'ada@google.example', password: 'attacker knows' }
    const { id } = await provider.admin.createUser({ ...planted, confirmed: false })
    const { user } = await signInSocially(provider)
    expect(user).toMatchObject({ id, app_metadata: { providers: ['google'] } })
    expect(user.email_confirmed_at).toBeTruthy()
    const attempt = await provider.client().auth.signInWithPassword(planted)
    expect(attempt.error?.code).toBe('invalid_credentials')
  })

  it('passes hints on, but none of its own parameters', async () => {
    const provider = startProvider()
    const url = await authorizeUrl({
      prompt: 'consent',
      login_hint: 'grace@google.example',
      state: 'mine',
      scopes: 'x',
    })
    const response = await provider.fetch(new Request(url))
    expect(response.status).toBe(302)
    const google = new URL(response.headers.get('location') ?? '')
    expect(google.href).toMatch(/^http:\/\/localhost:8788\/google\/authorize\?/)
    expect(Object.fromEntries(google.searchParams)).toEqual({
      prompt: 'consent',
      login_hint: 'grace@google.example',
      response_type: 'code',
      redirect_uri: `${AUTH}/callback`,
      state: expect.not.stringContaining('mine'),
    })
    const page = await (await provider.fetch(new Request(google))).text()
    expect(page.indexOf('Grace Example')).toBeLessThan(page.indexOf('Ada Example'))
  })
})

it('a plain challenge is the verifier itself', async () => {
  const provider = startProvider()
  const verifier = 'v'.repeat(43)
  const url = await authorizeUrl({ code_challenge: verifier, code_challenge_method: 'plain' })
  const code = (await walkGoogle(provider, url, '@')).searchParams.get('code')
  const redeem = (code_verifier: string): Promise<Response> =>
    provider.call('POST', '/token?grant_type=pkce', { auth_code: code, code_verifier })
  expect((await redeem('w'.repeat(43))).status).toBe(400)
  expect((await redeem(verifier)).status).toBe(200)
})

describe('a social sign-in that fails', () => {
  it.each([
    { what: 'no challenge', changes: { code_challenge: '' }, code: 'validation_failed' },
    {
      what: 'a challenge that is no SHA-256',
      changes: { code_challenge: 'short' },
      code: 'validation_failed',
    },
    { what: 'no method', changes: { code_challenge_method: '' }, code: 'validation_failed' },
    { what: 'another provider', changes: { provider: 'github' }, code: 'validation_failed' },
  ])('for $what, does so at once', async ({ changes, code }) => {
    const provider = startProvider()
    const response = await provider.fetch(new Request(await authorizeUrl(changes)))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error_code: code })
  })

  it('by denial, says so in query and fragment', async () => {
    const target = await walkGoogle(startProvider(), await authorizeUrl(), 'Deny')
    expect(target.origin + target.pathname).toBe(CALLBACK)
    expect(target.searchParams.get('error')).toBe('access_denied')
    expect(target.searchParams.get('error_description')).toBeTruthy()
    expect(target.hash).toMatch(/^#error=access_denied&.*&sb=$/)
    expect(target.searchParams.has('code')).toBe(false)
  })

  it('by a ban, says so', async () => {
    const provider = startProvider()
    await provider.admin.createUser({ email: 'ada@google.example', banned: true })
    const target = await walkGoogle(provider, await authorizeUrl(), 'Ada Example')
    expect(Object.fromEntries(target.searchParams)).toMatchObject({
      error: 'access_denied',
      error_code: 'user_banned',
    })
  })

  it('by a redirect_to that is not allowed, ends at the site', async () => {
    const provider = startProvider()
    const target = await walkGoogle(
      provider,
      await authorizeUrl({ redirect_to: 'https://elsewhere.example/' }),
      'Ada Example',
    )
    expect(target.origin).toBe(SITE)
    expect(target.searchParams.has('code')).toBe(true)
  })

  it.each([
    ['an unknown state', '?state=unknown&code=x', 'bad_oauth_state'],
    ['no state', '?code=x', 'bad_oauth_callback'],
  ])('by %s, ends at the site with an error in the query alone', async (_what, query, code) => {
    const response = await startProvider().fetch(new Request(`${AUTH}/callback${query}`))
    expect(response.status).toBe(303)
    const target = new URL(response.headers.get('location') ?? '')
    expect(target.origin).toBe(SITE)
    expect(target.searchParams.get('error_code')).toBe(code)
    expect(target.hash).toBe('')
  })

  it('by a code that Google did not give, says so', async () => {
    const provider = startProvider()
    const toGoogle = await provider.fetch(new Request(await authorizeUrl()))
    const state = new URL(toGoogle.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const response = await provider.fetch(new Request(`${AUTH}/callback?state=${state}&code=invented`))
    expect(response.headers.get('location')).toContain('error=invalid_request')
  })

  it('by a person who takes more than five minutes at Google, says so', async () => {
    const provider = startProvider()
    const toGoogle = await provider.fetch(new Request(await authorizeUrl()))
    const state = new URL(toGoogle.headers.get('location') ?? '').searchParams.get('state') ?? ''
    provider.runtime.advance(300)
    const response = await provider.fetch(new Request(`${AUTH}/callback?state=${state}&code=x`))
    const target = new URL(response.headers.get('location') ?? '')
    expect(target.origin + target.pathname).toBe(CALLBACK)
    expect(target.searchParams.get('error_code')).toBe('flow_state_expired')
  })
})

describe('other social providers', () => {
  it('lead through the same stand-in page to an identity of their own', async () => {
    const provider = startProvider({ socialProviders: ['google', 'keycloak'] })
    const settings = await (await provider.call('GET', '/settings')).json()
    expect(settings).toMatchObject({ external: { google: true, keycloak: true, github: false } })
    const target = await walkGoogle(provider, await authorizeUrl({ provider: 'keycloak' }), 'Ada Example')
    const answer = await exchange(provider, target.searchParams.get('code') ?? '')
    const { user } = JSON.parse(await answer.text()) as { user: User }
    expect(user).toMatchObject({
      email: 'ada@google.example',
      app_metadata: { provider: 'keycloak', providers: ['keycloak'] },
      identities: [{ provider: 'keycloak', identity_data: { iss: 'https://keycloak.example' } }],
    })
    expect((await signInSocially(provider)).user).toMatchObject({
      id: user.id,
      app_metadata: { providers: ['keycloak', 'google'] },
    })
  })

  it.each(['github', 'constructor', ''])('%j is refused when it is not on', async (name) => {
    const provider = startProvider({ socialProviders: ['keycloak'] })
    const response = await provider.fetch(new Request(await authorizeUrl({ provider: name })))
    expect(response.status).toBe(400)
    const google = await provider.fetch(new Request(await authorizeUrl()))
    expect(google.status).toBe(400)
  })

  it.each(['', 'Google', 'a b', 'email', 'phone'])('cannot be named %j', (name) => {
    expect(() => startProvider({ socialProviders: [name] })).toThrow(
      'is not a valid name of a social provider',
    )
  })
})

describe('the code of a social sign-in', () => {
  async function code(provider: ProviderFixture): Promise<string> {
    const target = await walkGoogle(provider, await authorizeUrl(), 'Ada Example')
    return target.searchParams.get('code') ?? ''
  }

  it('survives a wrong verifier and is good once', async () => {
    const provider = startProvider()
    const issued = await code(provider)
    const wrong = await exchange(provider, issued, `${VERIFIER}-wrong`)
    expect(wrong.status).toBe(400)
    expect(await wrong.json()).toMatchObject({ code: 'bad_code_verifier' })
    const answers = await Promise.all([exchange(provider, issued), exchange(provider, issued)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404])
  })

  it.each([
    {
      what: 'an unknown code',
      get: () => Promise.resolve('3d6f0a51-0000-4000-8000-000000000000'),
      later: 0,
      status: 404,
      code: 'flow_state_not_found',
    },
    { what: 'no code', get: () => Promise.resolve(''), later: 0, status: 400, code: 'validation_failed' },
    { what: 'an old code', get: code, later: 300, status: 422, code: 'flow_state_expired' },
  ])('is refused when it is $what', async ({ get, later, status, code: expected }) => {
    const provider = startProvider()
    const issued = await get(provider)
    provider.runtime.advance(later)
    const response = await exchange(provider, issued)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ code: expected })
  })

  it('is worth nothing to a user banned meanwhile', async () => {
    const provider = startProvider()
    const issued = await code(provider)
    provider.admin.banUser(provider.admin.findUser('ada@google.example')?.id ?? '')
    expect((await exchange(provider, issued)).status).toBe(403)
  })
})

describe('the stand-in Google', () => {
  it('has a policy that allows no script, and its style by hash', async () => {
    const response = await startProvider().fetch(new Request(`${SITE}/google/authorize?state=%22><script>`))
    const policy = response.headers.get('content-security-policy') ?? ''
    const text = await response.text()
    const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain(`'sha256-${Buffer.from(hash).toString('base64')}'`)
    expect(text).not.toContain('<script>')
    expect(text.match(/<button/g)).toHaveLength(3)
  })

  it('refuses an account that it did not offer', async () => {
    const request = new Request(`${SITE}/google/choose`, {
      method: 'POST',
      body: new URLSearchParams({ account: '7' }),
    })
    const response = await startProvider().fetch(request)
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
  })
})
