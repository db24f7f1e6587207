import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AuthResult, User } from './auth-client.ts'
import { createTokenVerifier, type TokenVerifier } from './token-verifier.ts'

const AUTH = 'http://localhost:8788/auth/v1'
const NOW = 1_800_000_000
const CLAIMS = { iss: AUTH, aud: 'authenticated', role: 'authenticated', sub: 'u', exp: NOW + 60 }

let keys: Awaited<ReturnType<typeof generateKeyPair>>
let jwk: Record<string, unknown>
beforeAll(async () => {
  keys = await generateKeyPair('ES256', { extractable: true })
  jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256' }
})

const sign = (claims: JWTPayload, header: Record<string, string> = {}): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header }).sign(keys.privateKey)

function open(options: { jwks?: () => Response; user?: AuthResult<User> } = {}): {
  verify: TokenVerifier
  fetched: string[]
} {
  const fetched: string[] = []
  const user: AuthResult<User> = options.user ?? { ok: false, fault: { kind: 'refused', code: 'bad_jwt' } }
  const verify = createTokenVerifier(
    { authUrl: AUTH },
    {
      auth: {
        user: async () => {
          fetched.push('user')
          return user
        },
      },
      authFetch: async (request) => {
        fetched.push(new URL(request.url).pathname)
        return options.jwks?.() ?? Response.json({ keys: [jwk] })
      },
      runtime: { now: () => NOW },
    },
  )
  return { verify, fetched }
}

describe('a token signed with a published key', () => {
  it('names its user', async () => {
    const { verify, fetched } = open()
    expect(await verify(await sign(CLAIMS))).toEqual({ kind: 'caller', userId: 'u' })
    expect(fetched).toEqual(['/auth/v1/.well-known/jwks.json'])
  })

  it('may be for several audiences', async () => {
    expect((await open().verify(await sign({ ...CLAIMS, aud: ['x', 'authenticated'] }))).kind).toBe('caller')
  })

  it.each([
    { change: { exp: NOW }, reason: /expired/ },
    { change: { iss: `${AUTH}/` }, reason: /issuer/ },
    { change: { aud: ['x', 'y'] }, reason: /audience/ },
    { change: { role: 'service_role' }, reason: /signed-in user/ },
  ])('with $change is refused', async ({ change, reason }) => {
    expect(await open().verify(await sign({ ...CLAIMS, ...change }))).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(reason),
    })
  })

  it.each(['iss', 'aud', 'role', 'sub', 'exp'])('without %s is refused', async (name) => {
    const { [name]: _left, ...rest }: Record<string, unknown> = CLAIMS
    expect((await open().verify(await sign(rest))).kind).toBe('refused')
  })

  it('by another key of the same name is refused', async () => {
    const other = await generateKeyPair('ES256')
    const token = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(other.privateKey)
    expect((await open().verify(token)).kind).toBe('refused')
  })

  it('under a name that is not published is refused', async () => {
    expect((await open().verify(await sign(CLAIMS, { kid: 'k2' }))).kind).toBe('refused')
  })

  it.each([
    { what: 'an error', jwks: () => new Response('', { status: 503 }) },
    { what: 'a page', jwks: () => new Response('<html>') },
    { what: 'something else', jwks: () => Response.json({ keys: 'none' }) },
    { what: 'null', jwks: () => Response.json(null) },
    {
      what: 'nothing',
      jwks: () => {
        throw new TypeError('fetch failed')
      },
    },
  ])('is neither good nor bad while the keys are $what', async ({ jwks }) => {
    expect(await open({ jwks }).verify(await sign(CLAIMS))).toEqual({ kind: 'unavailable' })
  })
})

describe('a token signed with a secret', () => {
  const signShared = (claims: JWTPayload): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from('a secret that the app does not know'))

  it('is shown to the provider', async () => {
    const { verify, fetched } = open({ user: { ok: true, value: { id: 'u', email: 'e' } } })
    expect(await verify(await signShared(CLAIMS))).toEqual({ kind: 'caller', userId: 'u' })
    expect(fetched).toEqual(['user'])
  })

  it.each([
    {
      what: 'refused by it',
      user: { ok: false, fault: { kind: 'refused', code: 'bad_jwt' } },
      kind: 'refused',
    },
    { what: 'of another user', user: { ok: true, value: { id: 'other', email: 'e' } }, kind: 'refused' },
    { what: 'not answered', user: { ok: false, fault: { kind: 'unavailable' } }, kind: 'unavailable' },
  ] as const)('that is $what is $kind', async ({ user, kind }) => {
    expect((await open({ user }).verify(await signShared(CLAIMS))).kind).toBe(kind)
  })

  it('with wrong claims is not even shown', async () => {
    const { verify, fetched } = open({ user: { ok: true, value: { id: 'u', email: 'e' } } })
    expect((await verify(await signShared({ ...CLAIMS, aud: 'x' }))).kind).toBe('refused')
    expect(fetched).toEqual([])
  })
})

describe('what is no token', () => {
  it.each(['', 'x', 'a.b.c', 'sb_publishable_key', 'x'.repeat(10_000)])(
    '%j is refused without a call',
    async (text) => {
      const { verify, fetched } = open()
      expect((await verify(text)).kind).toBe('refused')
      expect(fetched).toEqual([])
    },
  )

  it('an unsigned one is refused', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect((await open().verify(`${part({ alg: 'none' })}.${part(CLAIMS)}.`)).kind).toBe('refused')
  })
})
