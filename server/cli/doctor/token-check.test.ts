import { beforeAll, describe, expect, it } from 'vitest'
import { openProvider } from '../../startup/open-provider.ts'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type KeySample, keySample, signWith } from '../../../tests/support/server/key-sample.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { checkToken } from './token-check.ts'

const issuer = 'https://ref.supabase.co/auth/v1'
const runtime = createFakeRuntime(1_800_000_000)
const id = '5f1e9f1c-1e9c-4b46-9d5a-000000000001'
let key: KeySample
let stranger: KeySample
beforeAll(async () => {
  key = await keySample('published')
  stranger = await keySample('published')
})

const claims = {
  iss: issuer,
  aud: 'authenticated',
  sub: id,
  role: 'authenticated',
  session_id: id,
  iat: runtime.now(),
  exp: runtime.now() + 3600,
}

/** What is said of a token, by the verifier that `/mcp` uses; `user` is what the provider says about its session. */
function check(
  token: string,
  overrides: Parameters<typeof configSample>[0] = {},
  user: () => Response = () => Response.json({ id }),
): Promise<Finding[]> {
  const config = configSample({
    provider: 'supabase',
    providerUrl: issuer,
    providerIssuer: issuer,
    ...overrides,
  })
  const fetch = async ({ url }: Request): Promise<Response> =>
    url.endsWith('/user') ? user() : Response.json({ keys: [key.published] })
  return checkToken(token, config, openProvider(config, { ...runtime, fetch }), runtime.now())
}

function broken(findings: readonly Finding[]): string[] {
  return findings.filter(({ state }) => state !== 'ok').map(({ name }) => name)
}

describe('a provider token', () => {
  it('that is sound passes every rule, by name', async () => {
    const token = await signWith(key, claims)
    for (const text of [token, `Bearer ${token}\n`, `  ${token}  `]) {
      const findings = await check(text)
      expect(findings.every(({ state }) => state === 'ok')).toBe(true)
      expect(findings.map(({ name }) => name)).toEqual([
        'token-alg',
        'token-iss',
        'token-aud',
        'token-exp',
        'token-iat',
        'token-sub',
        'token-role',
        'token-session_id',
        'token-is_anonymous',
        'token-client_id',
        'token',
        'token-session',
      ])
    }
  })

  it.each<[what: string, state: string, user: () => Response]>([
    [
      'whose session was signed out',
      'fail',
      () => Response.json({ code: 'session_not_found' }, { status: 403 }),
    ],
    ['that the provider refuses', 'fail', () => Response.json({ code: 'bad_jwt' }, { status: 403 })],
    [
      'while the provider is in trouble',
      'warn',
      () => Response.json({ code: 'unexpected_failure' }, { status: 500 }),
    ],
  ])('%s: %s, although it passes every rule', async (_what, state, user) => {
    const findings = await check(await signWith(key, claims), {}, user)
    expect(findings.at(-2)).toMatchObject({ name: 'token', state: 'ok' })
    expect(findings.at(-1)).toMatchObject({ name: 'token-session', state })
  })

  it('is not asked about where sessions are not checked', async () => {
    const findings = await check(await signWith(key, claims), { sessionCheck: undefined }, () =>
      Response.error(),
    )
    expect(findings.at(-1)).toMatchObject({ name: 'token', state: 'ok' })
  })

  it.each<[rule: string, changes: Record<string, unknown>]>([
    ['iss', { iss: 'https://ref.supabase.co/auth/v1/' }],
    ['iss', { iss: undefined }],
    ['aud', { aud: 'https://elsewhere.example' }],
    ['aud', { aud: undefined }],
    ['exp', { exp: runtime.now() }],
    ['exp', { exp: undefined }],
    ['iat', { iat: runtime.now() + 61 }],
    ['sub', { sub: 'ada' }],
    ['role', { role: 'anon' }],
    ['session_id', { session_id: undefined }],
    ['is_anonymous', { is_anonymous: true }],
    ['client_id', { client_id: 'somebody' }],
  ])('that breaks %s with %j is refused for that, by the verifier too', async (rule, changes) => {
    const findings = await check(await signWith(key, { ...claims, ...changes }))
    expect(broken(findings)).toEqual([`token-${rule}`, 'token'])
    expect(findings.every(({ state, fix }) => state === 'ok' || fix !== undefined)).toBe(true)
  })

  it('of another issuer says which setting to change, if that is the provider', async () => {
    const findings = await check(await signWith(key, { ...claims, iss: 'https://auth.example.com' }))
    expect(findings.find(({ name }) => name === 'token-iss')?.fix).toContain(
      'DRAWBRIDGE_PROVIDER_ISSUER="https://auth.example.com"',
    )
  })

  it('that somebody else signed breaks no rule about what it says; the verifier refuses it', async () => {
    expect(broken(await check(await signWith(stranger, claims)))).toEqual(['token'])
    const unknown = await check(await signWith(key, claims, { kid: 'unknown' }))
    expect(broken(unknown)).toEqual(['token'])
    expect(unknown.at(-1)?.message).toContain('a key the provider does not publish')
  })

  it('that is signed with a shared secret needs the setting', async () => {
    const hs256 = [{ alg: 'HS256' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    expect(broken(await check(`${hs256}.c2ln`))).toEqual(['token-alg', 'token'])
    expect(broken(await check(`${hs256}.c2ln`, { providerJwtSecret: 'x'.repeat(32) }))).toEqual(['token'])
  })

  it.each(['', 'mcpa_something', 'not a token', 'a.b.c'])('%j is none', async (text) => {
    const findings = await check(text)
    expect(findings).toHaveLength(1)
    expect(findings[0]).toMatchObject({ name: 'token-form', state: 'fail' })
  })

  it('is in none of the findings, whatever is wrong with it', async () => {
    for (const changes of [
      {},
      { sub: 'person@example.com' },
      { iss: 'x', role: 'anon', session_id: 'sid' },
    ]) {
      const token = await signWith(key, { ...claims, email: 'ada@example.com', ...changes })
      const said = JSON.stringify(await check(token))
      for (const secret of [
        token,
        ...token.split('.'),
        id,
        'ada@example.com',
        'person@example.com',
        'sid"',
      ]) {
        expect(said).not.toContain(secret)
      }
    }
  })

  it('of an OpenID provider is of no use without an audience', async () => {
    const token = await signWith(key, claims)
    const findings = await check(token, {
      provider: 'oidc',
      providerAudience: undefined,
      providerClientId: 'c',
    })
    expect(findings).toMatchObject([{ name: 'token', state: 'warn' }])
  })
})
