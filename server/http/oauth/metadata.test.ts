import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const authorizationServerPaths = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/mcp/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/mcp',
  '/mcp/.well-known/openid-configuration',
]
const methods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt']
const algorithms = ['ES256', 'EdDSA', 'PS256', 'RS256']
const protectedResourcePaths = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/mcp/.well-known/oauth-protected-resource',
]

describe('discovery at the root', () => {
  let drawbridge: DrawbridgeFixture
  beforeAll(async () => {
    drawbridge = await startDrawbridge()
  })
  afterAll(() => drawbridge.close())

  it.each(authorizationServerPaths)(
    'MCP auth Overview, MCP auth Authorization-Code-Protection, RFC 9700 2.6, RFC 9728 4, RFC 8414 2, RFC 8414 3.2, RFC 8628 4: %s is the one authorization server document',
    async (path) => {
      const response = await drawbridge.fetch(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(await response.json()).toEqual({
        issuer: baseUrl,
        authorization_endpoint: `${baseUrl}/oauth/authorize`,
        token_endpoint: `${baseUrl}/oauth/token`,
        registration_endpoint: `${baseUrl}/oauth/register`,
        revocation_endpoint: `${baseUrl}/oauth/revoke`,
        introspection_endpoint: `${baseUrl}/oauth/introspect`,
        device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
        jwks_uri: `${baseUrl}/oauth/jwks`,
        scopes_supported: ['mcp', 'offline_access'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: [
          'authorization_code',
          'refresh_token',
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        token_endpoint_auth_methods_supported: methods,
        token_endpoint_auth_signing_alg_values_supported: algorithms,
        revocation_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_signing_alg_values_supported: algorithms,
        introspection_endpoint_auth_methods_supported: methods.slice(1),
        introspection_endpoint_auth_signing_alg_values_supported: algorithms,
        code_challenge_methods_supported: ['S256'],
        ui_locales_supported: ['en', 'de'],
        prompt_values_supported: ['login', 'consent', 'select_account'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        protected_resources: [`${baseUrl}/mcp`],
      })
    },
  )

  it.each(protectedResourcePaths)(
    'MCP auth Authorization-Server-Location, MCP auth Protected-Resource-Metadata, MCP auth Canonical-Server-URI, RFC 9728 2: %s is the one resource document, without offline_access',
    async (path) => {
      const response = await drawbridge.fetch(path)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        resource: `${baseUrl}/mcp`,
        authorization_servers: [baseUrl],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'Fieldnotes',
      })
    },
  )

  it('every page may read a discovery document, and every cache may keep it for five minutes', async () => {
    for (const name of ['oauth-authorization-server', 'oauth-protected-resource']) {
      const { headers } = await drawbridge.fetch(`/.well-known/${name}`)
      expect(headers.get('cache-control')).toBe('public, max-age=300')
      expect(headers.get('access-control-allow-origin')).toBe('*')
    }
  })
})

it('RFC 8414 2: discovery does not name registration and client documents that are switched off', async () => {
  const drawbridge = await startDrawbridge({ registration: 'off', clientDocuments: 'off' })
  const response = await drawbridge.fetch('/.well-known/oauth-authorization-server')
  const document = (await response.json()) as Record<string, unknown>
  expect(document).not.toHaveProperty('registration_endpoint')
  expect(document['client_id_metadata_document_supported']).toBe(false)
  await drawbridge.close()
})

describe('MCP auth Authorization-Server-Metadata, RFC 8414 3.1: discovery of a base URL with a path', () => {
  let drawbridge: DrawbridgeFixture
  beforeAll(async () => {
    drawbridge = await startDrawbridge({ baseUrl: `${baseUrl}/door` })
  })
  afterAll(() => drawbridge.close())

  it.each([
    ['/.well-known/oauth-authorization-server/door', 'issuer'],
    ['/.well-known/oauth-authorization-server/door/mcp', 'issuer'],
    ['/door/.well-known/openid-configuration', 'issuer'],
    ['/.well-known/oauth-protected-resource/door/mcp', 'resource'],
    ['/door/.well-known/oauth-protected-resource', 'resource'],
  ])('%s', async (path, member) => {
    const response = await drawbridge.app.fetch(new Request(`${baseUrl}${path}`))
    const document = (await response.json()) as Record<string, unknown>
    expect(document[member]).toBe(member === 'issuer' ? `${baseUrl}/door` : `${baseUrl}/door/mcp`)
    const challenge = await drawbridge.fetch('/mcp', { method: 'POST' })
    expect(challenge.headers.get('www-authenticate')).toContain(
      `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/door/mcp"`,
    )
  })
})
