import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { startOidcFixture } from '../../../tests/support/server/oidc-fixture.ts'
import { oidcClient, type OidcServerOptions } from '../../../tests/support/server/oidc-server.ts'
import { probeClient, probeOidc, oidcChecks, type OidcFacts } from './oidc-check.ts'

const issuer = 'https://id.example.com/realms/main'
const config = configSample({ provider: 'oidc', providerUrl: issuer, providerIssuer: issuer })
const document = {
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  revocation_endpoint: `${issuer}/revoke`,
  jwks_uri: 'https://keys.example.com/set',
  code_challenge_methods_supported: ['S256'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  scopes_supported: ['openid', 'offline_access'],
}

/** Members that are undefined are left out. */
function facts(changes: Record<string, unknown> = {}): OidcFacts {
  const json = JSON.parse(JSON.stringify({ ...document, ...changes })) as Record<string, unknown>
  return {
    config,
    discovery: { kind: 'answered', status: 200, headers: new Headers(), text: '', json },
    keySet: undefined,
  }
}

function states(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ name, state }) => [name, state]))
}

const signOut = (providerSessions: 'many' | 'one'): Finding | undefined =>
  findingsOf(oidcChecks, {
    ...facts({ revocation_endpoint: undefined }),
    config: { ...config, providerSessions },
  }).find(({ name }) => name === 'sign-out')

it('doctor names the setting for dex at a provider that cannot revoke, unless it is set', () => {
  expect(signOut('many')).toMatchObject({
    state: 'warn',
    fix: expect.stringContaining('set DRAWBRIDGE_PROVIDER_SESSIONS=one, and see docs/openid-connect.md#dex'),
  })
  expect(signOut('one')).toMatchObject({ state: 'note' })
  expect(signOut('one')?.fix).not.toContain('DRAWBRIDGE_PROVIDER_SESSIONS')
  expect(readFileSync('docs/openid-connect.md', 'utf8')).toContain('\n## dex\n')
})

it('doctor requests the discovery document below the issuer, and the keys that it names', async () => {
  const requested: string[] = []
  const fetch = async (request: Request): Promise<Response> => {
    requested.push(request.url)
    return Response.json(document)
  }
  await probeOidc({ ...config, providerIssuer: `${issuer}/` }, { fetch })
  expect(requested).toEqual([`${issuer}/.well-known/openid-configuration`, 'https://keys.example.com/set'])
})

describe('doctor, on the discovery document', () => {
  it('doctor passes a discovery document with the expected issuer', () => {
    expect(states(findingsOf(oidcChecks, facts()))).toMatchObject({ provider: 'ok', issuer: 'ok' })
  })

  it('doctor fails an issuer that differs in a slash, with the spelling to set', () => {
    const findings = findingsOf(oidcChecks, facts({ issuer: `${issuer}/` }))
    expect(states(findings)).toMatchObject({ provider: 'ok', issuer: 'fail' })
    expect(findings[1]?.fix).toContain(`DRAWBRIDGE_PROVIDER_URL=${issuer}/ `)
  })

  it.each(['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'])(
    'doctor fails a discovery document without %s',
    (member) => {
      const findings = findingsOf(oidcChecks, facts({ [member]: undefined }))
      expect(states(findings)).toMatchObject({ provider: 'fail' })
      expect(states(findings)['issuer']).toBe(member === 'issuer' ? undefined : 'ok')
      expect(findings[0]?.message).toContain(`without ${member}`)
    },
  )

  it('doctor fails another page as discovery document, and a missing document', () => {
    const page: OidcFacts = {
      config,
      discovery: { kind: 'answered', status: 404, headers: new Headers(), text: '', json: undefined },
      keySet: undefined,
    }
    expect(findingsOf(oidcChecks, page)[0]?.message).toContain('(404)')
    const unreachable: OidcFacts = {
      config,
      discovery: { kind: 'unreachable', reason: 'gone' },
      keySet: undefined,
    }
    expect(findingsOf(oidcChecks, unreachable)).toMatchObject([{ name: 'provider', state: 'fail' }])
  })
})

describe('doctor, on the features of a provider', () => {
  it.each<[what: string, changes: Record<string, unknown>, name: string, state: string | undefined]>([
    ['refresh tokens are offered', {}, 'refresh-tokens', 'ok'],
    [
      'no refresh tokens are offered',
      { grant_types_supported: ['authorization_code'] },
      'refresh-tokens',
      'fail',
    ],
    ['nothing is said about grants', { grant_types_supported: undefined }, 'refresh-tokens', 'ok'],
    ['offline_access is unknown', { scopes_supported: ['openid'] }, 'refresh-tokens', 'warn'],
    ['nothing is said about scopes', { scopes_supported: undefined }, 'refresh-tokens', 'ok'],
    ['sessions can be revoked', {}, 'sign-out', 'ok'],
    ['sessions cannot be revoked', { revocation_endpoint: undefined }, 'sign-out', 'warn'],
  ])('doctor reports a feature of the provider: %s', (_, changes, name, state) => {
    expect(states(findingsOf(oidcChecks, facts(changes)))[name]).toBe(state)
  })

  it('doctor notes that a replaced session stays, if one is shared and the provider can revoke', () => {
    const one = { ...config, providerSessions: 'one' as const }
    const found = findingsOf(oidcChecks, { ...facts(), config: one }).find(({ name }) => name === 'sign-out')
    expect(found?.message).toContain('stays open at the provider')
    expect(found?.fix).toContain('Remove the setting')
  })

  it('doctor ignores an unlisted offline_access that is not requested', () => {
    const google = { ...config, providerScope: 'openid email' }
    const findings = findingsOf(oidcChecks, {
      ...facts({ scopes_supported: ['openid', 'email'] }),
      config: google,
    })
    expect(states(findings)['refresh-tokens']).toBe('ok')
  })
})

describe('doctor, on Supabase Auth behind PROVIDER=oidc', () => {
  const supabase = 'https://ref.supabase.co/auth/v1'
  // What GoTrue publishes; it knows no revocation, introspection or end of session.
  const gotrue = {
    issuer: supabase,
    authorization_endpoint: `${supabase}/oauth/authorize`,
    token_endpoint: `${supabase}/oauth/token`,
    userinfo_endpoint: `${supabase}/oauth/userinfo`,
    jwks_uri: `${supabase}/.well-known/jwks.json`,
    revocation_endpoint: undefined,
    scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256', 'plain'],
  }
  const found = (changes: Record<string, unknown>): readonly Finding[] =>
    findingsOf(oidcChecks, {
      ...facts({ ...gotrue, ...changes }),
      config: { ...config, providerIssuer: supabase },
    })

  it.each([
    ['as it is', {}],
    ['with registration', { registration_endpoint: `${supabase}/oauth/clients/register` }],
    ['with a slash after the issuer', { issuer: `${supabase}/` }],
  ])('doctor warns of Supabase Auth behind PROVIDER=oidc and says what to set: %s', (_what, changes) => {
    const findings = found(changes)
    expect(states(findings)).toMatchObject({ provider: 'ok', supabase: 'warn' })
    const { message, fix } = findings.find(({ name }) => name === 'supabase') ?? {}
    expect(message).toMatch(/ends here an hour late.*stays open there.*no API key/)
    expect(fix).toMatch(/DRAWBRIDGE_PROVIDER=supabase .*DRAWBRIDGE_PROVIDER_KEY/)
    // Its text names dex.
    expect(states(findings)).not.toHaveProperty('sign-out')
  })

  it.each([
    ['revokes', { revocation_endpoint: `${supabase}/oauth/revoke` }],
    ['has userinfo elsewhere', { userinfo_endpoint: `${supabase}/userinfo` }],
    ['has no userinfo', { userinfo_endpoint: undefined }],
    ['issues tokens elsewhere', { token_endpoint: `${supabase}/oauth/v2/token` }],
    ['has its keys elsewhere', { jwks_uri: `${supabase}/oauth/keys` }],
  ])('doctor takes no provider for Supabase Auth that %s', (_what, changes) => {
    const named = states(found(changes))
    expect(named).not.toHaveProperty('supabase')
    expect(named).toHaveProperty('sign-out')
  })
})

describe('doctor, on whether a sign-in can work', () => {
  const secret = { ...config, providerClientSecret: 'secret' }
  it.each<[what: string, changes: Record<string, unknown>, message: RegExp]>([
    [
      'takes private_key_jwt alone',
      { token_endpoint_auth_methods_supported: ['private_key_jwt', 'tls_client_auth'] },
      /no client secret, only private_key_jwt,tls_client_auth/,
    ],
    [
      'requires pushed authorization requests',
      { require_pushed_authorization_requests: true },
      /pushed authorization requests \(PAR\)/,
    ],
    ['has no authorization code flow', { response_types_supported: ['id_token'] }, /authorization code flow/],
    ['supports PKCE with plain alone', { code_challenge_methods_supported: ['plain'] }, /PKCE with S256/],
    ['signs with HS256 alone', { id_token_signing_alg_values_supported: ['HS256'] }, /only with HS256/],
  ])('doctor fails a provider that %s, and says what to change', (_what, changes, message) => {
    const finding = findingsOf(oidcChecks, { ...facts(changes), config: secret }).find(
      ({ name }) => name === 'sign-in',
    )
    expect(finding).toMatchObject({ state: 'fail', message: expect.stringMatching(message) as string })
    expect(finding?.fix).toBeTruthy()
  })

  it.each<[what: string, changes: Record<string, unknown>]>([
    ['says nothing of all this', { code_challenge_methods_supported: undefined }],
    [
      'takes a secret in the body',
      { token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_post'] },
    ],
    ['accepts pushed requests without requiring them', { require_pushed_authorization_requests: false }],
    [
      'lists the required features among others',
      {
        response_types_supported: ['code', 'none'],
        id_token_signing_alg_values_supported: ['HS256', 'EdDSA'],
      },
    ],
  ])('doctor passes a provider that %s', (_what, changes) => {
    const findings = findingsOf(oidcChecks, { ...facts(changes), config: secret })
    expect(states(findings)).not.toHaveProperty('sign-in')
  })

  it('doctor names every obstacle to a sign-in', () => {
    const changes = { require_pushed_authorization_requests: true, response_types_supported: ['id_token'] }
    const found = findingsOf(oidcChecks, facts(changes)).filter(({ name }) => name === 'sign-in')
    expect(found.map(({ state }) => state)).toEqual(['fail', 'fail'])
  })

  it('doctor passes a provider without client secrets for a public client', () => {
    const changes = { token_endpoint_auth_methods_supported: ['private_key_jwt'] }
    expect(states(findingsOf(oidcChecks, facts(changes)))).not.toHaveProperty('sign-in')
  })
})

it.each<[what: string, options: Partial<OidcServerOptions>, clientSecret: string | undefined, state: string]>(
  [
    ['its secret', {}, oidcClient.secret, 'ok'],
    ['its secret, in the body', { authMethod: 'client_secret_post' }, oidcClient.secret, 'ok'],
    ['none, as a public client', { authMethod: 'none' }, undefined, 'ok'],
    ['another secret', {}, 'wrong', 'fail'],
    ['another secret, in the body', { authMethod: 'client_secret_post' }, 'wrong', 'fail'],
    ['no secret, though it has one', {}, undefined, 'fail'],
  ],
)(
  'doctor asks a real provider whether it accepts the client with %s',
  async (_what, options, clientSecret, state) => {
    const fixture = await startOidcFixture(options)
    const refusal = await probeClient(fixture.providerWith({ clientSecret }))
    const finding = findingsOf(oidcChecks, { ...facts(), refusal }).find(({ name }) => name === 'client')
    await fixture.server.close()
    expect(finding?.state).toBe(state)
    expect(JSON.stringify(finding)).not.toContain(clientSecret ?? 'no-such-token')
  },
)

it('doctor does not judge the client if the provider does not answer', async () => {
  const fixture = await startOidcFixture()
  const provider = fixture.providerWith({})
  await provider.capabilities()
  fixture.intercept('/token', () => Promise.reject(new TypeError('fetch failed')))
  const refusal = await probeClient(provider)
  await fixture.server.close()
  expect(states(findingsOf(oidcChecks, { ...facts(), refusal }))).not.toHaveProperty('client')
})
