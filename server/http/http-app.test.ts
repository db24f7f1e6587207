import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { everyone } from './middleware/cors.ts'
import type { Endpoint, FetchHandler } from './endpoint.ts'
import { createHttpApp, type HttpAppConfig } from './http-app.ts'
import { plainLook } from '../../tests/support/pages/view-sample.ts'

const reported: [string, unknown][] = []

const local = 'http://localhost:8787'

function serve(endpoints: Endpoint[], config: Partial<HttpAppConfig> = {}): FetchHandler {
  return createHttpApp(endpoints, {
    baseUrl: 'https://mcp.example.com',
    look: plainLook,
    createContext: () => ({
      id: 'request-1',
      address: undefined,
      report: (event, fields) => void reported.push([event, fields]),
    }),
    ...config,
  })
}

function route(
  endpoints: Endpoint[],
  baseUrl = 'https://mcp.example.com',
): (path: string, init?: RequestInit) => Promise<Response> {
  const fetch = serve(endpoints, { baseUrl })
  return (path, init) => fetch(new Request(baseUrl + path, init))
}

const throwing = (error: Error) => (): never => {
  throw error
}
const failing: Endpoint = {
  path: '/fails',
  cors: 'none',
  methods: {
    GET: throwing(new Error('the database password is hunter2')),
    POST: throwing(new OAuthError('invalid_request', 'Say it better.')),
  },
}
const fine: Endpoint = { path: '/fine', cors: everyone, methods: { GET: () => new Response('fine') } }
const probe: Endpoint = {
  path: '/probe',
  cors: 'none',
  anyHost: true,
  methods: { GET: () => new Response('ok') },
}

describe('createHttpApp', () => {
  it('MCP transport Base-Protocol: a failure is 500 without a word about its cause, which goes to the log', async () => {
    const response = await route([failing])('/fails')
    expect(response.status).toBe(500)
    const text = await response.text()
    expect(text).not.toContain('hunter2')
    expect(response.headers.get('x-request-id')).toBe('request-1')
    expect(reported.at(-1)?.[0]).toBe('request_failed')
  })

  it.each(['a:b', 'a.b', 'a+b', '(ab)', '[ab]', '$a', '@a', '~a', '%3Aa', '%2A', '%7Ba%7D', 'a%3F'])(
    'the base path %s is matched literally',
    async (base) => {
      const endpoints = [
        { ...fine, path: `/${base}/fine` },
        { ...fine, path: `/${base}/list/`, prefix: true },
      ] as const
      const get = route([...endpoints])
      expect((await get(`/${base}/fine`)).status).toBe(200)
      expect((await get(`/${base}/list/1`)).status).toBe(200)
      for (const other of ['a', 'b', 'axb', 'aab', 'x'])
        expect((await get(`/${other}/fine`)).status).toBe(404)
    },
  )

  it('a store that cannot be used is 503 with Retry-After and no challenge, and only the log knows why', async () => {
    const GET = throwing(new StoreUnavailableError('The database is away.', { cause: new Error('hunter2') }))
    const response = await route([{ path: '/down', cors: 'none', methods: { GET } }])('/down')
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(response.headers.has('www-authenticate')).toBe(false)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ error: 'temporarily_unavailable' })
    expect(text).not.toMatch(/database|hunter2/)
    expect(reported.at(-1)?.[0]).toBe('store_unavailable')
  })

  it.each<[string, string, number, string]>([
    ['/fails', 'GET', 500, 'Something went wrong'],
    ['/fine', 'DELETE', 405, 'Method not allowed'],
    ['/nothing', 'GET', 404, 'ends in /mcp'],
  ])('a browser that opens %s with %s gets a page with %i', async (path, method, status, text) => {
    const headers = { accept: 'text/html,application/xhtml+xml' }
    const response = await route([failing, fine])(path, { method, headers })
    expect(response.status).toBe(status)
    const html = await response.text()
    expect(html).toContain(text)
    expect(html).toContain('request-1')
    expect(html).not.toContain('hunter2')
  })

  it('a client that disconnects is not reported as a failure', async () => {
    const POST = throwing(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
    await route([{ path: '/hangs-up', cors: 'none', methods: { POST } }])('/hangs-up', { method: 'POST' })
    expect(reported.at(-1)?.[0]).toBe('request_aborted')
  })

  it('a hostile list of requested headers is handled quickly', async () => {
    const headers = {
      origin: 'https://a.example',
      'access-control-request-headers': `a${' '.repeat(130_000)}b`,
    }
    const started = process.cpuUsage()
    const response = await route([fine])('/fine', { method: 'OPTIONS', headers })
    const { user } = process.cpuUsage(started)
    expect(response.status).toBe(204)
    // With a pattern that backtracks this took 27 seconds of CPU.
    expect(user).toBeLessThan(5_000_000)
  })

  it('an OAuth failure is answered as its JSON', async () => {
    const response = await route([failing])('/fails', { method: 'POST' })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'invalid_request', error_description: 'Say it better.' })
  })

  it.each<[string, string, number]>([
    ['GET', '/fine', 200],
    ['GET', '/fine/', 200],
    ['HEAD', '/fine', 200],
    ['POST', '/fine', 405],
    ['GET', '/Fine', 404],
    ['GET', '//fine', 404],
    ['GET', '/fine/..%2ffails', 404],
    ['GET', '/constructor', 404],
  ])('%s %s is %i', async (method, path, status) => {
    expect((await route([fine, failing])(path, { method })).status).toBe(status)
  })

  it('every response has nosniff, a request id, and requires https if the base URL has it', async () => {
    const secure = await route([fine])('/fine')
    expect(Object.fromEntries(secure.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-request-id': 'request-1',
      'strict-transport-security': 'max-age=31536000',
    })
    const plain = await route([fine], local)('/fine')
    expect(plain.headers.has('strict-transport-security')).toBe(false)
  })

  it.each<[string, number]>([
    ['/clients/one', 200],
    ['/clients/o%2Fne', 200],
    ['/clients/', 404],
    ['/clients', 404],
    ['/clients/one/', 404],
    ['/clients/one/two', 404],
    ['/clients//one', 404],
    ['/Clients/one', 404],
    ['/x/clients/one', 404],
  ])('a prefix takes exactly one segment behind it: %s is %i', async (path, status) => {
    const many: Endpoint = { ...fine, path: '/clients/', prefix: true }
    expect((await route([many])(path)).status).toBe(status)
  })

  it('an exact path goes before a prefix', async () => {
    const many: Endpoint = { ...failing, path: '/', prefix: true }
    expect((await route([many, fine])('/fine')).status).toBe(200)
  })

  it.each<[Endpoint, string]>([
    [fine, 'GET, HEAD, OPTIONS'],
    [probe, 'GET, HEAD'],
    [failing, 'GET, HEAD, POST'],
  ])('a 405 names the allowed methods (RFC 9110 section 10.2.1)', async (endpoint, allow) => {
    const response = await route([endpoint])(endpoint.path, { method: 'PATCH' })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
  })

  it('MCP transport Security-Warning: DNS rebinding: another host name is 421, but for probes', async () => {
    const fetch = serve([fine, probe], { baseUrl: local })
    const at = (path: string): Promise<Response> => fetch(new Request(`http://evil.example:8787${path}`))
    expect((await at('/fine')).status).toBe(421)
    expect((await at('/nothing')).status).toBe(421)
    expect((await at('/probe')).status).toBe(200)
  })

  it.each<[host: string, url: string, status: number]>([
    ['localhost:8787', 'http://localhost:8787/fine', 200],
    ['inner:8080', 'http://inner:8080/fine', 421],
    // RFC 9112 section 3.2.2: the host of an absolute-form target counts.
    ['localhost:8787', 'http://evil.example/fine', 421],
    ['evil.example', 'http://localhost:8787/fine', 421],
  ])('Host %s with %s is %i', async (host, url, status) => {
    const fetch = serve([fine], { baseUrl: local })
    expect((await fetch(new Request(url, { headers: { host } }))).status).toBe(status)
  })

  it.each(['x-forwarded-host', 'x-host', 'x-original-host', 'forwarded', 'x-http-host-override'])(
    'the header %s does not set the host',
    async (name) => {
      const headers = { [name]: name === 'forwarded' ? 'host=localhost:8787' : 'localhost:8787' }
      const fetch = serve([fine], { baseUrl: local })
      expect((await fetch(new Request('http://evil.example/fine', { headers }))).status).toBe(421)
    },
  )
})

describe('the observer', () => {
  let inFlight: number
  let ended: [endpoint: string, status: number, seconds: number][]
  beforeEach(() => {
    inFlight = 0
    ended = []
  })
  const observer = {
    requestStarted: () => void (inFlight += 1),
    requestEnded(...end: [string, number, number]) {
      inFlight -= 1
      ended.push(end)
    },
  }
  let clock = 5000
  const observed = (endpoints: Endpoint[]): FetchHandler => serve(endpoints, { observer, nowMs: () => clock })

  it.each([
    ['/base/mcp', '/base/mcp'],
    ['/base/mcp/', '/base/mcp'],
    ['/base/mcp?session=1', '/base/mcp'],
    ['/base/oauth/register/8f14', '/base/oauth/register/*'],
    ['/base/oauth/register/', 'other'],
    ['/base/oauth/register/8f14/more', 'other'],
    ['/mcp', 'other'],
    ['/wp-login.php', 'other'],
  ])(
    'the observer counts %s as %s: names come from the table, never from the request',
    async (path, name) => {
      const GET = (): Response => new Response(null, { status: 204 })
      const fetch = observed([
        { path: '/base/mcp', methods: { GET }, cors: 'none' },
        { path: '/base/oauth/register/', prefix: true, methods: { GET }, cors: 'none' },
      ])
      await fetch(new Request(`https://mcp.example.com${path}`))
      expect(ended).toEqual([[name, name === 'other' ? 404 : 204, 0]])
    },
  )

  it('the observer counts a request as in flight until its response begins, which is its duration', async () => {
    let resolve = (_response: Response): void => {}
    const promise = new Promise<Response>((settle) => (resolve = settle))
    const answering = observed([{ path: '/slow', methods: { GET: () => promise }, cors: 'none' }])(
      new Request('https://mcp.example.com/slow'),
    )
    expect(inFlight).toBe(1)
    clock += 250
    resolve(new Response('', { status: 401 }))
    await answering
    expect([inFlight, ended]).toEqual([0, [['/slow', 401, 0.25]]])
  })

  it('the observer counts a failed request as over', async () => {
    await observed([failing])(new Request('https://mcp.example.com/fails'))
    expect([inFlight, ended]).toEqual([0, [['/fails', 500, 0]]])
  })
})
