import { describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { askOidc, checkDiscovery, checkOidcFeatures, type OidcFacts } from './oidc-check.ts'

const issuer = 'https://id.example.com/realms/main'
const config = configSample({ provider: 'oidc', providerUrl: issuer, providerIssuer: issuer })
const document = {
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  revocation_endpoint: `${issuer}/revoke`,
  jwks_uri: 'https://keys.example.com/set',
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  scopes_supported: ['openid', 'offline_access'],
}

/** Members that are undefined are left out. */
function facts(changes: Record<string, unknown> = {}): OidcFacts {
  const json = JSON.parse(JSON.stringify({ ...document, ...changes })) as Record<string, unknown>
  return {
    discovery: { kind: 'answered', status: 200, headers: new Headers(), text: '', json },
    keySet: undefined,
  }
}

function states(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ name, state }) => [name, state]))
}

describe('a provider that cannot revoke', () => {
  const signOut = (providerSessions: 'many' | 'one'): Finding | undefined =>
    checkOidcFeatures({ ...config, providerSessions }, facts({ revocation_endpoint: undefined })).find(
      ({ name }) => name === 'sign-out',
    )

  it('may be dex, which needs a setting of its own', () => {
    expect(signOut('many')?.fix).toContain('DRAWBRIDGE_PROVIDER_SESSIONS=one')
    expect(signOut('one')?.fix).not.toContain('DRAWBRIDGE_PROVIDER_SESSIONS')
  })
})

describe('asking', () => {
  it('takes the discovery document below the issuer, and the keys that it names', async () => {
    const asked: string[] = []
    const fetch = async (request: Request): Promise<Response> => {
      asked.push(request.url)
      return Response.json(document)
    }
    await askOidc({ providerIssuer: `${issuer}/` }, { fetch })
    expect(asked).toEqual([`${issuer}/.well-known/openid-configuration`, 'https://keys.example.com/set'])
  })
})

describe('discovery', () => {
  it('of the issuer that is expected is sound', () => {
    expect(states(checkDiscovery(config, facts()))).toEqual({ provider: 'ok', issuer: 'ok' })
  })

  it('of an issuer that differs in a slash is a failure that says how to write it', () => {
    const findings = checkDiscovery(config, facts({ issuer: `${issuer}/` }))
    expect(states(findings)).toEqual({ provider: 'ok', issuer: 'fail' })
    expect(findings[1]?.fix).toContain(`DRAWBRIDGE_PROVIDER_URL=${issuer}/ `)
  })

  it.each(['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'])(
    'without %s is a failure',
    (member) => {
      const findings = checkDiscovery(config, facts({ [member]: undefined }))
      expect(states(findings)).toEqual({ provider: 'fail' })
      expect(findings[0]?.message).toContain(`without ${member}`)
    },
  )

  it('that is another page, or not there, is a failure', () => {
    const page: OidcFacts = {
      discovery: { kind: 'answered', status: 404, headers: new Headers(), text: '', json: undefined },
      keySet: undefined,
    }
    expect(checkDiscovery(config, page)[0]?.message).toContain('it answers 404')
    const nobody: OidcFacts = { discovery: { kind: 'unreachable', reason: 'gone' }, keySet: undefined }
    expect(checkDiscovery(config, nobody)[0]).toMatchObject({ state: 'fail' })
    expect(checkOidcFeatures(config, nobody)).toEqual([])
  })
})

describe('features', () => {
  it.each<[what: string, changes: Record<string, unknown>, name: string, state: string | undefined]>([
    ['S256 is offered', {}, 'pkce', undefined],
    ['nothing is said about PKCE', { code_challenge_methods_supported: undefined }, 'pkce', 'ok'],
    ['only plain is offered', { code_challenge_methods_supported: ['plain'] }, 'pkce', 'fail'],
    ['the code flow is not offered', { response_types_supported: ['id_token'] }, 'code-flow', 'fail'],
    ['nothing is said about flows', { response_types_supported: undefined }, 'code-flow', undefined],
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
    ['it tells who signs out', { backchannel_logout_supported: true }, 'backchannel-logout', 'ok'],
    ['sessions cannot be revoked', { revocation_endpoint: undefined }, 'sign-out', 'warn'],
  ])('%s', (_, changes, name, state) => {
    expect(states(checkOidcFeatures(config, facts(changes)))[name]).toBe(state)
  })

  it('without offline_access in the scope it is not missed', () => {
    const google = { ...config, providerScope: 'openid email' }
    const findings = checkOidcFeatures(google, facts({ scopes_supported: ['openid', 'email'] }))
    expect(states(findings)['refresh-tokens']).toBe('ok')
  })
})
