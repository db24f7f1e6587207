import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'

const drawbridge = await startDrawbridge()
afterAll(() => drawbridge.close())

const foreign = 'https://inspector.example'

function preflight(path: string, method: string, asks = 'content-type'): Promise<Response> {
  return drawbridge.fetch(path, {
    method: 'OPTIONS',
    headers: {
      origin: foreign,
      'access-control-request-method': method,
      'access-control-request-headers': asks,
    },
  })
}

const withoutSlots = (text: string | null): string[] => (text ?? '').split(', ')

describe('paths that pages of any origin may call and read without credentials', () => {
  it.each<[method: string, path: string]>([
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/.well-known/oauth-authorization-server/mcp'],
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-protected-resource/mcp'],
    ['POST', '/oauth/token'],
    ['POST', '/oauth/register'],
    ['GET', '/oauth/register/some-client'],
    ['PUT', '/oauth/register/some-client'],
    ['DELETE', '/oauth/register/some-client'],
    ['POST', '/oauth/revoke'],
    ['POST', '/oauth/device_authorization'],
  ])('pages of any origin may call and read %s %s without credentials', async (method, path) => {
    const asked = await preflight(path, method, 'authorization, content-type')
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe('*')
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull()
    expect(withoutSlots(asked.headers.get('access-control-allow-methods'))).toContain(method)
    expect(withoutSlots(asked.headers.get('access-control-allow-headers'))).toContain('authorization')
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: 'nonsense' }
    const answer = await drawbridge.fetch(path, { method, headers: { origin: foreign }, ...body })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  })

  it('pages of any origin may read that a path is missing', async () => {
    const answer = await drawbridge.fetch('/.well-known/nothing', { headers: { origin: foreign } })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })
})

it.each<[method: string, path: string]>([
  ['POST', '/oauth/introspect'],
  ['GET', '/oauth/authorize'],
  ['POST', '/oauth/authorize'],
  ['GET', '/oauth/callback'],
  ['GET', '/oauth/device'],
  ['POST', '/oauth/device'],
  ['GET', '/account/connections'],
  ['POST', '/account/connections'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
])('OAuth 2.1 3.1: no page of another origin may read %s %s', async (method, path) => {
  const asked = await preflight(path, method)
  // Probes may have any method.
  expect(asked.status).toBe(path.endsWith('z') ? 200 : 405)
  const answer = await drawbridge.fetch(path, {
    method,
    headers: { origin: foreign },
    ...(method === 'POST' && { body: 'nonsense' }),
  })
  expect(answer.status).not.toBe(404)
  for (const response of [asked, answer]) {
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin')
  }
})

describe('every answer', () => {
  const paths = [
    '/.well-known/oauth-authorization-server',
    '/oauth/authorize',
    '/oauth/callback',
    '/oauth/device',
    '/account/connections',
    '/oauth/token',
    '/mcp',
    '/healthz',
    '/nothing',
  ]

  it.each(
    paths.flatMap((path) => ['text/html', 'application/json'].map((accept) => [path, accept] as const)),
  )(
    'MCP security Confused-Deputy, OAuth 2.1 7.10: %s as %s cannot be framed, sniffed or leak where it was opened, and names no program',
    async (path, accept) => {
      const { headers } = await drawbridge.fetch(path, { headers: { accept, 'x-request-id': 'theirs' } })
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options') ?? 'DENY').toBe('DENY')
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
      expect(headers.get('content-security-policy')).not.toContain('unsafe')
      // Omitted on purpose: it would cut off the way back to the client.
      expect(headers.get('content-security-policy')).not.toContain('form-action')
      expect(headers.get('referrer-policy')).toMatch(/^(?:no-referrer|same-origin)$/)
      expect(headers.get('x-request-id')).not.toBe('theirs')
      for (const name of ['server', 'x-powered-by', 'x-aspnet-version']) expect(headers.has(name)).toBe(false)
    },
  )

  it('a page that clients do not open is isolated from its opener, one that they open keeps it', async () => {
    const accept = 'text/html'
    const policyAt = async (path: string): Promise<string | null> =>
      (await drawbridge.fetch(path, { headers: { accept } })).headers.get('cross-origin-opener-policy')
    expect(await policyAt('/account/connections')).toBe('same-origin')
    expect(await policyAt('/oauth/device')).toBe('same-origin')
    expect(await policyAt('/nothing')).toBe('same-origin')
    expect(await policyAt('/oauth/authorize')).toBeNull()
    expect(await policyAt('/oauth/callback')).toBeNull()
  })
})

describe('below a path of the base URL', () => {
  let below: DrawbridgeFixture
  beforeAll(async () => {
    below = await startDrawbridge({
      baseUrl: 'https://localhost:8787/bridge',
      appUrl: 'http://localhost:8788',
    })
  })
  afterAll(() => below.close())

  it('a server below a path serves everything there, and nothing outside', async () => {
    expect((await below.fetch('/healthz')).status).toBe(200)
    expect((await below.fetch('/oauth/device')).status).not.toBe(404)
    const at = (path: string): Promise<Response> =>
      below.app.fetch(new Request(`https://localhost:8787${path}`))
    for (const path of ['/healthz', '/mcp', '/oauth/authorize', '/bridgemcp', '/bridge//mcp', '/BRIDGE/mcp'])
      expect((await at(path)).status, path).toBe(404)
    expect((await at('/bridge/mcp')).status).toBe(401)
    const { headers } = await at('/bridge/healthz')
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
  })

  it('MCP security Confused-Deputy: the binding cookie is of the host as a whole, as its prefix demands (RFC 6265bis section 4.1.3.2)', async () => {
    const { client_id: clientId } = await below.register()
    const page = await below.app.fetch(new Request(below.authorizeUrl(clientId)))
    const cookies = page.headers.getSetCookie()
    expect(cookies.length).toBeGreaterThan(0)
    for (const cookie of cookies) expect(cookie).toMatch(/^__Host-.*; Path=\/; HttpOnly; Secure/)
  })
})
