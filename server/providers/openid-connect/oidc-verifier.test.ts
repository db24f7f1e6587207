import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { UnsecuredJWT } from 'jose'
import { afterAll, expect, test } from 'vitest'
import { keySample, signWith } from '../../../tests/support/server/key-sample.ts'
import { replacing, startOidcFixture } from '../../../tests/support/server/oidc-fixture.ts'

const audience = 'https://api.example.com'
const keysPath = '/jwks'

const fixture = await startOidcFixture({ audience, claimsInIdToken: true }, { audience })
const { accessToken } = (await fixture.signIn()).session
const claims = readJwt(accessToken)?.claims ?? {}
afterAll(() => fixture.server.close())

const now = fixture.runtime.now()

const sign = (members: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> =>
  fixture.server.sign({ ...claims, ...members }, { typ: 'at+jwt', ...header })

test('the verifier accepts an access token that the provider issued for the audience', async () => {
  await expect(fixture.provider.verify?.(accessToken)).resolves.toEqual({
    sub: 'user-1',
    email: undefined,
    claims,
    name: undefined,
    secondFactor: false,
    expiresAt: claims['exp'],
  })
})

test('the verifier is absent without an audience', () => {
  expect(fixture.providerWith({ audience: undefined })).not.toHaveProperty('verify')
})

test('the verifier reads the person from an access token', async () => {
  const token = await sign({ email: 'ada@example.com', name: 'Ada', amr: ['mfa'] })
  await expect(fixture.provider.verify?.(token)).resolves.toMatchObject({
    email: 'ada@example.com',
    name: 'Ada',
    secondFactor: true,
  })
})

test.each<[string, () => Promise<string>]>([
  ['of RFC 9068', () => sign({ scope: undefined })],
  ['with the long name of its type', () => sign({}, { typ: 'application/at+jwt' })],
  ['of a provider whose clock is ahead', () => sign({ nbf: now + 30, iat: now + 30 })],
  ['of several audiences', () => sign({ aud: ['other', audience] })],
  [
    'as Keycloak makes them',
    () => sign({ typ: 'Bearer', azp: 'web-app', scope: 'openid email' }, { typ: 'JWT' }),
  ],
  ['as Auth0 makes them', () => sign({ azp: 'web-app', scope: 'openid' }, { typ: 'JWT' })],
  [
    'as Okta makes them',
    () => sign({ cid: 'web-app', scp: ['openid'], scope: undefined }, { typ: undefined }),
  ],
  ['as Entra ID makes them', () => sign({ azp: 'web-app', scp: 'read', scope: undefined }, { typ: 'JWT' })],
])('the verifier accepts a token %s', async (_what, make) => {
  await expect(fixture.provider.verify?.(await make())).resolves.toMatchObject({ sub: 'user-1' })
})

test.each<[string, () => Promise<string> | string, RegExp]>([
  ['with alg none', () => new UnsecuredJWT(claims).encode(), /ERR_JOSE_ALG_NOT_ALLOWED/],
  ['with another key', async () => signWith(await keySample('provider-1', 'RS256'), claims), /SIGNATURE/],
  ['for another audience', () => sign({ aud: 'other' }), /CLAIM_VALIDATION/],
  ['of another issuer', () => sign({ iss: 'https://attacker.example' }), /CLAIM_VALIDATION/],
  ['that has just expired', () => sign({ exp: now }), /expired/],
  ['that begins in two minutes', () => sign({ nbf: now + 120 }), /CLAIM_VALIDATION/],
  ['without an end', () => sign({ exp: undefined }), /CLAIM_VALIDATION/],
  ['from the future', () => sign({ iat: now + 120 }), /iat/],
  ['without sub', () => sign({ sub: undefined }), /CLAIM_VALIDATION/],
  ['with a sub that is no text', () => sign({ sub: 7 }), /sub/],
  [
    'that is an ID token for that audience',
    () => sign({ scope: undefined }, { typ: 'JWT' }),
    /not an access token/,
  ],
  ['that is an ID token of Keycloak', () => sign({ typ: 'ID' }, { typ: 'JWT' }), /not an access token/],
  [
    'that is a refresh token of Keycloak',
    () => sign({ typ: 'Refresh' }, { typ: 'JWT' }),
    /not an access token/,
  ],
  ['that is a logout token', () => sign({}, { typ: 'logout+jwt' }), /not an access token/],
  ['of a client of its own', () => sign({ sub: 'batch', client_id: 'batch' }), /to a client/],
  [
    'of a client of its own at Okta',
    () => sign({ sub: 'batch', client_id: undefined, cid: 'batch' }),
    /to a client/,
  ],
  ['of a client of its own at Auth0', () => sign({ sub: 'batch@clients', azp: 'batch' }), /to a client/],
  ['that is bound to a key', () => sign({ cnf: { jkt: 'thumbprint' } }), /bound to a key/],
])('the verifier refuses a token %s', async (_what, make, rule) => {
  await expect(fixture.provider.verify?.(await make())).rejects.toMatchObject({
    failure: 'invalid_token',
    message: expect.stringMatching(rule) as string,
  })
})

test('the verifier uses the given clock', async () => {
  const late = await startOidcFixture({ audience }, { audience })
  const token = (await late.signIn()).session.accessToken
  // The other server's clock issues tokens, and may be in the next second.
  late.runtime.advance(3601)
  await expect(late.provider.verify?.(token)).rejects.toMatchObject({ failure: 'invalid_token' })
  await late.server.close()
})

test('the verifier is transient while the keys cannot be read', async () => {
  const provider = fixture.providerWith({})
  fixture.intercept(keysPath, () => Promise.reject(new TypeError('fetch failed')))
  await expect(provider.verify?.(accessToken)).rejects.toMatchObject({ failure: 'transient' })
})

test.each([undefined, '', 'ftp://127.0.0.1/keys', 'https://127.0.0.1/keys'])(
  'the verifier trusts no keys from %s for an http issuer on loopback',
  async (jwksUri) => {
    const provider = fixture.providerWith({})
    fixture.intercept('/.well-known/openid-configuration', replacing({ jwks_uri: jwksUri }))
    await expect(provider.verify?.(accessToken)).rejects.toMatchObject({ failure: 'protocol' })
  },
)
