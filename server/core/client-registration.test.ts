import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { start } from '../testing/grant-sample.ts'
import { registerClient, type Registration } from './client-registration.ts'
import { hashSecret } from './seal.ts'

const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback'
const redirect_uris = ['http://127.0.0.1/callback']

function register(metadata: unknown): Registration {
  return registerClient(metadata, { privateUseRedirectUris: [cursor] }, createFakeRuntime(start))
}

/** The code of the OAuthError that `metadata` is refused with. */
function refusal(metadata: unknown): unknown {
  try {
    register(metadata)
    return 'accepted'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe('registerClient (RFC 7591)', () => {
  it('3.2.1: a public client gets an id and everything that was registered, and no secret', () => {
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
    })
    expect(client).toEqual({
      id: client.id,
      kind: 'registered',
      name: 'Näme',
      uri: 'https://client.example/',
      redirectUris: redirect_uris,
      grantTypes: ['authorization_code', 'refresh_token'],
      authMethod: 'none',
      secretHash: undefined,
      createdAt: start,
    })
  })

  it('2: an omitted method is client_secret_basic; the secret is in the answer only, its hash in the record', () => {
    const { client, response } = register({ redirect_uris })
    expect(response).toMatchObject({
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret_expires_at: 0,
    })
    expect(response['client_secret']).toMatch(/^mcps_[A-Za-z0-9_-]{43}$/)
    expect(client.secretHash).toBe(hashSecret(String(response['client_secret'])))
    expect(JSON.stringify(client)).not.toContain(response['client_secret'])
  })

  it('3.2.1: ids and secrets are random and unique', () => {
    const registered = Array.from({ length: 100 }, () => register({ redirect_uris }))
    expect(new Set(registered.map(({ client }) => client.id)).size).toBe(100)
    expect(new Set(registered.map(({ response }) => response['client_secret'])).size).toBe(100)
    expect(registered[0]?.client.id).toMatch(/^mcpc_[A-Za-z0-9_-]{22}$/)
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
      { grant_types: ['authorization_code', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'] },
      { grant_types: ['authorization_code'] },
    ],
    [
      'unsupported response types are left out',
      { response_types: ['code', 'token'] },
      { response_types: ['code'] },
    ],
    [
      'a secret sent in the body',
      { token_endpoint_auth_method: 'client_secret_post' },
      { token_endpoint_auth_method: 'client_secret_post' },
    ],
    ['unknown members are ignored', { software_id: 'x', jwks: {}, nested: { a: 1 } }, { redirect_uris }],
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
    ['omitted scope is everything there is', {}, { scope: 'mcp offline_access' }],
    ['a name of 200 characters', { client_name: 'n'.repeat(200) }, { client_name: 'n'.repeat(200) }],
  ])('2: %s', (_rule, metadata, expected) => {
    expect(register({ redirect_uris, ...metadata }).response).toMatchObject(expected)
  })

  it.each(['client_name', 'client_uri'])('%s that is null or empty counts as omitted', (name) => {
    expect(register({ redirect_uris, [name]: null }).response).not.toHaveProperty(name)
    expect(register({ redirect_uris, [name]: '' }).response).not.toHaveProperty(name)
  })

  it.each(['javascript:alert(1)', 'data:text/html,x', 'not a url', '//host', 'ftp://a/'])(
    'the link %s is dropped: it would be shown to people',
    (client_uri) => {
      const { client, response } = register({ redirect_uris, client_uri })
      expect(client.uri).toBeUndefined()
      expect(response).not.toHaveProperty('client_uri')
    },
  )

  it.each<[rule: string, uri: string]>([
    ['https', 'https://client.example/callback'],
    ['https with a port and a query', 'https://client.example:8443/cb?a=b'],
    ['RFC 8252 7.3: http on 127.0.0.1', 'http://127.0.0.1:4711/callback'],
    ['RFC 8252 7.3: http on [::1]', 'http://[::1]/callback'],
    ['http on localhost', 'http://localhost/callback'],
    ['a listed private-use URI', cursor],
  ])('redirect URI accepted: %s', (_rule, uri) => {
    expect(register({ redirect_uris: [uri] }).client.redirectUris).toEqual([uri])
  })

  it.each<[rule: string, value: unknown]>([
    ['none given', undefined],
    ['an empty list', []],
    ['21 of them', Array.from({ length: 21 }, (_, index) => `https://client.example/${index}`)],
    ['http on another host', ['http://client.example/callback']],
    ['http on a private address', ['http://192.168.0.1/callback']],
    ['a host that only starts like a loopback name', ['http://localhost.evil.example/callback']],
    ['RFC 6749 3.1.2: a fragment', ['https://client.example/callback#a']],
    ['user information', ['https://user:pass@client.example/callback']],
    ['a relative one', ['/callback']],
    ['a script', ['javascript:alert(1)']],
    ['a data URL', ['data:text/html,x']],
    ['an unlisted private-use URI', ['evil://callback']],
    ['a listed private-use URI with more behind it', [`${cursor}/more`]],
    ['a listed private-use URI in another letter case', [cursor.toUpperCase()]],
    ['longer than 2048 characters', [`https://client.example/${'a'.repeat(2048)}`]],
    ['white space', ['https://client.example/call back']],
    ['an empty text', ['']],
    ['a bad one behind a good one', [...redirect_uris, 'http://evil.example/']],
  ])('RFC 7591 3.2.2 invalid_redirect_uri: %s', (_rule, value) => {
    expect(refusal({ redirect_uris: value })).toBe('invalid_redirect_uri')
  })

  it('twenty redirect URIs are accepted', () => {
    const twenty = Array.from({ length: 20 }, (_, index) => `https://client.example/${index}`)
    expect(register({ redirect_uris: twenty }).client.redirectUris).toEqual(twenty)
  })

  it.each<[rule: string, metadata: unknown]>([
    ['no object: null', null],
    ['no object: an array', [{ redirect_uris }]],
    ['no object: a text', 'redirect_uris'],
    ['no object: nothing', undefined],
    ['redirect_uris is a text', { redirect_uris: 'https://client.example/' }],
    ['redirect_uris holds a number', { redirect_uris: [1] }],
    ['an unsupported method', { redirect_uris, token_endpoint_auth_method: 'private_key_jwt' }],
    ['a method that is no text', { redirect_uris, token_endpoint_auth_method: ['none'] }],
    ['a method that every object has', { redirect_uris, token_endpoint_auth_method: 'constructor' }],
    ['grant_types without authorization_code', { redirect_uris, grant_types: ['refresh_token'] }],
    ['grant_types with nothing supported', { redirect_uris, grant_types: ['client_credentials'] }],
    ['an empty grant_types', { redirect_uris, grant_types: [] }],
    ['grant_types is a text', { redirect_uris, grant_types: 'authorization_code' }],
    ['response_types without code', { redirect_uris, response_types: ['token'] }],
    ['an empty response_types', { redirect_uris, response_types: [] }],
    ['client_name is a number', { redirect_uris, client_name: 1 }],
    ['client_name is an object', { redirect_uris, client_name: { en: 'x' } }],
    ['client_name is too long', { redirect_uris, client_name: 'n'.repeat(201) }],
    ['client_uri is too long', { redirect_uris, client_uri: `https://a/${'n'.repeat(2048)}` }],
    ['scope is an array', { redirect_uris, scope: ['mcp'] }],
    ['scope is too long', { redirect_uris, scope: 's'.repeat(1001) }],
  ])('RFC 7591 3.2.2 invalid_client_metadata: %s', (_rule, metadata) => {
    expect(refusal(metadata)).toBe('invalid_client_metadata')
  })
})
