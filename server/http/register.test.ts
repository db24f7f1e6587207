import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, redirectUri, startDrawbridge } from '../testing/drawbridge-fixture.ts'

let drawbridge: DrawbridgeFixture
beforeAll(async () => {
  drawbridge = await startDrawbridge()
})
afterAll(() => drawbridge.close())

function post(body: string, type = 'application/json'): Promise<Response> {
  return drawbridge.fetch('/oauth/register', { method: 'POST', headers: { 'content-type': type }, body })
}

describe('POST /oauth/register (RFC 7591)', () => {
  it('answers 201 with everything that was registered, uncached', async () => {
    const response = await post(
      JSON.stringify({
        client_name: 'Quill',
        client_uri: 'https://quill.example',
        redirect_uris: [redirectUri, 'https://quill.example/cb', redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        application_type: 'native',
        something_unknown: { deep: true },
      }),
    )
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const body = (await response.json()) as Record<string, unknown>
    expect(body).toMatchObject({
      client_name: 'Quill',
      client_uri: 'https://quill.example',
      redirect_uris: [redirectUri, 'https://quill.example/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })
    expect(body['client_id']).toMatch(/^mcpc_/)
    expect(body).not.toHaveProperty('client_secret')
  })

  it.each(['client_secret_basic', 'client_secret_post', undefined])(
    'gives a secret for %s',
    async (method) => {
      const registered = await drawbridge.register({ token_endpoint_auth_method: method })
      expect(registered.client_secret).toMatch(/^mcps_[A-Za-z0-9_-]{43}$/)
    },
  )

  it("registers Cursor's three addresses, one of a private scheme, in one request", async () => {
    const uris = [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ]
    await expect(drawbridge.register({ redirect_uris: uris })).resolves.toMatchObject({ redirect_uris: uris })
  })

  it.each<[rule: string, body: string, error: string]>([
    ['no JSON', '{', 'invalid_request'],
    ['an array', '[]', 'invalid_client_metadata'],
    ['null', 'null', 'invalid_client_metadata'],
    ['no redirect URI', '{}', 'invalid_redirect_uri'],
    ['an empty list', '{"redirect_uris":[]}', 'invalid_redirect_uri'],
    ['a URI that is no string', '{"redirect_uris":[1]}', 'invalid_client_metadata'],
    ['plain http', '{"redirect_uris":["http://example.com/cb"]}', 'invalid_redirect_uri'],
    ['a fragment', '{"redirect_uris":["https://a.example/cb#x"]}', 'invalid_redirect_uri'],
    ['a script', '{"redirect_uris":["javascript:alert(1)"]}', 'invalid_redirect_uri'],
    ['an unknown private scheme', '{"redirect_uris":["evil://cb"]}', 'invalid_redirect_uri'],
    [
      'one bad among good',
      `{"redirect_uris":["${redirectUri}","http://example.com"]}`,
      'invalid_redirect_uri',
    ],
    [
      'an unknown method',
      `{"redirect_uris":["${redirectUri}"],"token_endpoint_auth_method":"x"}`,
      'invalid_client_metadata',
    ],
    [
      'only unsupported grants',
      `{"redirect_uris":["${redirectUri}"],"grant_types":["password"]}`,
      'invalid_client_metadata',
    ],
    [
      'only the implicit response',
      `{"redirect_uris":["${redirectUri}"],"response_types":["token"]}`,
      'invalid_client_metadata',
    ],
    [
      'a name that is no string',
      `{"redirect_uris":["${redirectUri}"],"client_name":{}}`,
      'invalid_client_metadata',
    ],
  ])('refuses %s', async (_rule, body, error) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error })
  })

  it('refuses another type, too large a body and other methods', async () => {
    expect((await post('redirect_uris=x', 'application/x-www-form-urlencoded')).status).toBe(415)
    expect((await post(JSON.stringify({ client_name: 'x'.repeat(70_000) }))).status).toBe(413)
    const get = await drawbridge.fetch('/oauth/register')
    expect(get.status).toBe(405)
    expect(get.headers.get('allow')).toBe('POST')
  })

  it('a link that is no web address is dropped, not shown', async () => {
    const registered = await drawbridge.register({ client_uri: 'javascript:alert(1)' })
    expect(registered).not.toHaveProperty('client_uri')
  })
})
