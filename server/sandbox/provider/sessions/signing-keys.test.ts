import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT, type JSONWebKeySet } from 'jose'
import { describe, expect, it } from 'vitest'
import { startProvider, type ProviderFixture } from '../../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

async function jwks(provider: ProviderFixture): Promise<JSONWebKeySet> {
  const response = await provider.call('GET', '/.well-known/jwks.json')
  return JSON.parse(await response.text())
}

async function signIn(provider: ProviderFixture): Promise<string> {
  if (provider.admin.findUser(ADA.email) === undefined) await provider.admin.createUser(ADA)
  const { data } = await provider.client().auth.signInWithPassword(ADA)
  return data.session?.access_token ?? ''
}

const userStatus = async (provider: ProviderFixture, token: string): Promise<number> =>
  (await provider.call('GET', '/user', undefined, { authorization: `Bearer ${token}` })).status

describe('the published keys', () => {
  it('verify a token, may be cached, and hold no private part', async () => {
    const provider = startProvider()
    const token = await signIn(provider)
    const response = await provider.call('GET', '/.well-known/jwks.json')
    expect(response.headers.get('cache-control')).toBe('public, max-age=600')
    const keys = await jwks(provider)
    expect(keys.keys).toMatchObject([
      { kty: 'EC', crv: 'P-256', alg: 'ES256', key_ops: ['verify'], kid: expect.any(String) },
    ])
    expect(JSON.stringify(keys)).not.toContain('"d"')
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys))
    expect(payload.iss).toBe('http://localhost:8788/auth/v1')
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: keys.keys[0]?.kid })
  })

  it('keep the old key over a rotation, which new tokens no longer use', async () => {
    const provider = startProvider()
    const before = await signIn(provider)
    provider.admin.rotateSigningKey()
    const after = await signIn(provider)
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid)
    const keys = await jwks(provider)
    expect(keys.keys.map((key) => key.kid)).toEqual([
      decodeProtectedHeader(after).kid,
      decodeProtectedHeader(before).kid,
    ])
    for (const token of [before, after]) {
      await jwtVerify(token, createLocalJWKSet(keys))
      expect(await userStatus(provider, token)).toBe(200)
      expect((await provider.client().auth.getClaims(token)).error).toBeNull()
    }
  })

  it('lose the old key when it is revoked', async () => {
    const provider = startProvider()
    const before = await signIn(provider)
    provider.admin.rotateSigningKey({ dropOld: true })
    expect((await jwks(provider)).keys).toHaveLength(1)
    expect(await userStatus(provider, before)).toBe(403)
  })
})

describe('with a shared secret', () => {
  it('no key is published, and clients ask the provider', async () => {
    const provider = startProvider()
    provider.admin.setAlgorithm('HS256')
    const token = await signIn(provider)
    expect(await jwks(provider)).toEqual({ keys: [] })
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256', typ: 'JWT' })
    await jwtVerify(token, Buffer.from(provider.admin.jwtSecret))
    provider.admin.resetCounters()
    const { data, error } = await provider.client().auth.getClaims(token)
    expect(error).toBeNull()
    expect(data?.claims.email).toBe(ADA.email)
    expect(provider.admin.counters.user).toBe(1)
  })

  it('an API key of a service is no sign-in', async () => {
    const provider = startProvider()
    provider.admin.setAlgorithm('HS256')
    const key = await provider.admin.signClaims({ role: 'service_role', iss: 'supabase', exp: 9_999_999_999 })
    expect(await userStatus(provider, key)).toBe(403)
  })
})

describe('a token at /user', () => {
  const attack = async (provider: ProviderFixture): Promise<Record<string, string>> => {
    const token = await signIn(provider)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const publicKey = JSON.stringify((await jwks(provider)).keys[0])
    return {
      'without a signature': `${none}.${payload}.`,
      'with a broken signature': `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      'with the public key as a secret': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(publicKey)),
      'without expiry': await provider.admin.signClaims({ ...claims, exp: undefined }),
      'that has expired': await provider.admin.signClaims({ ...claims, exp: provider.runtime.now() }),
      'of nobody': await provider.admin.signClaims({ ...claims, sub: undefined }),
      'of no session': await provider.admin.signClaims({ ...claims, session_id: undefined }),
      'that is no JWT': 'sb_publishable_test',
    }
  }

  it('is refused in every forged form', async () => {
    const provider = startProvider()
    for (const [form, token] of Object.entries(await attack(provider))) {
      expect([form, await userStatus(provider, token)]).toEqual([form, 403])
    }
    expect(await userStatus(provider, await signIn(provider))).toBe(200)
  })

  it('expires', async () => {
    const provider = startProvider({ tokenTtlSeconds: 60 })
    const token = await signIn(provider)
    provider.runtime.advance(59)
    expect(await userStatus(provider, token)).toBe(200)
    provider.runtime.advance(1)
    expect(await userStatus(provider, token)).toBe(403)
  })

  it('of another session of the same user does not pass for this one', async () => {
    const provider = startProvider()
    const [ada, eve] = [
      await signIn(provider),
      await provider.admin.createUser({ ...ADA, email: 'eve@example.com' }),
    ]
    const claims = JSON.parse(Buffer.from(ada.split('.')[1] ?? '', 'base64url').toString())
    expect(await userStatus(provider, await provider.admin.signClaims({ ...claims, sub: eve.id }))).toBe(403)
  })
})
