import { afterEach, describe, expect, it } from 'vitest'
import { openProvider } from '../../startup/open-provider.ts'
import { AUTH, type ProviderFixture, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { checkSigningKeys } from './signing-key-check.ts'
import {
  askSupabase,
  checkApiKey,
  checkAuthApi,
  checkIssuer,
  checkSignInMethods,
  type SupabaseFacts,
} from './supabase-check.ts'
import type { Visit } from './visit.ts'

const config = configSample({ provider: 'supabase', providerUrl: AUTH, providerKey: 'sb_publishable_x' })

function answer(status: number, json?: Record<string, unknown>): Visit {
  return { kind: 'answered', status, headers: new Headers(), text: '', json }
}

const nowhere: Visit = { kind: 'unreachable', reason: 'nothing listens there' }
const sound: SupabaseFacts = {
  settings: answer(200, { external: { email: true } }),
  health: answer(200, { version: 'v2' }),
  keySet: answer(200, { keys: [] }),
  discovery: [answer(404), answer(404)],
}

let provider: ProviderFixture | undefined
afterEach(() => {
  provider?.close()
  provider = undefined
})

describe('a provider that answers', () => {
  it('is found sound: API, methods, keys', async () => {
    provider = startProvider()
    const { fetch, runtime } = provider
    const facts = await askSupabase(config, { fetch })
    const capabilities = await openProvider(config, { ...runtime, fetch }).capabilities()
    const findings = [
      checkAuthApi(config, facts),
      ...checkSignInMethods(config, facts, capabilities),
      ...checkSigningKeys(config, facts.keySet),
    ]
    expect(findings.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'provider ok',
      'sign-in-methods ok',
      'signing-keys ok',
    ])
    expect(findings.map(({ message }) => message)).toEqual([
      `${AUTH} answers, version v2.196.0-embedded.`,
      expect.stringContaining('email and password, Google'),
      'The provider publishes 1 ES256.',
    ])
  })

  it('gets the API key, and nothing else that is secret', async () => {
    const seen: string[] = []
    const fetch = async (request: Request): Promise<Response> => {
      seen.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get('apikey')}`)
      expect(request.headers.has('authorization')).toBe(false)
      return Response.json({})
    }
    await askSupabase(config, { fetch })
    expect(seen.toSorted()).toEqual([
      'GET /auth/v1/.well-known/jwks.json sb_publishable_x',
      'GET /auth/v1/.well-known/oauth-authorization-server sb_publishable_x',
      'GET /auth/v1/.well-known/openid-configuration sb_publishable_x',
      'GET /auth/v1/health sb_publishable_x',
      'GET /auth/v1/settings sb_publishable_x',
    ])
  })
})

describe('the auth API', () => {
  it.each<[what: string, settings: Visit, state: string, message: RegExp, fix: RegExp]>([
    ['is not there', nowhere, 'fail', /cannot be reached: nothing listens there/, /PROVIDER_URL/],
    [
      'refuses the key',
      answer(401, { message: 'Invalid API key' }),
      'fail',
      /refuses the API key/,
      /PROVIDER_KEY/,
    ],
    ['refuses the key with 403', answer(403), 'fail', /refuses the API key/, /PROVIDER_KEY/],
    ['is another site', answer(200), 'fail', /is no auth API: .* 200 without JSON/, /\/auth\/v1/],
    ['is the project without its path', answer(404, {}), 'fail', /is no auth API: .* 404\./, /\/auth\/v1/],
    ['redirects', answer(301), 'fail', /is no auth API/, /\/auth\/v1/],
    ['is in trouble', answer(503), 'fail', /in trouble: it answers 503/, /status of the provider/],
  ])('%s', (_, settings, state, message, fix) => {
    const finding = checkAuthApi(config, { ...sound, settings })
    expect(finding).toMatchObject({ name: 'provider', state })
    expect(finding.message).toMatch(message)
    expect(finding.fix).toMatch(fix)
  })

  it('demands a key where none is configured', () => {
    const finding = checkAuthApi({ ...config, providerKey: undefined }, { ...sound, settings: answer(401) })
    expect(finding.message).toMatch(/demands an API key/)
    expect(finding.fix).toMatch(/^Set DRAWBRIDGE_PROVIDER_KEY/)
  })

  it('of the embedded provider is only there while the server runs', () => {
    const finding = checkAuthApi({ ...config, provider: 'embedded' }, { ...sound, settings: nowhere })
    expect(finding.state).toBe('warn')
  })
})

describe('the API key', () => {
  const jwt = (claims: object): string =>
    [{ alg: 'HS256' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.') + '.c2ln'

  it.each([
    ['sb_secret_abc', 'warn'],
    [jwt({ role: 'service_role' }), 'warn'],
    [jwt({ role: 'anon' }), undefined],
    ['sb_publishable_abc', undefined],
    [undefined, undefined],
  ])('%s: %s', (providerKey, state) => {
    const [finding] = checkApiKey({ ...config, providerKey })
    expect(finding?.state).toBe(state)
    if (finding) expect(JSON.stringify(finding)).not.toContain(providerKey)
  })
})

describe('the sign-in methods', () => {
  const check = (external: object, social?: string[], more: object = {}): Finding | undefined =>
    checkSignInMethods(
      { ...config, social },
      { ...sound, settings: answer(200, { external, ...more }) },
      {
        password: (external as { email?: boolean }).email === true,
        social: (social ?? []).map((id) => ({ id, label: id })),
        captcha: undefined,
        confirmsEmail: true,
      },
    )[0]

  it('that are off at the provider and named here are a failure', () => {
    expect(check({ email: true, google: false, github: true }, ['google', 'github'])).toMatchObject({
      state: 'fail',
      message: 'DRAWBRIDGE_SOCIAL names google, which the provider has switched off.',
    })
  })

  it('that the provider does not list may be there', () => {
    expect(check({ email: true }, ['custom:acme'])).toMatchObject({
      state: 'ok',
      message: 'The login page offers email and password, custom:acme.',
    })
  })

  it('none at all is a failure', () => {
    expect(check({ email: false, phone: true })?.state).toBe('fail')
  })

  it('say what new accounts meet', () => {
    const message = check({ email: true }, [], { mailer_autoconfirm: false, disable_signup: true })?.message
    expect(message).toMatch(/must confirm their address/)
    expect(message).toMatch(/New accounts are switched off/)
  })

  it('are not judged when nobody said', () => {
    expect(checkSignInMethods(config, { ...sound, settings: nowhere }, undefined)).toEqual([])
  })
})

describe('the issuer', () => {
  const check = (...discovery: Visit[]): Finding => checkIssuer(config, { ...sound, discovery })

  it('that is published is compared to the letter', () => {
    expect(check(answer(200, { issuer: AUTH })).state).toBe('ok')
    const finding = check(answer(404), answer(200, { issuer: `${AUTH}/` }))
    expect(finding).toMatchObject({ state: 'fail', fix: `Set DRAWBRIDGE_PROVIDER_ISSUER=${AUTH}/` })
  })

  it.each([
    [AUTH, 'ok'],
    ['https://elsewhere.example', 'warn'],
  ])('that is not published, and a token of %s: %s', (iss, state) => {
    const token = { header: {}, claims: { iss }, expiresAt: undefined }
    const facts = { ...sound, discovery: [answer(404), answer(404)] }
    expect(checkIssuer(config, facts, token).state).toBe(state)
  })

  it('that is empty: the provider has to be given one, not this server', () => {
    const finding = check(answer(200, { issuer: '' }), answer(404))
    expect(finding).toMatchObject({ state: 'fail', fix: `Set GOTRUE_JWT_ISSUER=${AUTH} at the provider.` })
  })

  it.each([[nowhere], [answer(404)], [answer(200, { issuer: 5 })]])(
    'that is not published: a token tells',
    (found) => {
      const finding = check(found, found)
      expect(finding.state).toBe('warn')
      expect(finding.fix).toContain('doctor --token-stdin')
    },
  )

  it('of the embedded provider is known', () => {
    expect(checkIssuer({ ...config, provider: 'embedded' }, sound).state).toBe('ok')
  })
})

describe('the signing keys', () => {
  const es256 = { kty: 'EC', crv: 'P-256', kid: 'a' }
  const rs256 = { kty: 'RSA', kid: 'b', alg: 'RS256', use: 'sig' }

  it.each<
    [what: string, keySet: Visit, secret: string | undefined, state: string | undefined, message: RegExp]
  >([
    [
      'are ES256 and RS256',
      answer(200, { keys: [es256, es256, rs256] }),
      undefined,
      'ok',
      /2 ES256 and 1 RS256/,
    ],
    ['are none: a shared secret', answer(200, { keys: [] }), undefined, 'fail', /HS256.*nobody can sign in/],
    ['are none, and the secret is known', answer(200, { keys: [] }), 's', 'ok', /PROVIDER_JWT_SECRET/],
    [
      'are published, and the secret is accepted too',
      answer(200, { keys: [es256] }),
      's',
      'warn',
      /can make tokens/,
    ],
    [
      'are of no use',
      answer(200, { keys: [{ kty: 'oct' }, { ...es256, use: 'enc' }] }),
      undefined,
      'fail',
      /None of the 2/,
    ],
    ['are not published', answer(404), undefined, 'fail', /answers 404/],
    ['are not published, and the secret is known', answer(404), 's', 'ok', /HS256/],
    ['are where nobody answers', nowhere, undefined, undefined, /^$/],
  ])('%s', (_, keySet, providerJwtSecret, state, message) => {
    const [finding] = checkSigningKeys({ ...config, providerJwtSecret }, keySet)
    expect(finding?.state).toBe(state)
    expect(finding?.message ?? '').toMatch(message)
  })
})
