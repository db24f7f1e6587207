import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { registerClient, type Registration, updateClient } from './client-registration.ts'
import { deviceGrantType } from './client.ts'
import { hashSecret } from '../seal.ts'

const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback'
const redirect_uris = ['http://127.0.0.1/callback']

const policy = { privateUseRedirectUris: [cursor], scope: 'mcp offline_access', allowLoopback: false }
const managementUrl = (clientId: string): string => `https://mcp.example.com/oauth/register/${clientId}`
const publicKey = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'a' }

function register(metadata: unknown): Registration {
  return registerClient(metadata, policy, createFakeRuntime(start), managementUrl)
}

/** Returns the code of the OAuthError that refuses `metadata`. */
function refusal(metadata: unknown): unknown {
  try {
    register(metadata)
    return 'accepted'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe('registerClient (RFC 7591)', () => {
  it('OAuth 2.1 8.1: a public client gets an id and everything that was registered, and no secret', () => {
    const { client, response } = register({
      redirect_uris,
      client_name: 'Näme',
      client_uri: 'https://client.example/',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp',
    })
    expect(response).toEqual({
      client_id: client.id,
      client_id_issued_at: start,
      client_name: 'Näme',
      client_uri: 'https://client.example/',
      redirect_uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp',
      registration_client_uri: `https://mcp.example.com/oauth/register/${client.id}`,
      registration_access_token: expect.stringMatching(/^mcpm_[A-Za-z0-9_-]{43}$/),
    })
    expect(client).toEqual({
      id: client.id,
      kind: 'registered',
      name: 'Näme',
      uri: 'https://client.example/',
      redirectUris: redirect_uris,
      grantTypes: ['authorization_code', 'refresh_token'],
      scope: 'mcp',
      authMethod: 'none',
      secretHash: undefined,
      keys: undefined,
      managementHash: hashSecret(String(response.registration_access_token)),
      document: undefined,
      introspects: false,
      createdAt: start,
      expiresAt: start + 86_400,
    })
  })

  it('RFC 7517 4: unknown members of a key are left out, however deep they are', () => {
    const key = { ...publicKey, key_ops: ['verify'], x5t: 'AAAA', use: { a: 1 }, deep: [[[[]]]] }
    const { client, response } = register({ redirect_uris, jwks: { keys: [key] } })
    expect(response.jwks).toEqual({ keys: [{ ...publicKey, key_ops: ['verify'] }] })
    expect(client.keys).toEqual({ kind: 'jwks', keys: [{ ...publicKey, key_ops: ['verify'] }] })
  })

  it('3.2.1: ids and secrets are random and unique', () => {
    const registered = Array.from({ length: 100 }, () => register({ redirect_uris }))
    expect(new Set(registered.map(({ client }) => client.id)).size).toBe(100)
    expect(new Set(registered.map(({ response }) => response.client_secret)).size).toBe(100)
    expect(new Set(registered.map(({ response }) => response.registration_access_token)).size).toBe(100)
    expect(registered[0]?.client.id).toMatch(/^mcpc_[A-Za-z0-9_-]{22}$/)
  })

  it('RFC 7591 2: an omitted method is client_secret_basic; the secret is in the answer only, its hash in the record', () => {
    const { client, response } = register({ redirect_uris })
    expect(response).toMatchObject({
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret_expires_at: 0,
    })
    expect(response.client_secret).toMatch(/^mcps_[A-Za-z0-9_-]{43}$/)
    expect(client.secretHash).toBe(hashSecret(String(response.client_secret)))
    expect(JSON.stringify(client)).not.toContain(response.client_secret)
    expect(JSON.stringify(client)).not.toContain(response.registration_access_token)
  })

  it.each<[rule: string, metadata: Record<string, unknown>, expected: Record<string, unknown>]>([
    ['omitted grant types stay signed in', {}, { grant_types: ['authorization_code', 'refresh_token'] }],
    [
      'an explicit list without refresh_token goes without',
      { grant_types: ['authorization_code'] },
      { grant_types: ['authorization_code'] },
    ],
    [
      'unsupported grant types are left out',
      { grant_types: ['authorization_code', 'implicit', 'client_credentials'] },
      { grant_types: ['authorization_code'] },
    ],
    [
      'the device grant beside the others',
      { grant_types: ['authorization_code', deviceGrantType] },
      { grant_types: ['authorization_code', deviceGrantType] },
    ],
    [
      'RFC 8628: a device needs no redirect URI, and no response type',
      { redirect_uris: undefined, grant_types: [deviceGrantType, 'refresh_token'] },
      { redirect_uris: [], grant_types: ['refresh_token', deviceGrantType], response_types: [] },
    ],
    [
      'private_key_jwt with keys, which are echoed',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } },
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } },
    ],
    ['RFC 7591 3.1.1: a software statement is ignored', { software_statement: 'a.b.c' }, { redirect_uris }],
    [
      'MCP auth Dynamic-Client-Registration: application_type changes nothing',
      { application_type: 'web' },
      { redirect_uris },
    ],
    ['RFC 7591 2: unknown members are ignored', { software_id: 'x', nested: { a: 1 } }, { redirect_uris }],
    [
      'a client cannot choose its id, secret or time',
      { client_id: 'mine', client_id_issued_at: 1 },
      { client_id_issued_at: start, client_id: expect.stringMatching(/^mcpc_/) },
    ],
    [
      'a repeated redirect URI counts once',
      { redirect_uris: [...redirect_uris, ...redirect_uris] },
      { redirect_uris },
    ],
    ['a listed private-use URI', { redirect_uris: [cursor] }, { redirect_uris: [cursor] }],
    ['omitted scope is everything there is', {}, { scope: 'mcp offline_access' }],
  ])('2: %s', (_rule, metadata, expected) => {
    expect(register({ redirect_uris, ...metadata }).response).toMatchObject(expected)
  })

  it.each(['client_name', 'client_uri'])('%s that is null or empty counts as omitted', (name) => {
    expect(register({ redirect_uris, [name]: null }).response).not.toHaveProperty(name)
    expect(register({ redirect_uris, [name]: '' }).response).not.toHaveProperty(name)
  })

  it.each(['javascript:alert(1)', 'not a url'])(
    'the link %s is dropped: it would be shown to people',
    (client_uri) => {
      const { client, response } = register({ redirect_uris, client_uri })
      expect(client.uri).toBeUndefined()
      expect(response).not.toHaveProperty('client_uri')
    },
  )

  it.each<[rule: string, value: unknown, metadata?: object]>([
    ['none given', undefined],
    ['an empty list', []],
    ['an empty list, which a client understands that lost its own, before grants', [], { grant_types: [] }],
    ['21 of them', Array.from({ length: 21 }, (_, index) => `https://client.example/${index}`)],
    ['RFC 6749 3.1.2: a fragment', ['https://client.example/callback#a']],
    ['an unlisted private-use URI', ['evil://callback']],
    ['a bad one behind a good one', [...redirect_uris, 'http://evil.example/']],
    ['a bad one of a device', ['http://evil.example/'], { grant_types: [deviceGrantType] }],
  ])('RFC 7591 3.2.2 invalid_redirect_uri: %s', (_rule, value, metadata) => {
    expect(refusal({ redirect_uris: value, ...metadata })).toBe('invalid_redirect_uri')
  })

  it.each<[rule: string, metadata: unknown]>([
    ['no object: an array', [{ redirect_uris }]],
    ['redirect_uris is a text', { redirect_uris: 'https://client.example/' }],
    ['redirect_uris holds a number', { redirect_uris: [1] }],
    ['an unsupported method', { redirect_uris, token_endpoint_auth_method: 'client_secret_jwt' }],
    ['private_key_jwt without keys', { redirect_uris, token_endpoint_auth_method: 'private_key_jwt' }],
    [
      '2: jwks and jwks_uri MUST NOT both be there',
      { redirect_uris, jwks: { keys: [publicKey] }, jwks_uri: 'https://client.example/jwks' },
    ],
    ['no key', { redirect_uris, jwks: { keys: [] } }],
    ['a private key', { redirect_uris, jwks: { keys: [{ ...publicKey, d: 'AAAA' }] } }],
    ['a symmetric key', { redirect_uris, jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }],
    ['a symmetric key without its secret', { redirect_uris, jwks: { keys: [{ kty: 'oct' }] } }],
    ['21 keys', { redirect_uris, jwks: { keys: Array.from({ length: 21 }, () => publicKey) } }],
    ['keys of 20 kB', { redirect_uris, jwks: { keys: [{ ...publicKey, x: 'x'.repeat(20_000) }] } }],
    ['jwks_uri by http', { redirect_uris, jwks_uri: 'http://client.example/jwks' }],
    ['jwks_uri on loopback, in production', { redirect_uris, jwks_uri: 'http://127.0.0.1/jwks' }],
    ['jwks_uri with credentials', { redirect_uris, jwks_uri: 'https://a:b@client.example/jwks' }],
    ['jwks_uri with a fragment', { redirect_uris, jwks_uri: 'https://client.example/jwks#a' }],
    ['a method that every object has', { redirect_uris, token_endpoint_auth_method: 'constructor' }],
    ['grant_types without authorization_code', { redirect_uris, grant_types: ['refresh_token'] }],
    ['an empty grant_types', { redirect_uris, grant_types: [] }],
    ['an empty response_types', { redirect_uris, response_types: [] }],
    ['client_name is a number', { redirect_uris, client_name: 1 }],
    ['client_name is too long', { redirect_uris, client_name: 'n'.repeat(201) }],
    ['client_uri is too long', { redirect_uris, client_uri: `https://a/${'n'.repeat(2048)}` }],
    ['scope is too long', { redirect_uris, scope: 's'.repeat(1001) }],
  ])('RFC 7591 3.2.2 invalid_client_metadata: %s', (_rule, metadata) => {
    expect(refusal(metadata)).toBe('invalid_client_metadata')
  })
})

describe('updateClient (RFC 7592 section 2.2)', () => {
  const update = (registered: Registration, changes: Record<string, unknown>): Registration =>
    updateClient(
      registered.client,
      { client_id: registered.client.id, redirect_uris, ...changes },
      policy,
      createFakeRuntime(start + 60),
    )

  const updateRefusal = (registered: Registration, changes: Record<string, unknown>): unknown => {
    try {
      update(registered, changes)
      return 'accepted'
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }

  it('updateClient replaces all metadata and drops omitted members', () => {
    const registered = register({
      redirect_uris,
      client_name: 'Old',
      client_uri: 'https://old.example/',
      scope: 'mcp',
      token_endpoint_auth_method: 'none',
    })
    const { client, response } = update(registered, {
      redirect_uris: ['https://new.example/cb'],
      token_endpoint_auth_method: 'none',
    })
    expect(client).toEqual({
      ...registered.client,
      name: undefined,
      uri: undefined,
      scope: undefined,
      redirectUris: ['https://new.example/cb'],
    })
    expect(response).toEqual({
      client_id: client.id,
      client_id_issued_at: start,
      redirect_uris: ['https://new.example/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp offline_access',
    })
  })

  it('updateClient refuses the secret of a public client', () => {
    const registered = register({ redirect_uris, token_endpoint_auth_method: 'none' })
    expect(updateRefusal(registered, { client_secret: '' })).toBe('invalid_client_metadata')
  })

  it('updateClient keeps a secret, which may be repeated and is not shown again', () => {
    const registered = register({ redirect_uris })
    for (const changes of [{}, { client_secret: registered.response.client_secret }]) {
      const { client, response } = update(registered, changes)
      expect(client.secretHash).toBe(registered.client.secretHash)
      expect(response).not.toHaveProperty('client_secret')
    }
  })

  it('a public client that becomes confidential gets a secret; the other way it loses its secret', () => {
    const confidential = update(register({ redirect_uris, token_endpoint_auth_method: 'none' }), {})
    expect(confidential.client.secretHash).toBe(hashSecret(String(confidential.response.client_secret)))
    const open = update(confidential, { token_endpoint_auth_method: 'none' })
    expect(open.client.secretHash).toBeUndefined()
    expect(open.response).not.toHaveProperty('client_secret')
  })

  it.each<[rule: string, changes: Record<string, unknown>, error: string]>([
    ['MUST include its client_id', { client_id: undefined }, 'invalid_client_metadata'],
    ['client_id MUST be the same', { client_id: 'mcpc_other' }, 'invalid_client_metadata'],
    ['a secret that is not its own', { client_secret: 'mcps_other' }, 'invalid_client_metadata'],
    ['a secret that is no text', { client_secret: 1 }, 'invalid_client_metadata'],
    ['MUST NOT include', { registration_access_token: 'mcpm_x' }, 'invalid_client_metadata'],
    ['MUST NOT include', { registration_client_uri: 'https://x.example/' }, 'invalid_client_metadata'],
    ['MUST NOT include', { client_secret_expires_at: 0 }, 'invalid_client_metadata'],
    ['MUST NOT include', { client_id_issued_at: start }, 'invalid_client_metadata'],
    ['a bad redirect URI', { redirect_uris: ['http://evil.example/'] }, 'invalid_redirect_uri'],
  ])('%s: %j', (_rule, changes, error) => {
    expect(updateRefusal(register({ redirect_uris }), changes)).toBe(error)
  })
})
