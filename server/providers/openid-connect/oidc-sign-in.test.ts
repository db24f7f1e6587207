import { inspect } from 'node:util'
import { decodeBase64url, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { SignJWT } from 'jose'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import type { ProviderFailure } from '../../core/session/session-provider.ts'
import { keySample, signWith } from '../../../tests/support/server/key-sample.ts'
import {
  callbackUrl,
  type Interception,
  type OidcFixture,
  replacing,
  type Returned,
  startOidcFixture,
} from '../../../tests/support/server/oidc-fixture.ts'
import { oidcAccount, oidcClient, type OidcServerOptions } from '../../../tests/support/server/oidc-server.ts'

const fixture = await startOidcFixture()
afterAll(() => fixture.server.close())

async function other(
  options: Partial<OidcServerOptions>,
  config: Parameters<typeof startOidcFixture>[1] = {},
): Promise<OidcFixture> {
  const started = await startOidcFixture(options, config)
  onTestFinished(() => started.server.close())
  return started
}

/** Returns the requests the provider received during `act`. */
async function requestsOf(started: OidcFixture, act: () => Promise<unknown>): Promise<string[]> {
  const before = started.server.requests.length
  await act()
  return started.server.requests.slice(before)
}

/** Returns `returned` with parameters replaced; undefined omits one. */
function tampered(returned: Returned, parameters: Record<string, string | undefined>): Returned {
  const params = new URLSearchParams(returned.params)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) params.delete(name)
    else params.set(name, value)
  }
  return { ...returned, params }
}

describe('socialStart', () => {
  test('MCP security Confused-Deputy: socialStart requests a code with PKCE, state and nonce, and keeps their secrets out of the URL', async () => {
    const { url, secret } = await fixture.provider.socialStart({ method: 'oidc', callbackUrl })
    const { origin, pathname, searchParams } = new URL(url)
    expect(origin + pathname).toBe(`${fixture.server.issuer}/auth`)
    const { state, nonce, codeVerifier } = JSON.parse(secret) as Record<string, string>
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: oidcClient.id,
      response_type: 'code',
      redirect_uri: callbackUrl,
      scope: 'openid email profile offline_access',
      prompt: 'consent',
      state,
      nonce,
      code_challenge: await deriveCodeChallenge(codeVerifier ?? ''),
      code_challenge_method: 'S256',
    })
    expect(url).not.toContain(codeVerifier)
  })

  test('socialStart uses new secrets each time', async () => {
    const first = await fixture.provider.socialStart({ method: 'oidc', callbackUrl })
    const second = await fixture.provider.socialStart({ method: 'oidc', callbackUrl })
    const values = [first, second].flatMap(({ secret }) => Object.values(JSON.parse(secret) as object))
    expect(new Set(values).size).toBe(6)
  })

  test('socialStart does not let configured parameters override protocol parameters', async () => {
    const provider = fixture.providerWith({ parameters: { state: 'fixed', audience: 'api' } })
    const { url, secret } = await provider.socialStart({ method: 'oidc', callbackUrl })
    const { searchParams } = new URL(url)
    expect(searchParams.getAll('state')).toEqual([(JSON.parse(secret) as { state: string }).state])
    expect(searchParams.get('audience')).toBe('api')
  })
})

describe('a whole sign-in', () => {
  test('a whole sign-in returns a session and the person, with userinfo for members that the ID token leaves out', async () => {
    let signIn: unknown
    const requests = await requestsOf(fixture, async () => {
      signIn = await fixture.signIn()
    })
    const expiresAt = fixture.runtime.now() + 3600
    expect(signIn).toMatchObject({
      session: {
        accessToken: expect.any(String) as string,
        refreshToken: expect.any(String) as string,
        idToken: expect.stringMatching(/^eyJ/) as string,
        userinfo: expect.objectContaining({ email: oidcAccount.email }) as object,
        expiresAt,
      },
      identity: { ...oidcAccount, secondFactor: false, expiresAt },
    })
    expect(requests).toContain('GET /me')
  })

  test('a whole sign-in takes email and name from the ID token if it has them, without userinfo', async () => {
    const rich = await other({ claimsInIdToken: true })
    const requests = await requestsOf(rich, async () => {
      expect((await rich.signIn()).identity).toMatchObject(oidcAccount)
    })
    expect(requests).not.toContain('GET /me')
  })

  test.each<[string, Interception]>([
    ['down', () => Promise.reject(new TypeError('fetch failed'))],
    ['unwilling', () => new Response('no', { status: 403 })],
    ['unreadable', () => new Response('<html>')],
  ])('a whole sign-in succeeds without an email address if userinfo is %s', async (_what, play) => {
    fixture.intercept('/me', play)
    expect((await fixture.signIn()).identity).toMatchObject({ sub: oidcAccount.sub, email: undefined })
  })

  test('a whole sign-in is refused if userinfo is about another user', async () => {
    fixture.intercept('/me', replacing({ sub: 'user-2' }))
    await expect(fixture.signIn()).rejects.toMatchObject({ failure: 'protocol' })
  })

  test.each<[OidcServerOptions['authMethod'], string | undefined]>([
    ['client_secret_basic', oidcClient.secret],
    ['client_secret_post', oidcClient.secret],
    ['none', undefined],
  ])(
    'a whole sign-in authenticates the client with %s where the provider offers that',
    async (authMethod, clientSecret) => {
      const started = await other({ ...(authMethod && { authMethod }) }, { clientSecret })
      expect((await started.signIn()).identity.sub).toBe(oidcAccount.sub)
    },
  )

  test('a whole sign-in prefers Basic to a secret in the body where the provider offers both', async () => {
    const provider = fixture.providerWith({})
    const methods = ['client_secret_post', 'client_secret_basic']
    fixture.intercept(
      '/.well-known/openid-configuration',
      replacing({ token_endpoint_auth_methods_supported: methods }),
    )
    await provider.capabilities()
    await expect(provider.socialFinish(await fixture.goAndReturn())).resolves.toMatchObject({
      kind: 'signed_in',
    })
  })

  test('a whole sign-in follows no redirect with a code or a secret', async () => {
    let redirect: string | undefined
    fixture.intercept('/token', (request, send) => {
      ;({ redirect } = request)
      return send()
    })
    await fixture.signIn()
    expect(redirect).toBe('manual')
  })

  test('a whole sign-in sends the letters of a secret unchanged, for providers that do not decode Basic credentials', async () => {
    const provider = fixture.providerWith({ clientSecret: 'aZ09-._~' })
    let authorization = ''
    fixture.intercept('/token', (request, send) => {
      authorization = request.headers.get('authorization') ?? ''
      return send()
    })
    await provider.socialFinish(await fixture.goAndReturn()).catch(() => undefined)
    const credentials = decodeUtf8(
      decodeBase64url(authorization.slice(6).replaceAll('=', '')) ?? new Uint8Array(),
    )
    expect(credentials).toBe(`${oidcClient.id}:aZ09-._~`)
  })
})

describe('socialFinish refuses', () => {
  test('socialFinish refuses the return of another tab, before anything is sent, and accepts its own', async () => {
    const first = await fixture.goAndReturn()
    const second = await fixture.goAndReturn()
    const requests = await requestsOf(fixture, () =>
      expect(fixture.provider.socialFinish({ ...first, secret: second.secret })).rejects.toMatchObject({
        failure: 'expired',
      }),
    )
    expect(requests).toEqual([])
    await expect(fixture.provider.socialFinish(first)).resolves.toMatchObject({ kind: 'signed_in' })
    await expect(fixture.provider.socialFinish(second)).resolves.toMatchObject({ kind: 'signed_in' })
  })

  test.each<[string, Record<string, string | undefined>, ProviderFailure]>([
    ['no state', { state: undefined }, 'expired'],
    ['an empty state', { state: '' }, 'expired'],
    ['MCP security Confused-Deputy: another state', { state: 'A'.repeat(43) }, 'expired'],
    ['a code that the provider never issued', { code: 'guessed' }, 'expired'],
    ['no code', { code: undefined }, 'protocol'],
    ['the iss of another provider (RFC 9207)', { iss: 'https://attacker.example' }, 'protocol'],
    ['no iss from a provider that promises one', { iss: undefined }, 'protocol'],
    ['an ID token in the response', { id_token: 'eyJ.eyJ.AAAA' }, 'protocol'],
  ])('socialFinish refuses %s', async (_what, parameters, failure) => {
    const returned = tampered(await fixture.goAndReturn(), parameters)
    await expect(fixture.provider.socialFinish(returned)).rejects.toMatchObject({ failure })
  })

  test.each<[string, string, ProviderFailure]>([
    ['a code of another nonce', 'nonce', 'protocol'],
    ['a code of another verifier', 'codeVerifier', 'expired'],
  ])('socialFinish refuses %s', async (_what, member, failure) => {
    const returned = await fixture.goAndReturn()
    const secret = { ...(JSON.parse(returned.secret) as object), [member]: 'B'.repeat(43) }
    await expect(
      fixture.provider.socialFinish({ ...returned, secret: JSON.stringify(secret) }),
    ).rejects.toMatchObject({ failure })
  })

  test('socialFinish refuses a sign-in that the person refused at the provider, as denied', async () => {
    const returned = await fixture.goAndReturn('refuse')
    expect(returned.params.get('error')).toBe('access_denied')
    await expect(fixture.provider.socialFinish(returned)).rejects.toMatchObject({ failure: 'denied' })
  })

  test.each<[string, ProviderFailure]>([
    ['consent_required', 'denied'],
    ['temporarily_unavailable', 'transient'],
    ['server_error', 'transient'],
    ['invalid_scope', 'protocol'],
    ['unauthorized_client', 'protocol'],
  ])('socialFinish refuses the error %s', async (error, failure) => {
    const returned = tampered(await fixture.goAndReturn('refuse'), { error })
    await expect(fixture.provider.socialFinish(returned)).rejects.toMatchObject({ failure })
  })

  test.each(['x'.repeat(100), 'two words', '<b>'])(
    'socialFinish refuses the error %j without repeating it',
    async (error) => {
      const returned = tampered(await fixture.goAndReturn('refuse'), { error })
      await expect(fixture.provider.socialFinish(returned)).rejects.toMatchObject({
        failure: 'protocol',
        message: expect.not.stringContaining(error) as string,
      })
    },
  )

  test('socialFinish refuses a wrong client secret, saying what to check', async () => {
    const provider = fixture.providerWith({ clientSecret: 'wrong' })
    await expect(provider.socialFinish(await fixture.goAndReturn())).rejects.toMatchObject({
      failure: 'protocol',
      message: expect.stringMatching(/401 invalid_client.*client id and secret/) as string,
    })
  })

  test('socialFinish refuses a provider that issues no refresh token, saying so, and revokes the issued tokens', async () => {
    const { provider, server } = await other({}, { parameters: {} })
    const { url, secret } = await provider.socialStart({ method: 'oidc', callbackUrl })
    const params = (await server.visit(url)).searchParams
    await expect(provider.socialFinish({ params, secret, callbackUrl })).rejects.toMatchObject({
      failure: 'protocol',
      message: expect.stringMatching(/refresh token.*offline_access/) as string,
    })
    expect(server.requests.at(-1)).toBe('POST /token/revocation')
  })

  test.each<[string, Interception, ProviderFailure]>([
    ['unreachable', () => Promise.reject(new TypeError('fetch failed')), 'transient'],
    ['broken', () => new Response('oops', { status: 500 }), 'transient'],
    ['overloaded', () => new Response('slow down', { status: 429 }), 'rate_limited'],
    ['replaced by a redirect', () => Response.redirect('https://elsewhere.example', 302), 'protocol'],
    [
      'replaced by a page',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      'protocol',
    ],
    ['endless', () => new Response('x'.repeat(1_000_001)), 'transient'],
  ])('socialFinish refuses a token endpoint that is %s', async (_what, play, failure) => {
    fixture.intercept('/token', play)
    await expect(fixture.signIn()).rejects.toMatchObject({ failure })
  })
})

describe('an ID token is refused', () => {
  const now = Math.floor(Date.now() / 1000)
  const sign = (claims: Claims, members: Claims = {}): Promise<string> =>
    fixture.server.sign({ ...claims, ...members })

  test.each<[string, (claims: Claims) => Promise<string | undefined> | string | undefined, RegExp]>([
    ['that is missing', () => undefined, /"id_token" property/],
    ['with alg none', (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`, /"alg"/],
    [
      'with a key the provider does not publish',
      async (claims) => signWith(await keySample('provider-1', 'RS256'), claims),
      /SIGNATURE_VERIFICATION_FAILED/,
    ],
    [
      'signed with the client secret',
      (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(oidcClient.secret)),
      /"alg"|unsupported/,
    ],
    ['without a signature', async (claims) => (await sign(claims)).replace(/[^.]+$/, ''), /SIGNATURE/],
    ['of another issuer', (claims) => sign(claims, { iss: 'https://attacker.example' }), /"iss"/],
    ['for another client', (claims) => sign(claims, { aud: 'other' }), /"aud"/],
    ['of another nonce', (claims) => sign(claims, { nonce: 'other' }), /"nonce"/],
    ['that is over', (claims) => sign(claims, { exp: now - 60 }), /"exp"/],
    ['with an empty sub', (claims) => sign(claims, { sub: '' }), /has no subject/],
  ])('an ID token is refused: %s', async (_what, forge, reason) => {
    fixture.intercept('/token', withIdToken(forge))
    const error: unknown = await fixture.signIn().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ failure: 'protocol', message: expect.stringMatching(reason) as string })
    // The library's own error contains the whole response.
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/eyJ/)
  })

  test('an ID token with claims that the provider signed itself is accepted', async () => {
    fixture.intercept(
      '/token',
      withIdToken((claims) => sign(claims, { amr: ['pwd', 'otp'] })),
    )
    expect((await fixture.signIn()).identity).toMatchObject({ sub: oidcAccount.sub, secondFactor: true })
  })

  test('an ID token with a key that the provider has just added is accepted, without waiting for userinfo to vouch', async () => {
    const provider = await other({ claimsInIdToken: true })
    await provider.signIn()
    const added = await keySample('provider-2', 'RS256')
    provider.intercept(
      '/token',
      withIdToken((claims) => signWith(added, claims)),
    )
    provider.intercept('/jwks', () => Response.json({ keys: [added.published] }))
    provider.intercept('/me', () => Promise.reject(new TypeError('fetch failed')))
    provider.runtime.advance(2)
    expect((await provider.signIn()).identity).toMatchObject({ sub: oidcAccount.sub })
  })

  type Claims = Record<string, unknown>

  /** Makes the provider respond with an ID token built from its claims. */
  function withIdToken(
    forge: (claims: Claims) => Promise<string | undefined> | string | undefined,
  ): Interception {
    return async (_request, send) => {
      const answer = (await (await send()).json()) as { id_token: string }
      return Response.json({ ...answer, id_token: await forge(readJwt(answer.id_token)?.claims ?? {}) })
    }
  }

  function base64url(value: unknown): string {
    return Buffer.from(JSON.stringify(value)).toString('base64url')
  }
})
