import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type {
  Claims,
  Profile,
  ProfileSource,
  ProviderError,
  ProviderFailure,
  ProviderSession,
} from '../../core/session/session-provider.ts'
import { inspect } from 'node:util'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Interception,
  type OidcFixture,
  replacing,
  startOidcFixture,
} from '../../../tests/support/server/oidc-fixture.ts'
import { oidcAccount, type OidcServerOptions } from '../../../tests/support/server/oidc-server.ts'

const fixture = await startOidcFixture()
afterAll(() => fixture.server.close())
afterEach(() => vi.restoreAllMocks())

async function other(options: Partial<OidcServerOptions>): Promise<OidcFixture> {
  const started = await startOidcFixture(options)
  onTestFinished(() => started.server.close())
  return started
}

async function signedIn(started: OidcFixture = fixture): Promise<ProviderSession> {
  return (await started.signIn()).session
}

const isGone = { failure: 'terminal', outcomeKnown: true }
const down: Interception = () => Promise.reject(new TypeError('fetch failed'))

/** The provider responds, and the response is lost. */
const lostReply: Interception = async (_request, send) => {
  await send()
  throw new TypeError('terminated')
}

describe('refresh', () => {
  test('a refresh returns the tokens that a rotating provider issues in place of the old ones', async () => {
    const before = await signedIn()
    fixture.runtime.advance(60)
    const after = await fixture.provider.refresh(before)
    expect(after.accessToken).not.toBe(before.accessToken)
    expect(after.refreshToken).not.toBe(before.refreshToken)
    expect(after.expiresAt).toBe(fixture.runtime.now() + 3600)
    await expect(fixture.provider.refresh(after)).resolves.toBeDefined()
  })

  test('a refresh keeps the refresh token and the ID token if no new ones are issued', async () => {
    const { provider, intercept, signIn } = await other({ rotation: false })
    const { session } = await signIn()
    intercept('/token', replacing({ refresh_token: undefined, id_token: undefined }))
    const after = await provider.refresh(session)
    expect(after).toMatchObject({ refreshToken: session.refreshToken, idToken: session.idToken })
    expect(after.accessToken).not.toBe(session.accessToken)
    await expect(provider.refresh(after)).resolves.toBeDefined()
  })

  test.each([
    ['without expires_in for five minutes', undefined, 300],
    ['with expires_in 0 for five minutes', 0, 300],
    ['with a fraction for whole seconds', 90.7, 90],
    ['with a text for the number in it', '120', 120],
  ])('a refresh takes an access token %s', async (_what, expiresIn, seconds) => {
    const session = await signedIn()
    fixture.intercept('/token', replacing({ expires_in: expiresIn }))
    const { expiresAt } = await fixture.provider.refresh(session)
    expect(expiresAt).toBe(fixture.runtime.now() + seconds)
  })

  test('a refresh is terminal if the session was ended at the provider', async () => {
    const session = await signedIn()
    await fixture.server.endSessions()
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject(isGone)
  })

  test('a refresh of one-time tokens whose answer got lost is transient with unknown outcome, then terminal', async () => {
    const session = await signedIn()
    fixture.intercept('/token', lostReply)
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject({
      failure: 'transient',
      outcomeKnown: false,
    })
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject(isGone)
  })

  test('a refresh at a provider that is down is transient, and known not to have happened', async () => {
    const started = await other({})
    const session = await signedIn(started)
    await started.server.close()
    const failureOf = (): Promise<unknown> =>
      started.provider
        .refresh(session)
        .catch(({ failure, outcomeKnown }: ProviderError) => ({ failure, outcomeKnown }))
    // Some may use a connection that is still open at our end, where anything may have happened.
    await expect.poll(failureOf).toEqual({ failure: 'transient', outcomeKnown: true })
  })

  test('a refresh at a provider whose metadata was never read is transient, and known not to have happened', async () => {
    fixture.intercept('/.well-known/openid-configuration', down)
    await expect(fixture.providerWith({}).refresh(await signedIn())).rejects.toMatchObject({
      failure: 'transient',
      outcomeKnown: true,
    })
  })

  test('a refresh with a wrong client secret never ends a session, and says what to check', async () => {
    const session = await signedIn()
    await expect(fixture.providerWith({ clientSecret: 'old' }).refresh(session)).rejects.toMatchObject({
      failure: 'transient',
      outcomeKnown: true,
      message: expect.stringMatching(/401 invalid_client.*client id and secret/) as string,
    })
    await expect(fixture.provider.refresh(session)).resolves.toBeDefined()
  })

  test.each<[number, string | undefined, ProviderFailure, boolean]>([
    [400, 'invalid_grant', 'terminal', true],
    [400, 'interaction_required', 'terminal', true],
    [400, 'invalid_client', 'transient', true],
    // As dex 2.13.0 answers for a token that is unknown, expired or replaced.
    [400, 'invalid_request', 'terminal', true],
    [400, 'invalid_scope', 'transient', true],
    [400, undefined, 'transient', true],
    [302, undefined, 'transient', true],
    [408, 'invalid_grant', 'transient', false],
    [429, 'invalid_grant', 'transient', true],
    [500, 'invalid_grant', 'transient', false],
    [503, 'temporarily_unavailable', 'transient', false],
  ])('a refresh reads %i %s as %s, outcome known: %s', async (status, error, failure, outcomeKnown) => {
    const session = await signedIn()
    const headers = { 'content-type': 'application/json' }
    fixture.intercept('/token', () => new Response(JSON.stringify({ error }), { status, headers }))
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject({ failure, outcomeKnown })
  })

  test('a refresh finds the error code beside a challenge too', async () => {
    const session = await signedIn()
    const headers = { 'www-authenticate': 'Bearer realm="id"' }
    fixture.intercept('/token', () => Response.json({ error: 'invalid_grant' }, { status: 401, headers }))
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject(isGone)
  })

  test.each<[string, Interception]>([
    ['is a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['has no access token', replacing({ access_token: undefined })],
    ['is of another token type', replacing({ token_type: 'mac' })],
  ])(
    'a refresh is transient with unknown outcome if the answer %s, of which nothing is stored',
    async (_what, play) => {
      const session = await signedIn()
      fixture.intercept('/token', play)
      const error: unknown = await fixture.provider.refresh(session).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ failure: 'transient', outcomeKnown: false })
      expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/eyJ|refresh_token/)
    },
  )

  test('a refresh stores the new ID token, although it seems to have expired', async () => {
    const before = await signedIn()
    const claims = { iss: fixture.server.issuer, aud: 'drawbridge', iat: 1, exp: 2 }
    const idToken = await fixture.server.sign({ ...claims, sub: 'user-1' })
    fixture.intercept('/token', replacing({ id_token: idToken }))
    const after = await fixture.provider.refresh(before)
    expect(after.idToken).toBe(idToken)
    expect(after.refreshToken).not.toBe(before.refreshToken)
  })

  test.each([['not a jwt'], [''], [7], [null], [{}]])(
    'a refresh stores the new tokens with the old ID token if the new one is %j',
    async (idToken) => {
      const before = await signedIn()
      fixture.intercept('/token', replacing({ id_token: idToken }))
      const after = await fixture.provider.refresh(before)
      expect(after.refreshToken).not.toBe(before.refreshToken)
      expect(after.idToken).toBe(before.idToken)
      await expect(fixture.provider.refresh(after)).resolves.toBeDefined()
    },
  )

  test("a refresh refuses a session that comes back as another user's", async () => {
    const session = await signedIn()
    const now = fixture.runtime.now()
    const claims = { iss: fixture.server.issuer, aud: 'drawbridge', iat: now, exp: now + 3600 }
    const idToken = await fixture.server.sign({ ...claims, sub: 'user-2' })
    fixture.intercept('/token', replacing({ id_token: idToken }))
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject({ failure: 'protocol' })
  })

  test.each([
    ['17', 17],
    ['Mon, 05 Jan 1970 00:00:10 GMT', undefined],
  ])(
    'a refresh says when to try again, if the provider said it in seconds: %s',
    async (given, retryAfterSeconds) => {
      const session = await signedIn()
      fixture.intercept('/token', () => new Response('', { status: 429, headers: { 'retry-after': given } }))
      await expect(fixture.provider.refresh(session)).rejects.toMatchObject({ retryAfterSeconds })
    },
  )

  test('a refresh gives up after 8 seconds, and after 5 on discovery, so that both end within a lease of 15', async () => {
    const session = await signedIn()
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    await fixture.providerWith({}).refresh(session)
    expect(timeout.mock.calls).toEqual([[5000], [8000]])
  })
})

describe('probe', () => {
  test('a probe is live until the session is ended at the provider, then token_refused', async () => {
    const { accessToken } = await signedIn()
    await expect(fixture.provider.probe?.({ accessToken })).resolves.toMatchObject({
      life: 'live',
      claims: { sub: oidcAccount.sub, email: oidcAccount.email },
    })
    await fixture.server.endSessions()
    await expect(fixture.provider.probe?.({ accessToken })).resolves.toMatchObject({ life: 'token_refused' })
  })

  test('a probe reads 401 as token_refused, with any challenge', async () => {
    const headers = { 'www-authenticate': 'Bearer error="invalid_request"' }
    fixture.intercept('/me', () => new Response('', { status: 401, headers }))
    await expect(fixture.provider.probe?.({ accessToken: 'token' })).resolves.toMatchObject({
      life: 'token_refused',
    })
  })

  test.each<[number, ProviderFailure]>([
    [302, 'transient'],
    [403, 'protocol'],
    [408, 'transient'],
    [429, 'transient'],
    [503, 'transient'],
  ])('a probe has no clear answer in %i: %s', async (status, failure) => {
    fixture.intercept('/me', () => new Response('', { status }))
    await expect(fixture.provider.probe?.({ accessToken: 'token' })).rejects.toMatchObject({ failure })
  })

  test.each([404, 429, 500])(
    'a probe has no clear answer from a provider whose metadata answers %i',
    async (status) => {
      fixture.intercept('/.well-known/openid-configuration', () => new Response('', { status }))
      await expect(fixture.providerWith({}).probe?.({ accessToken: 'token' })).rejects.toMatchObject({
        failure: 'transient',
      })
    },
  )

  test('a probe has no clear answer from a provider that is down', async () => {
    fixture.intercept('/me', down)
    await expect(fixture.provider.probe?.({ accessToken: 'token' })).rejects.toMatchObject({
      failure: 'transient',
    })
  })

  test('a probe is live at a provider without userinfo, and sends no request', async () => {
    const provider = fixture.providerWith({})
    fixture.intercept('/.well-known/openid-configuration', replacing({ userinfo_endpoint: undefined }))
    await provider.capabilities()
    const asked = fixture.server.requests.length
    await expect(provider.probe?.({ accessToken: 'token' })).resolves.toMatchObject({ life: 'live' })
    expect(fixture.server.requests.length).toBe(asked)
  })
})

describe('the person of', () => {
  const proven = { email: 'ada@example.com', email_verified: true }
  const session = (claims: Claims, userinfo: Claims): ProfileSource => ({
    kind: 'session',
    session: { accessToken: 'a', refreshToken: 'r', expiresAt: 0, idToken: jwtOf(claims), userinfo },
  })
  const jwtOf = (claims: Claims): string =>
    [{ alg: 'none' }, claims, {}].map((part) => encodeBase64url(encodeUtf8(JSON.stringify(part)))).join('.')
  const token = (claims: Claims): ProfileSource => ({
    kind: 'identity',
    identity: { sub: 'ada', email: undefined, name: undefined, claims, secondFactor: false, expiresAt: 0 },
  })
  const person = (of: ProfileSource, probed?: Claims): Profile => fixture.provider.profileOf(of, probed)

  test.each<
    [string, ProfileSource, Claims | undefined, [email: string | undefined, verified: boolean | undefined]]
  >([
    ['a proven address', session(proven, {}), undefined, ['ada@example.com', true]],
    ['one that is not', session({ email: 'm@x', email_verified: false }, {}), undefined, ['m@x', false]],
    ['nothing said about it', session({ email: 'm@x' }, {}), undefined, ['m@x', undefined]],
    [
      'a proof in userinfo',
      session({ email: 'm@x' }, { email: 'm@x', email_verified: true }),
      undefined,
      ['m@x', true],
    ],
    ['a proof of another', session({ email: 'm@x' }, proven), undefined, ['m@x', undefined]],
    // Userinfo has never marked the address as verified: the older ID token did.
    ['another since', session(proven, { email: proven.email }), { email: 'm@x' }, ['m@x', undefined]],
    ['the same since', session(proven, proven), { email: proven.email }, ['ada@example.com', true]],
    ['none since', session(proven, proven), {}, [undefined, undefined]],
    ['none ever in userinfo', session(proven, {}), {}, ['ada@example.com', true]],
    ['a token', token(proven), undefined, ['ada@example.com', true]],
    ['a token, the same since', token(proven), { email: proven.email }, ['ada@example.com', true]],
    ['a token, another since', token(proven), { email: 'm@x' }, ['m@x', undefined]],
    ['a token, none since', token(proven), {}, ['ada@example.com', false]],
  ])('the person has the email address and its proof of %s', (_what, of, probed, [email, emailVerified]) => {
    expect(person(of, probed)).toMatchObject({ email, emailVerified })
  })

  test('a token has no group that userinfo does not name, but for a deny rule', async () => {
    let groups = ['staff']
    const { provider, signIn } = await startedWith(() => groups)
    const { accessToken } = (await signIn()).session
    const of = token({ iss: 'x', azp: 'app', groups: ['staff'], roles: ['owner'] })
    const then = (await provider.probe?.({ accessToken }))?.claims
    expect(provider.profileOf(of, then).claims).toMatchObject({ azp: 'app', groups: ['staff'] })
    groups = []
    const now = (await provider.probe?.({ accessToken }))?.claims
    const { claims, formerClaims } = provider.profileOf(of, now)
    expect(claims).toMatchObject({ azp: 'app', sub: oidcAccount.sub })
    expect(claims).not.toHaveProperty('groups')
    expect(claims).not.toHaveProperty('roles')
    expect(formerClaims).toMatchObject({ groups: ['staff'], roles: ['owner'] })
  })

  async function startedWith(groups: () => readonly string[]): Promise<OidcFixture> {
    const started = await startOidcFixture({ groups }, { scope: 'openid offline_access groups' })
    onTestFinished(() => started.server.close())
    return started
  }
})

describe('signOut', () => {
  test('signOut revokes the session, after which a refresh is terminal, and does not log the person out', async () => {
    const started = await other({})
    const session = await signedIn(started)
    const others = await signedIn(started)
    await started.provider.signOut(session)
    await expect(started.provider.refresh(session)).rejects.toMatchObject(isGone)
    await expect(started.provider.refresh(others)).resolves.toBeDefined()
    expect(started.server.requests).not.toContain('POST /session/end')
  })

  test('signOut names the refresh token and its type', async () => {
    const session = await signedIn()
    let sent = {}
    fixture.intercept('/token/revocation', async (request, send) => {
      sent = Object.fromEntries(new URLSearchParams(await request.clone().text()))
      return send()
    })
    await fixture.provider.signOut(session)
    expect(sent).toEqual({ token: session.refreshToken, token_type_hint: 'refresh_token' })
  })

  test('signOut resolves for a session that is over, and works when the access token has expired', async () => {
    const started = await other({})
    const session = await signedIn(started)
    started.runtime.advance(7200)
    await started.provider.signOut(session)
    await expect(started.provider.signOut(session)).resolves.toBeUndefined()
  })

  test.each<[string, Interception, ProviderFailure]>([
    ['down', down, 'transient'],
    ['broken', () => new Response('', { status: 500 }), 'transient'],
    ['overloaded', () => new Response('', { status: 429 }), 'rate_limited'],
    ['unwilling', () => Response.json({ error: 'invalid_client' }, { status: 401 }), 'protocol'],
  ])('signOut rejects when the provider is %s, so that it is tried again', async (_what, play, failure) => {
    const session = await signedIn()
    fixture.intercept('/token/revocation', play)
    await expect(fixture.provider.signOut(session)).rejects.toMatchObject({ failure })
    await fixture.provider.signOut(session)
    await expect(fixture.provider.refresh(session)).rejects.toMatchObject(isGone)
  })

  test('signOut logs out by a form at a provider that cannot revoke, with nothing secret in the URL', async () => {
    const started = await other({ revocation: false })
    const session = await signedIn(started)
    const sent: { url: string; fields: Record<string, string> }[] = []
    started.intercept('/session/end', async (request, send) => {
      const fields = Object.fromEntries(new URLSearchParams(await request.clone().text()))
      sent.push({ url: request.url, fields })
      return send()
    })
    await started.provider.signOut(session)
    expect(sent).toEqual([
      {
        url: `${started.server.issuer}/session/end`,
        fields: { id_token_hint: session.idToken, client_id: 'drawbridge' },
      },
    ])
  })

  test.each([
    [303, undefined],
    [400, 'protocol'],
    [429, 'transient'],
    [500, 'transient'],
  ])('signOut takes the answer %i to a logout as %s', async (status, failure) => {
    const started = await other({ revocation: false })
    const session = await signedIn(started)
    started.intercept('/session/end', () => new Response('', { status }))
    const ending = started.provider.signOut(session)
    await (failure
      ? expect(ending).rejects.toMatchObject({ failure })
      : expect(ending).resolves.toBeUndefined())
  })

  test('signOut reports a provider that can end nothing, without a request', async () => {
    const started = await other({ revocation: false, endSession: false })
    const session = await signedIn(started)
    const asked = started.server.requests.length
    await expect(started.provider.signOut(session)).rejects.toMatchObject({ failure: 'disabled' })
    expect(started.server.requests.length).toBe(asked)
  })
})
