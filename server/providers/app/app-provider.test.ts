import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { appJwt, appSecret, ada } from '../../../tests/support/server/app-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import { createAppProvider } from './app.ts'

const runtime = createFakeRuntime()
const now = runtime.now()
const provider = createAppProvider(
  {
    issuer: 'http://localhost:8788',
    baseUrl: 'http://localhost:8787',
    secret: appSecret,
    sessionUrl: undefined,
  },
  runtime,
) as Required<SessionProvider>
const callbackUrl = 'http://localhost:8787/oauth/callback'

const signIn = (proof: string) => provider.appSignIn({ proof, callbackUrl, state: 'state-1' })

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('It was accepted.'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ProviderError)) throw error
  expect(error.failure).toBe('invalid_token')
  return error.message
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

function signedBy(header: object, sign: (text: string) => string): string {
  const [, body] = appJwt('user', now).split('.')
  const text = `${encode(header)}.${body}`
  return `${text}.${sign(text)}`
}

describe('the proof of a user', () => {
  it.each<[what: string, claims: Record<string, unknown>]>([
    ['a minute ahead at most', {}],
    ['ten seconds of life', { exp: now + 10 }],
    ['a clock that is thirty seconds behind', { iat: now - 30, exp: now + 30 }],
    ['a clock that is thirty seconds ahead', { iat: now + 30, exp: now + 90 }],
    ['an end that is just over, within the tolerance of clocks', { iat: now - 80, exp: now - 20 }],
    ['null for what is not known', { email: null, email_verified: null, name: null, claims: null }],
    ['claims of its own besides', { iss: 'app', nbf: now - 1, tenant: 'x' }],
  ])('the web app may sign with %s', async (_what, claims) => {
    expect((await signIn(appJwt('user', now, claims))).identity.sub).toBe('ada')
  })

  it.each<[what: string, claims: Record<string, unknown>, fault: RegExp]>([
    ['for another server', { aud: 'https://other.example.com' }, /aud.*for http:\/\/localhost:8787\./],
    ['for the endpoint of MCP', { aud: 'http://localhost:8787/mcp' }, /aud/],
    ['for this server with a slash', { aud: 'http://localhost:8787/' }, /aud/],
    ['for two servers', { aud: ['http://localhost:8787', 'https://other.example.com'] }, /alone/],
    ['for no one', { aud: undefined }, /aud/],
    ['for 61 seconds', { exp: now + 61 }, /exp is more than 60 seconds after iat/],
    ['long ago', { iat: now - 200, exp: now - 140 }, /exp/],
    ['31 seconds after its end', { iat: now - 91, exp: now - 31 }, /exp/],
    ['without an end', { exp: undefined }, /exp/],
    ['in the future', { iat: now + 31, exp: now + 91 }, /iat/],
    ['without a time', { iat: undefined }, /iat/],
    ['with a time as text', { iat: String(now) }, /iat/],
    ['without an id', { jti: undefined }, /jti/],
    ['with a number as id', { jti: 7 }, /jti/],
    ['with an empty id', { jti: '' }, /jti/],
    ['without a user', { sub: undefined }, /sub/],
    ['for a user with the name of a service', { sub: 'service:mcpc_1' }, /service/],
    ['with an empty user', { sub: '' }, /sub/],
    ['with a number as user', { sub: 7 }, /sub/],
    ['with a long user', { sub: 'x'.repeat(256) }, /sub/],
    ['with a list as email', { email: ['ada@example.com'] }, /email/],
    ['with a text as proof of the email', { email_verified: 'yes' }, /email_verified/],
    ['with a list of claims', { claims: ['admin'] }, /claims/],
    ['with a token that is no header', { token: 'a\nb' }, /token/],
    ['with an object as token', { token: {} }, /token/],
    ['with a token that is over', { token: 't', expires_in: 0 }, /expires_in/],
  ])('a proof signed %s is refused by the name of its rule', async (_what, claims, fault) => {
    const jwt = appJwt('user', now, claims)
    expect(await faultOf(signIn(jwt))).toMatch(fault)
    expect(await faultOf(provider.verifyUser(jwt))).toMatch(fault)
  })

  it.each<[what: string, jwt: string, fault: RegExp]>([
    ['without a signature', signedBy({ alg: 'none', typ: 'drawbridge-user+jwt' }, () => ''), /alg/i],
    [
      'with HS512, though by the secret',
      signedBy({ alg: 'HS512', typ: 'drawbridge-user+jwt' }, (text) =>
        createHmac('sha512', appSecret).update(text).digest('base64url'),
      ),
      /alg/i,
    ],
    [
      'with RS256',
      signedBy({ alg: 'RS256', typ: 'drawbridge-user+jwt' }, (text) =>
        createSign('sha256').update(text).sign(privateKey, 'base64url'),
      ),
      /alg/i,
    ],
    [
      'as RS256 by the secret as key',
      signedBy({ alg: 'RS256', typ: 'drawbridge-user+jwt' }, (text) =>
        createHmac('sha256', appSecret).update(text).digest('base64url'),
      ),
      /alg/i,
    ],
    ['by another secret', appJwt('user', now, {}, { secret: `${appSecret}!` }), /signature/],
    ['by an empty secret', appJwt('user', now, {}, { secret: '' }), /signature/],
    ['by the secret in base64', appJwt('user', now, {}, { secret: btoa('x'.repeat(40)) }), /signature/],
    [
      'with a changed user',
      appJwt('user', now).replace(/\.[^.]+\./, `.${encode({ sub: 'eve' })}.`),
      /signature/,
    ],
    ['for the end of connections', appJwt('end', now), /expected drawbridge-user\+jwt/],
    ['for a question of this server', appJwt('session', now), /expected drawbridge-user\+jwt/],
    ['with a plain type', appJwt('user', now, {}, { header: { typ: 'JWT' } }), /typ/],
    ['without a type', appJwt('user', now, {}, { header: { typ: undefined } }), /typ/],
    ['with an unknown critical header', appJwt('user', now, {}, { header: { crit: ['x'], x: 1 } }), /x/],
    ['as no JWT', 'made-up', /JW/],
    ['as nothing', '', /JW/],
  ])('a JWT %s is refused as proof of a user', async (_what, jwt, fault) => {
    expect(await faultOf(signIn(jwt))).toMatch(fault)
    expect(await faultOf(provider.verifyUser(jwt))).toMatch(fault)
  })

  it('a refusal never repeats the JWT, nor the secret', async () => {
    const jwt = appJwt('user', now, { aud: 'https://other.example.com', email: 'eve@example.com' })
    const fault = await faultOf(signIn(jwt))
    for (const part of [...jwt.split('.'), appSecret, 'eve@example.com']) expect(fault).not.toContain(part)
  })
})

describe('a sign-in by a proof', () => {
  const proof = appJwt('user', now, { ...ada, jti: 'once', token: 'app-token' })

  it('returns with a code and the state, and both finish it', async () => {
    const { url, secret, singleUse, providerToken } = await signIn(proof)
    expect([singleUse, providerToken]).toEqual(['once', 'app-token'])
    const { searchParams: params } = new URL(url)
    expect(url).toBe(`${callbackUrl}?code=${params.get('code')}&state=state-1`)
    expect(params.get('code')).toMatch(/^[\w-]{43}$/)
    const step = await provider.socialFinish({ params, secret, callbackUrl })
    expect(step).toMatchObject({
      kind: 'signed_in',
      signIn: {
        session: { accessToken: 'app-token' },
        identity: { sub: 'ada', email: ada.email, name: 'Ada' },
      },
    })
  })

  it.each<[what: string, params: (code: string) => Record<string, string>]>([
    ['another code', () => ({ code: 'x', state: 'state-1' })],
    ['no code', () => ({ state: 'state-1' })],
    ['another state', (code) => ({ code, state: 'state-2' })],
    ['no state', (code) => ({ code })],
  ])('a return with %s belongs to another sign-in', async (_what, params) => {
    const { url, secret } = await signIn(proof)
    const returned = new URLSearchParams(params(new URL(url).searchParams.get('code') ?? ''))
    await expect(provider.socialFinish({ params: returned, secret, callbackUrl })).rejects.toMatchObject({
      failure: 'expired',
    })
  })

  it('keeps the code as a hash only', async () => {
    const { url, secret } = await signIn(proof)
    expect(secret).not.toContain(new URL(url).searchParams.get('code'))
  })

  it('an address that is not verified is the identity of no one, and rules see that it is not', async () => {
    const { identity } = await signIn(appJwt('user', now, { ...ada, email_verified: false }))
    expect(identity.email).toBeUndefined()
    expect(provider.profileOf({ kind: 'identity', identity }, undefined)).toMatchObject({
      email: ada.email,
      emailVerified: false,
    })
  })

  it('rules read the members of claims by their own names, and nothing else of the proof', async () => {
    const { identity } = await signIn(appJwt('user', now, { ...ada, role: 'admin' }))
    expect(provider.profileOf({ kind: 'identity', identity }, undefined)).toEqual({
      email: ada.email,
      emailVerified: true,
      name: 'Ada',
      providers: ['http://localhost:8788'],
      claims: { role: 'editor' },
    })
  })
})

it('the notice of an end is a JWT of its own type', async () => {
  const notice = await provider.readLogout(appJwt('end', now, { jti: 'end-1' }))
  expect(notice).toEqual({ id: 'end-1', sub: 'ada', sid: undefined })
  expect(await faultOf(provider.readLogout(appJwt('user', now)))).toMatch(/expected drawbridge-end\+jwt/)
})
