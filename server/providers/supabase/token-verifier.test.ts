import { exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { keySample, signWith } from '../../../tests/support/server/key-sample.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { createTokenVerifier, type TokenRequirements, type TokenVerifier } from './token-verifier.ts'

const issuer = 'https://ref.supabase.co/auth/v1'
const secret = 'a shared secret of the project, long enough'
const [key, rsa, stranger] = await Promise.all([
  keySample('key'),
  keySample('rsa', 'RS256'),
  keySample('key'),
])

const claims = {
  iss: issuer,
  aud: 'authenticated',
  sub: '11111111-2222-4333-8444-555555555555',
  role: 'authenticated',
  session_id: '99999999-8888-4777-8666-555555555555',
  email: 'ada@example.com',
  user_metadata: { full_name: 'Ada Lovelace' },
  is_anonymous: false,
  iat: start,
  exp: start + 3600,
}

const defaults: TokenRequirements = {
  issuer,
  audience: 'authenticated',
  jwksUrl: `${issuer}/jwks`,
  hs256Secret: undefined,
  vouch: () => Promise.reject(new ProviderError('invalid_token', 'The auth API refuses it.')),
}

let runtime: FakeRuntime
let verify: TokenVerifier
let fetches: number

beforeEach(() => {
  runtime = createFakeRuntime(start)
  verify = verifierOf()
})

function verifierOf(requirements: Partial<TokenRequirements> = {}): TokenVerifier {
  fetches = 0
  return createTokenVerifier(
    { ...defaults, ...requirements },
    {
      now: runtime.now,
      async fetch() {
        fetches += 1
        return Response.json({ keys: [key.published, rsa.published] })
      },
    },
  )
}

const sign = (changes: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> =>
  signWith(key, { ...claims, ...changes }, header)

const signSymmetric = (secretText: string, changes: Record<string, unknown> = {}): Promise<string> =>
  new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: key.kid })
    .sign(Buffer.from(secretText))

const invalid = { name: 'ProviderError', failure: 'invalid_token' }

describe('a good token', () => {
  it('a good token names the person', async () => {
    expect(await verify(await sign())).toEqual({
      sub: claims.sub,
      email: 'ada@example.com',
      claims,
      name: 'Ada Lovelace',
      secondFactor: false,
      expiresAt: start + 3600,
    })
  })

  it('a good token may be signed with RS256', async () => {
    expect(await verify(await signWith(rsa, claims))).toMatchObject({ sub: claims.sub })
  })

  it.each<[rule: string, changes: Record<string, unknown>, expected: Record<string, unknown>]>([
    ['RFC 7519 4.1.3: an audience among several', { aud: ['other', 'authenticated'] }, {}],
    ['no iat', { iat: undefined }, {}],
    ['no email', { email: undefined }, { email: undefined }],
    ['an empty email, as a phone account has', { email: '' }, { email: undefined }],
    ['an email that is no text', { email: 1 }, { email: undefined }],
    ['a name under its other claim', { user_metadata: { name: 'Ada' } }, { name: 'Ada' }],
    ['the full name first', { user_metadata: { full_name: 'Ada L.', name: 'Ada' } }, { name: 'Ada L.' }],
    ['metadata that is no object', { user_metadata: 'x' }, { name: undefined }],
    ['no metadata', { user_metadata: null }, { name: undefined }],
    ['is_anonymous left out', { is_anonymous: undefined }, {}],
    ['an sub in upper case', { sub: 'ABCDEFAB-2222-4333-8444-555555555555' }, {}],
  ])('%s: the token is accepted', async (_rule, changes, expected) => {
    expect(await verify(await sign(changes))).toMatchObject({ secondFactor: false, ...expected })
  })
})

it.each<[rule: string, changes: Record<string, unknown>, at: number, good: boolean]>([
  ['RFC 7519 4.1.4: the last second before exp', {}, 3599, true],
  ['RFC 7519 4.1.4: exp itself', {}, 3600, false],
  ['RFC 7519 4.1.6: iat 60 s ahead', { iat: start + 60 }, 0, true],
  ['RFC 7519 4.1.6: iat 61 s ahead', { iat: start + 61 }, 0, false],
  ['RFC 7519 4.1.5: nbf now', { nbf: start }, 0, true],
  ['RFC 7519 4.1.5: nbf 1 s ahead', { nbf: start + 1 }, 0, false],
  ['no exp', { exp: undefined }, 0, false],
  ['exp is a text', { exp: String(start + 3600) }, 0, false],
  ['exp is null', { exp: null }, 0, false],
  ['iat is a text', { iat: String(start) }, 0, false],
])('time: %s', async (_rule, changes, at, good) => {
  const token = await sign(changes)
  runtime.advance(at)
  const result = verify(token)
  if (good) expect((await result).sub).toBe(claims.sub)
  else await expect(result).rejects.toMatchObject(invalid)
})

describe('a refused token', () => {
  it.each<[rule: string, changes: Record<string, unknown>]>([
    ['RFC 7519 4.1.1, RFC 8725 3.8: another issuer', { iss: 'https://evil.supabase.co/auth/v1' }],
    ['the issuer with a slash', { iss: `${issuer}/` }],
    ['no issuer', { iss: undefined }],
    ['RFC 7519 4.1.3, RFC 8725 3.9: another audience', { aud: 'anon' }],
    ['no audience', { aud: undefined }],
    ['the anon API key', { role: 'anon', sub: undefined, session_id: undefined }],
    ['the service_role API key', { role: 'service_role', sub: undefined, session_id: undefined }],
    ['the role service_role of a person', { role: 'service_role' }],
    ['no role', { role: undefined }],
    ['an anonymous user', { is_anonymous: true }],
    ['a token that another OAuth client obtained', { client_id: 'b9b9b9b9-2222-4333-8444-555555555555' }],
    ['no sub', { sub: undefined }],
    ['a sub that is no UUID', { sub: 'ada' }],
    ['a sub with more around the UUID', { sub: ` ${claims.sub}` }],
    ['no session', { session_id: undefined }],
    ['a session that is no text', { session_id: 1 }],
  ])('%s: the token is refused', async (_rule, changes) => {
    await expect(verify(await sign(changes))).rejects.toMatchObject(invalid)
  })

  it.each<[rule: string, token: () => Promise<string> | string]>([
    ['RFC 8725 3.1: alg none', () => new UnsecuredJWT(claims).encode()],
    [
      'RFC 8725 3.1: alg none with the signature of another token',
      async () => `${new UnsecuredJWT(claims).encode()}${(await sign()).split('.')[2]}`,
    ],
    [
      'RFC 8725 2.1: HS256 signed with the EC public key',
      async () => signSymmetric(await exportSPKI(key.publicKey)),
    ],
    [
      'RFC 8725 2.1: HS256 signed with the RSA public key',
      async () => signSymmetric(await exportSPKI(rsa.publicKey)),
    ],
    ['RFC 8725 2.1: HS256 signed with a published coordinate', () => signSymmetric(String(key.published.x))],
    ['RFC 8725 3.2: HS256 without a configured secret', () => signSymmetric(secret)],
    ['a key of the same kid that is not published', () => signWith(stranger, claims)],
    [
      'RFC 8725 3.10: the key that the token brings along',
      () => signWith(stranger, claims, { jwk: stranger.published }),
    ],
    [
      'RFC 8725 3.10: the key set that the token points to',
      () => signWith(stranger, claims, { jku: 'https://evil.example/jwks' }),
    ],
    ['an RSA key id with an EC signature', () => signWith(key, claims, { kid: 'rsa' })],
    ['an unknown kid', () => sign({}, { kid: 'unknown' })],
    ['no kid', () => sign({}, { kid: undefined })],
    [
      'RFC 7515 4.1.11: an unknown critical header',
      async () => {
        const header = Buffer.from(
          JSON.stringify({ alg: 'ES256', kid: key.kid, crit: ['x'], x: 1 }),
        ).toString('base64url')
        return [header, ...(await sign()).split('.').slice(1)].join('.')
      },
    ],
    [
      'claims that were changed',
      async () => {
        const [header, , signature] = (await sign()).split('.')
        return [
          header,
          Buffer.from(JSON.stringify({ ...claims, email: 'eve@example.com' })).toString('base64url'),
          signature,
        ].join('.')
      },
    ],
    ['no signature', async () => (await sign()).replace(/[^.]+$/, '')],
    ['no JWT', () => 'opaque'],
  ])('%s: the token is refused', async (_rule, token) => {
    await expect(verify(await token())).rejects.toMatchObject(invalid)
  })

  it.each<unknown>([null, 1, true, [], {}, ['key'], { toString: 1, valueOf: 1 }])(
    'a kid that is not text is refused: %j',
    async (kid) => {
      const [, payload, signature] = (await sign()).split('.')
      const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid })).toString('base64url')
      await expect(verify([header, payload, signature].join('.'))).rejects.toMatchObject(invalid)
    },
  )

  it('a token of a forbidden algorithm causes no request for keys', async () => {
    await expect(verify(await signSymmetric(secret))).rejects.toMatchObject(invalid)
    await expect(verify(new UnsecuredJWT(claims).encode())).rejects.toMatchObject(invalid)
    expect(fetches).toBe(0)
  })

  it('a refused token leaves no part of it or its claims in the error', async () => {
    const token = await sign({ sub: 'a-private-subject' })
    const error = await verify(token).then(
      () => 'accepted',
      (thrown: Error) => thrown.message,
    )
    expect(error).toMatch(/refused/)
    expect(error).not.toContain('a-private-subject')
    expect(error).not.toContain(token.slice(0, 20))
  })
})

describe('a token whose key is not known here', () => {
  const vouched: string[] = []
  const vouch = async (token: string): Promise<void> => void vouched.push(token)
  beforeEach(() => {
    vouched.length = 0
    verify = verifierOf({ vouch })
  })

  it('a token whose key is unknown is accepted if the auth API vouches for it', async () => {
    const token = await sign({}, { kid: 'new' })
    expect(await verify(token)).toMatchObject({ sub: claims.sub })
    expect(vouched).toEqual([token])
  })

  it('a token is sent to the auth API too if keys have no names: the known one may be the previous one', async () => {
    const { kid: _, ...nameless } = stranger.published
    verify = createTokenVerifier(
      { ...defaults, vouch },
      { now: runtime.now, fetch: async () => Response.json({ keys: [nameless] }) },
    )
    expect(await verify(await sign({}, { kid: undefined }))).toMatchObject({ sub: claims.sub })
    expect(vouched).toHaveLength(1)
    await verify(await signWith(stranger, claims, { kid: undefined }))
    expect(vouched).toHaveLength(1)
  })

  it.each<[what: string, token: () => Promise<string>]>([
    ['a bad signature of a known key', () => signWith(stranger, claims)],
    ['alg none', async () => new UnsecuredJWT(claims).encode()],
    ['HS256', () => signSymmetric(secret)],
    ['claims of another issuer', () => sign({ iss: 'https://evil.example' }, { kid: 'new' })],
    ['an end in the past', () => sign({ exp: start - 1 }, { kid: 'new' })],
    ['no end', () => sign({ exp: undefined }, { kid: 'new' })],
  ])('a token whose key is unknown is refused without a request for %s', async (_what, token) => {
    await expect(verify(await token())).rejects.toMatchObject(invalid)
    expect(vouched).toEqual([])
  })

  it.each([
    ['a service_role', { role: 'service_role' }],
    ['an anonymous user', { is_anonymous: true }],
    ['another OAuth client', { client_id: 'b9b9b9b9-2222-4333-8444-555555555555' }],
  ])(
    'a token whose key is unknown is refused as one of %s, even if the provider vouches for it',
    async (_what, changes) => {
      await expect(verify(await sign(changes, { kid: 'new' }))).rejects.toMatchObject(invalid)
    },
  )
})

describe('HS256 with a configured secret', () => {
  beforeEach(() => {
    verify = verifierOf({ hs256Secret: secret })
  })

  it('an HS256 token with a configured secret is accepted without fetching keys', async () => {
    expect(await verify(await signSymmetric(secret))).toMatchObject({ sub: claims.sub })
    expect(fetches).toBe(0)
  })

  it('a configured HS256 secret does not switch off published keys', async () => {
    expect(await verify(await sign())).toMatchObject({ sub: claims.sub })
  })

  it.each<[rule: string, token: () => Promise<string>]>([
    ['another secret', () => signSymmetric(`${secret}!`)],
    ['the EC public key as secret', async () => signSymmetric(await exportSPKI(key.publicKey))],
    [
      'the anon API key, signed with the same secret',
      () => signSymmetric(secret, { role: 'anon', sub: undefined, session_id: undefined }),
    ],
    [
      'the service_role API key, signed with the same secret',
      () => signSymmetric(secret, { role: 'service_role', sub: undefined }),
    ],
    [
      'HS384',
      () => new SignJWT(claims).setProtectedHeader({ alg: 'HS384' }).sign(Buffer.from(secret.repeat(2))),
    ],
  ])('an HS256 token is refused: %s', async (_rule, token) => {
    await expect(verify(await token())).rejects.toMatchObject(invalid)
  })
})

it('keys that cannot be had are transient, not the fault of the token', async () => {
  verify = createTokenVerifier(
    { ...defaults, vouch: () => Promise.reject(new ProviderError('transient', 'It cannot be asked.')) },
    { now: runtime.now, fetch: () => Promise.reject(new TypeError('fetch failed')) },
  )
  await expect(verify(await sign())).rejects.toMatchObject({ failure: 'transient' })
})
