import { afterEach, describe, expect, it } from 'vitest'
import { capabilitiesSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { openProvider } from '../../startup/open-provider.ts'
import { AUTH, type ProviderFixture, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { probeSupabase, supabaseChecks, type SupabaseFacts } from './supabase-check.ts'
import { providerChecks } from './provider-check.ts'
import type { ProbeResult } from './probe.ts'

const config = configSample({ provider: 'supabase', providerUrl: AUTH, providerKey: 'sb_publishable_x' })

function answer(status: number, json?: Record<string, unknown>): ProbeResult {
  return { kind: 'answered', status, headers: new Headers(), text: '', json }
}

const nowhere: ProbeResult = { kind: 'unreachable', reason: 'nothing listens there' }
const sound: SupabaseFacts = {
  config,
  capabilities: undefined,
  settings: answer(200, { external: { email: true } }),
  keySet: answer(200, { keys: [] }),
  database: answer(400, { code: 'refresh_token_not_found' }),
  discovery: [answer(404), answer(404)],
}

/** The finding of one check, if it says anything. */
function find(name: string, facts: SupabaseFacts): Finding | undefined {
  return findingsOf(supabaseChecks, facts).find((finding) => finding.name === name)
}

let provider: ProviderFixture | undefined
afterEach(() => {
  provider?.close()
  provider = undefined
})

describe('doctor, on a project that answers', () => {
  it("doctor passes a Supabase project's API, sign-in methods and keys", async () => {
    provider = startProvider()
    const { fetch, runtime } = provider
    const capabilities = await openProvider(config, { ...runtime, fetch }).capabilities()
    const facts = await probeSupabase(config, { fetch }, capabilities)
    const findings = [
      ...findingsOf(supabaseChecks, facts).filter(({ name }) => name !== 'issuer'),
      ...findingsOf(providerChecks, { config, keySet: facts.keySet, answers: [], now: 0 }),
    ]
    expect(findings.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'provider ok',
      'sign-in-methods ok',
      'signing-keys ok',
    ])
    expect(findings.map(({ message }) => message)).toEqual([
      `${AUTH} answers.`,
      expect.stringContaining('email and password, Google'),
      'The provider publishes 1 ES256.',
    ])
  })

  it('doctor sends a Supabase project the API key, and no other secret', async () => {
    const seen: string[] = []
    const fetch = async (request: Request): Promise<Response> => {
      seen.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get('apikey')}`)
      expect(request.headers.has('authorization')).toBe(false)
      return Response.json({})
    }
    await probeSupabase(config, { fetch }, undefined)
    expect(seen.toSorted()).toEqual([
      'GET /auth/v1/.well-known/jwks.json sb_publishable_x',
      'GET /auth/v1/.well-known/oauth-authorization-server sb_publishable_x',
      'GET /auth/v1/.well-known/openid-configuration sb_publishable_x',
      'GET /auth/v1/settings sb_publishable_x',
      'POST /auth/v1/token sb_publishable_x',
    ])
  })
})

describe('doctor, on the auth API', () => {
  it.each<[what: string, settings: ProbeResult, state: string, message: RegExp, fix: RegExp]>([
    ['is not there', nowhere, 'fail', /cannot be reached: nothing listens there/, /PROVIDER_URL/],
    [
      'refuses the key',
      answer(401, { message: 'Invalid API key' }),
      'fail',
      /refuses the API key/,
      /PROVIDER_KEY/,
    ],
    ['is another site', answer(200), 'fail', /No auth API at .* 200 without JSON/, /\/auth\/v1/],
    ['is the project without its path', answer(404, {}), 'fail', /No auth API at .* 404\./, /\/auth\/v1/],
    [
      'is in trouble',
      answer(503),
      'fail',
      /sign-ins and refreshes fail: 503\./,
      /status page of the provider/,
    ],
  ])('doctor reports an auth API that %s', (_, settings, state, message, fix) => {
    const finding = find('provider', { ...sound, settings })
    expect(finding).toMatchObject({ name: 'provider', state })
    expect(finding?.message).toMatch(message)
    expect(finding?.fix).toMatch(fix)
  })

  it.each([
    ['500', answer(500)],
    ['nothing listens there', nowhere],
  ])('doctor fails an auth API whose database does not answer: %s', (reason, database) => {
    expect(find('provider', { ...sound, database })).toMatchObject({
      state: 'fail',
      message: `${AUTH} answers, but sign-ins and refreshes fail: ${reason}.`,
    })
  })

  it('doctor fails an auth API that requires an API key if none is set', () => {
    const finding = find('provider', {
      ...sound,
      config: { ...config, providerKey: undefined },
      settings: answer(401),
    })
    expect(finding?.message).toMatch(/requires an API key/)
    expect(finding?.fix).toMatch(/^Set DRAWBRIDGE_PROVIDER_KEY/)
  })

  it('doctor warns that the embedded provider runs only inside the server', () => {
    const finding = find('provider', {
      ...sound,
      config: { ...config, provider: 'embedded' },
      settings: nowhere,
    })
    expect(finding?.state).toBe('warn')
  })
})

describe('doctor, on the sign-in methods', () => {
  const check = (external: object, social?: string[], more: object = {}): Finding | undefined =>
    find('sign-in-methods', {
      ...sound,
      config: { ...config, social: social?.map((id) => ({ id, scopes: undefined })) },
      settings: answer(200, { external, ...more }),
      capabilities: capabilitiesSample({
        password: (external as { email?: boolean }).email === true,
        social: (social ?? []).map((id) => ({ id, label: id })),
      }),
    })

  it('doctor fails a configured sign-in method that is turned off at the provider', () => {
    expect(check({ email: true, google: false, github: true }, ['google', 'github'])).toMatchObject({
      state: 'fail',
      message: 'DRAWBRIDGE_SOCIAL names google, which is turned off at the provider.',
    })
  })

  it('doctor passes a configured sign-in method that the provider does not list', () => {
    expect(check({ email: true }, ['custom:acme'])).toMatchObject({
      state: 'ok',
      message: 'The login page offers email and password, custom:acme.',
    })
  })

  it('doctor fails if there is no sign-in method, and says how to offer an unlisted one', () => {
    const finding = check({ email: false, phone: true, web3: true, google: false })
    expect(finding?.state).toBe('fail')
    expect(finding?.fix).toContain('x or custom:NAME, set DRAWBRIDGE_SOCIAL=NAME')
  })

  it('doctor names the sign-in methods, with single sign-on', () => {
    const capabilities = capabilitiesSample({ sso: true })
    expect(find('sign-in-methods', { ...sound, capabilities })?.message).toBe(
      'The login page offers email and password, Google, single sign-on (SAML).',
    )
  })

  it.each([
    { emailSignIn: 'code', offered: 'a code by email', needed: 'must contain {{ .Token }}.' },
    { emailSignIn: 'link', offered: 'a link by email', needed: 'must contain {{ .ConfirmationURL }}.' },
    {
      emailSignIn: 'both',
      offered: 'a code or link by email',
      needed: '{{ .Token }} and {{ .ConfirmationURL }}',
    },
  ] as const)(
    'doctor names what the mail template must contain for $emailSignIn',
    ({ emailSignIn, offered, needed }) => {
      const facts = {
        ...sound,
        config: { ...config, emailSignIn },
        settings: answer(200, { external: { email: true } }),
        capabilities: capabilitiesSample({ password: false, email: emailSignIn, social: [] }),
      }
      const finding = find('sign-in-methods', facts)
      expect(finding?.state).toBe('ok')
      expect(finding?.message).toContain(`The login page offers ${offered}.`)
      expect(finding?.message).toContain(needed)
      const off = { ...facts, capabilities: { ...facts.capabilities, email: undefined } }
      expect(find('sign-in-methods', off)?.fix).toContain('DRAWBRIDGE_EMAIL_SIGN_IN')
    },
  )

  it('doctor does not judge the sign-in methods without a response', () => {
    expect(find('sign-in-methods', { ...sound, settings: nowhere })).toBe(undefined)
  })
})

describe('doctor, on the issuer', () => {
  const judge = (facts: SupabaseFacts): Finding | undefined => find('issuer', facts)
  const check = (...discovery: ProbeResult[]): Finding | undefined => judge({ ...sound, discovery })

  it('doctor compares a published issuer exactly', () => {
    expect(check(answer(200, { issuer: AUTH }))?.state).toBe('ok')
    const finding = check(answer(404), answer(200, { issuer: `${AUTH}/` }))
    expect(finding).toMatchObject({ state: 'fail', fix: `Set DRAWBRIDGE_PROVIDER_ISSUER=${AUTH}/` })
  })

  it('doctor says to set an empty issuer at the provider, not at this server', () => {
    const finding = check(answer(200, { issuer: '' }), answer(404))
    expect(finding).toMatchObject({ state: 'fail', fix: `Set GOTRUE_JWT_ISSUER=${AUTH} at the provider.` })
  })

  it.each([[nowhere], [answer(404)], [answer(200, { issuer: 5 })]])(
    'doctor says to compare an unpublished issuer by hand',
    (found) => {
      const finding = check(found, found)
      expect(finding?.state).toBe('warn')
      expect(finding?.fix).toContain('access token')
    },
  )

  it("doctor knows the embedded provider's issuer", () => {
    const embedded = { ...sound, config: { ...config, provider: 'embedded' as const } }
    expect(judge(embedded)?.state).toBe('ok')
    expect(judge({ ...embedded, settings: nowhere, discovery: [nowhere, nowhere] })?.state).toBe('ok')
  })

  it('doctor does not judge the issuer if the provider does not answer', () => {
    expect(judge({ ...sound, settings: nowhere, discovery: [nowhere, nowhere] })).toBe(undefined)
  })
})
