import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { baseUrl, type DrawbridgeFixture, startDrawbridge } from '../testing/drawbridge-fixture.ts'

const authorizationServerPaths = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/mcp/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/mcp',
  '/mcp/.well-known/openid-configuration',
]
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

  it.each(authorizationServerPaths)('RFC 8414: %s is the one authorization server document', async (path) => {
    const response = await drawbridge.fetch(path)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/oauth/authorize`,
      token_endpoint: `${baseUrl}/oauth/token`,
      registration_endpoint: `${baseUrl}/oauth/register`,
      scopes_supported: ['mcp', 'offline_access'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    })
  })

  it.each(protectedResourcePaths)(
    'RFC 9728: %s is the one resource document, without offline_access',
    async (path) => {
      const response = await drawbridge.fetch(path)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        resource: `${baseUrl}/mcp`,
        authorization_servers: [baseUrl],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'Drawbridge',
      })
    },
  )

  it.each(['/.well-known/nothing', '/.well-known/oauth-protected-resource/other', '/.well-known/'])(
    'an unknown well-known path is 404 with JSON: %s',
    async (path) => {
      const response = await drawbridge.fetch(path)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: 'not_found' })
    },
  )

  it('every page may read the documents: CORS without credentials, preflight included', async () => {
    const origin = 'https://inspector.example'
    const get = await drawbridge.fetch('/.well-known/oauth-authorization-server', { headers: { origin } })
    expect(get.headers.get('access-control-allow-origin')).toBe('*')
    expect(get.headers.get('access-control-allow-credentials')).toBeNull()
    const options = await drawbridge.fetch('/oauth/token', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    expect(options.status).toBe(204)
    expect(options.headers.get('access-control-allow-methods')).toContain('POST')
  })

  it('HEAD answers as GET, without a body', async () => {
    const response = await drawbridge.fetch('/.well-known/oauth-authorization-server', { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  })

  it('the issuer is configuration: Host and forwarding headers do not change it', async () => {
    const response = await drawbridge.fetch('/.well-known/oauth-authorization-server', {
      headers: { host: '127.0.0.1:8787', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    })
    expect(await response.json()).toMatchObject({ issuer: baseUrl })
  })
})

describe('discovery of a base URL with a path', () => {
  it.each([
    ['/.well-known/oauth-authorization-server/door', 'issuer'],
    ['/.well-known/oauth-authorization-server/door/mcp', 'issuer'],
    ['/door/.well-known/openid-configuration', 'issuer'],
    ['/.well-known/oauth-protected-resource/door/mcp', 'resource'],
    ['/door/.well-known/oauth-protected-resource', 'resource'],
  ])('%s', async (path, member) => {
    const drawbridge = await startDrawbridge({ baseUrl: `${baseUrl}/door` })
    const response = await drawbridge.app.fetch(new Request(`${baseUrl}${path}`))
    const document = (await response.json()) as Record<string, unknown>
    expect(document[member]).toBe(member === 'issuer' ? `${baseUrl}/door` : `${baseUrl}/door/mcp`)
    const challenge = await drawbridge.fetch('/mcp', { method: 'POST' })
    expect(challenge.headers.get('www-authenticate')).toContain(
      `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/door/mcp"`,
    )
    await drawbridge.close()
  })
})
