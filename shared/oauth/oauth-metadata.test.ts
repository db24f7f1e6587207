import { describe, expect, test } from 'vitest'

import {
  authorizationServerMetadataUrls,
  parseAuthorizationServerMetadata,
  parseProtectedResourceMetadata,
  protectedResourceMetadataUrls,
  wellKnownUrl,
  type AuthorizationServerMetadata,
  type ProtectedResourceMetadata,
} from './oauth-metadata.ts'

const issuer = 'https://auth.example.com'

const fullServer: AuthorizationServerMetadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  device_authorization_endpoint: `${issuer}/device`,
  scopes_supported: ['mcp', 'offline_access'],
  code_challenge_methods_supported: ['S256'],
  introspection_endpoint_auth_methods_supported: [],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: false,
}

const fullResource: ProtectedResourceMetadata = {
  resource: 'https://mcp.example.com/mcp',
  authorization_servers: [issuer],
  jwks_uri: 'https://mcp.example.com/jwks',
  scopes_supported: ['mcp'],
  resource_name: 'Example',
}

describe('parseAuthorizationServerMetadata (RFC 8414 section 2)', () => {
  test('authorization server metadata has members of every kind', () => {
    expect(parseAuthorizationServerMetadata(fullServer)).toStrictEqual({
      kind: 'parsed',
      metadata: fullServer,
    })
  })

  test.each<[string, unknown, Partial<AuthorizationServerMetadata>]>([
    ['the issuer alone is enough', {}, {}],
    [
      'http is the caller’s to refuse',
      { issuer: 'http://A.example:80/' },
      { issuer: 'http://A.example:80/' },
    ],
    ['unknown members are dropped', { signed_metadata: 'x', __proto_x: 1 }, {}],
    ['an empty string is not a URL', { registration_endpoint: '' }, {}],
    ['a relative URL counts as absent', { token_endpoint: '/token' }, {}],
    ['script is not an endpoint', { authorization_endpoint: 'javascript:alert(1)' }, {}],
    ['nor with an address in it', { authorization_endpoint: 'javascript:https://a.example' }, {}],
    ['a URL without a host counts as absent', { token_endpoint: 'https://' }, {}],
    ['a list of other things counts as absent', { scopes_supported: ['a', 1] }, {}],
    ['text is not a list', { code_challenge_methods_supported: 'S256' }, {}],
    ['text is not a flag', { client_id_metadata_document_supported: 'true' }, {}],
    [
      'one bad member does not hide the others',
      { token_endpoint: 7, authorization_endpoint: `${issuer}/a` },
      { authorization_endpoint: `${issuer}/a` },
    ],
  ])('parseAuthorizationServerMetadata keeps the usable members: %s', (_rule, members, expected) => {
    const document = Object.assign({ issuer }, members)
    expect(parseAuthorizationServerMetadata(document)).toStrictEqual({
      kind: 'parsed',
      metadata: { issuer, ...expected },
    })
  })

  test.each<[string, unknown, RegExp]>([
    ['no object: null', null, /JSON object/],
    ['no object: text', '<html>', /JSON object/],
    ['no object: a list', [fullServer], /JSON object/],
    ['no issuer', { token_endpoint: `${issuer}/token` }, /issuer/],
    ['an issuer that is not text', { issuer: [issuer] }, /issuer/],
    ['an issuer that is not a URL', { issuer: 'auth.example.com' }, /issuer/],
    ['an issuer of another scheme', { issuer: 'urn:x' }, /issuer/],
  ])('parseAuthorizationServerMetadata refuses a document: %s', (_rule, document, reason) => {
    const parsed = parseAuthorizationServerMetadata(document)
    expect(parsed).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(reason) })
  })
})

describe('parseProtectedResourceMetadata (RFC 9728 section 2)', () => {
  test('protected resource metadata has members of every kind', () => {
    expect(parseProtectedResourceMetadata(fullResource)).toStrictEqual({
      kind: 'parsed',
      metadata: fullResource,
    })
  })

  const { resource } = fullResource
  test.each<[string, unknown, Partial<ProtectedResourceMetadata>]>([
    ['the resource alone is enough', {}, {}],
    [
      'the resource is kept verbatim',
      { resource: 'HTTPS://M.example/mcp/' },
      { resource: 'HTTPS://M.example/mcp/' },
    ],
    [
      'servers that are not URLs are dropped',
      { authorization_servers: ['x', issuer] },
      { authorization_servers: [issuer] },
    ],
    ['no usable server is an empty list', { authorization_servers: ['x'] }, { authorization_servers: [] }],
    ['servers that are not a list count as absent', { authorization_servers: issuer }, {}],
    ['a name is any text', { resource_name: '<b>' }, { resource_name: '<b>' }],
    ['a name of another type counts as absent', { resource_name: { en: 'x' } }, {}],
    ['unknown members are dropped', { mcp_version: 1 }, {}],
  ])('parseProtectedResourceMetadata keeps the usable members: %s', (_rule, members, expected) => {
    const document = Object.assign({ resource }, members)
    expect(parseProtectedResourceMetadata(document)).toStrictEqual({
      kind: 'parsed',
      metadata: { resource, ...expected },
    })
  })

  test.each<[string, unknown, RegExp]>([
    ['null', null, /JSON object/],
    ['a list', [], /JSON object/],
    ['no resource', { authorization_servers: [issuer] }, /resource/],
    ['a resource without scheme', { resource: 'mcp.example.com/mcp' }, /resource/],
    ['a number', { resource: 1 }, /resource/],
  ])('parseProtectedResourceMetadata refuses a document: %s', (_rule, document, reason) => {
    const parsed = parseProtectedResourceMetadata(document)
    expect(parsed).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(reason) })
  })
})

describe('wellKnownUrl (RFC 8414 section 3.1, RFC 9728 section 3.1)', () => {
  test.each([
    ['no path', 'https://a.example', 'https://a.example/.well-known/x'],
    ['a path', 'https://a.example/mcp', 'https://a.example/.well-known/x/mcp'],
    ['a final slash is removed', 'https://a.example/mcp/', 'https://a.example/.well-known/x/mcp'],
    ['a port stays', 'http://localhost:8787/mcp', 'http://localhost:8787/.well-known/x/mcp'],
    ['a query stays', 'https://a.example/mcp?k=v', 'https://a.example/.well-known/x/mcp?k=v'],
    ['a fragment goes', 'https://a.example/mcp#f', 'https://a.example/.well-known/x/mcp'],
  ])('wellKnownUrl inserts the name behind the host: %s', (_rule, location, url) => {
    expect(wellKnownUrl(location, 'x')).toBe(url)
  })

  test('wellKnownUrl throws for a text that is not a URL', () => {
    expect(() => wellKnownUrl('a.example', 'x')).toThrow(TypeError)
    expect(() => protectedResourceMetadataUrls('')).toThrow(TypeError)
    expect(() => authorizationServerMetadataUrls('/x')).toThrow(TypeError)
  })
})

describe('places of metadata (MCP 2026-07-28 authorization)', () => {
  test.each([
    [
      'a resource with a path: path-inserted, then root',
      'https://mcp.example.com/public/mcp',
      [
        'https://mcp.example.com/.well-known/oauth-protected-resource/public/mcp',
        'https://mcp.example.com/.well-known/oauth-protected-resource',
      ],
    ],
    [
      'a resource at the root: one place',
      'https://mcp.example.com/',
      ['https://mcp.example.com/.well-known/oauth-protected-resource'],
    ],
    [
      'a final slash makes no further place',
      'https://mcp.example.com/mcp/',
      [
        'https://mcp.example.com/.well-known/oauth-protected-resource/mcp',
        'https://mcp.example.com/.well-known/oauth-protected-resource',
      ],
    ],
  ])('the places of resource metadata: %s', (_rule, resource, urls) => {
    expect(protectedResourceMetadataUrls(resource)).toEqual(urls)
  })

  test.each([
    [
      'an issuer with a path: OAuth inserted, OpenID inserted, OpenID appended',
      'https://auth.example.com/tenant1',
      [
        'https://auth.example.com/.well-known/oauth-authorization-server/tenant1',
        'https://auth.example.com/.well-known/openid-configuration/tenant1',
        'https://auth.example.com/tenant1/.well-known/openid-configuration',
      ],
    ],
    [
      'the same with a final slash',
      'https://auth.example.com/tenant1/',
      [
        'https://auth.example.com/.well-known/oauth-authorization-server/tenant1',
        'https://auth.example.com/.well-known/openid-configuration/tenant1',
        'https://auth.example.com/tenant1/.well-known/openid-configuration',
      ],
    ],
    [
      'an issuer without a path: OAuth, OpenID',
      'https://auth.example.com',
      [
        'https://auth.example.com/.well-known/oauth-authorization-server',
        'https://auth.example.com/.well-known/openid-configuration',
      ],
    ],
  ])('the places of authorization server metadata: %s', (_rule, location, urls) => {
    expect(authorizationServerMetadataUrls(location)).toEqual(urls)
  })
})
