import { afterAll, describe, expect, it } from 'vitest'
import { startDrawbridge } from '../../tests/support/server/drawbridge-fixture.ts'
import { sessionCookieHeader, signInToWebApp } from '../../tests/support/server/web-app-session.ts'

const firefox = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const chromium =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'

const drawbridge = await startDrawbridge()
afterAll(() => drawbridge.close())

it('GET /help says what to do about a client that does not connect, and is linked on the connect page', async () => {
  const start = await drawbridge.fetch('/', { headers: { accept: firefox } })
  expect(await start.text()).toContain('href="/help"')
  const response = await drawbridge.fetch('/help?ui_locales=de')
  expect([response.status, response.headers.get('content-language')]).toEqual([200, 'de'])
  const page = await response.text()
  expect(page).toContain('<code>http://localhost:8787/mcp</code>')
  expect(page).toContain('href="http://localhost:8787/"')
})

it('the connect page names the tools that anyone can call, and no others', async () => {
  const call = (): string => 'done'
  const tools = [
    { name: 'search_docs', public: true as const, call },
    { name: 'add_note', call },
  ]
  const open = await startDrawbridge({}, undefined, { tools })
  try {
    const page = await (await open.fetch('/', { headers: { accept: firefox } })).text()
    expect(page).toContain('<code>search_docs</code>')
    expect(page).not.toContain('add_note')
  } finally {
    await open.close()
  }
})

/** Headers of browsers opening the address. */
const people: [string, Record<string, string>][] = [
  ['Chromium', { accept: chromium, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ['Firefox over plain http', { accept: firefox }],
  ['a navigation with any Accept', { accept: '*/*', 'sec-fetch-mode': 'navigate' }],
  ['a browser of text', { accept: 'text/html, text/*;q=0.5' }],
  ['HTML before JSON', { accept: 'application/json;q=0.9, text/html' }],
]

/** Headers of programs and page scripts. */
const programs: [string, string, Record<string, string>][] = [
  ['curl', 'GET', { accept: '*/*' }],
  ['nothing', 'GET', {}],
  ['the SDK', 'GET', { accept: 'application/json, text/event-stream' }],
  ['the SDK, for its stream', 'GET', { accept: 'text/event-stream' }],
  ['EventSource', 'GET', { accept: 'text/event-stream', 'sec-fetch-mode': 'cors' }],
  ['fetch of a page', 'GET', { accept: '*/*', 'sec-fetch-mode': 'cors' }],
  ['fetch that likes HTML', 'GET', { accept: 'text/html', 'sec-fetch-mode': 'same-origin' }],
  ['an image', 'GET', { accept: 'image/avif,*/*', 'sec-fetch-mode': 'no-cors' }],
  ['JSON as much as HTML', 'GET', { accept: 'text/html, application/json' }],
  ['an event stream before HTML', 'GET', { accept: 'text/html;q=0.5, text/event-stream' }],
  ['anything before HTML', 'GET', { accept: '*/*, text/html;q=0.1' }],
  ['HTML refused', 'GET', { accept: 'text/html;q=0' }],
  ['a weight that is none', 'GET', { accept: 'text/html;q=x' }],
  ['HEAD', 'HEAD', { accept: firefox, 'sec-fetch-mode': 'navigate' }],
  ['a form', 'POST', { accept: firefox, 'sec-fetch-mode': 'navigate' }],
  ['DELETE', 'DELETE', { accept: firefox }],
]

describe('GET / and GET /mcp of people', () => {
  it.each(
    people.flatMap(([who, headers]) => ['/mcp', '/mcp/', '/'].map((path) => [path, who, headers] as const)),
  )('%s: the connect page for %s', async (path, _who, headers) => {
    const response = await drawbridge.fetch(path, { headers })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const text = await response.text()
    expect(text).toContain('<code class="host" id="address">http://localhost:8787/mcp</code>')
    expect(text).not.toContain('list_notes')
  })

  it('the connect page is shown with the session cookie of the app too, which a page of another site can make a browser send', async () => {
    const cookie = sessionCookieHeader(await signInToWebApp(drawbridge))
    const headers = { cookie, accept: firefox, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' }
    expect((await drawbridge.fetch('/mcp', { headers })).status).toBe(200)
  })

  it('the connect page has the headers of the other pages, and no other site may read it', async () => {
    const { headers } = await drawbridge.fetch('/mcp', {
      headers: { accept: firefox, origin: 'http://localhost:1' },
    })
    const other = await drawbridge.fetch('/account/connections', { headers: { accept: firefox } })
    for (const name of [
      'cache-control',
      'x-frame-options',
      'referrer-policy',
      'permissions-policy',
      'x-content-type-options',
      'cross-origin-opener-policy',
      'cross-origin-resource-policy',
    ]) {
      expect([name, headers.get(name)]).toEqual([name, other.headers.get(name)])
      expect(headers.get(name)).not.toBeNull()
    }
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'; script-src 'sha256-.*frame-ancestors 'none'/,
    )
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('set-cookie')).toBeNull()
  })

  it('GET / is a page, HEAD has no body, and other methods are refused', async () => {
    expect((await drawbridge.fetch('/', { headers: { accept: '*/*' } })).status).toBe(200)
    const head = await drawbridge.fetch('/', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await drawbridge.fetch('/', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await drawbridge.fetch('//')).status).toBe(404)
  })
})

it.each(programs)(
  '/mcp answers every other request unchanged: %s: %s without a credential gets the challenge',
  async (_who, method, headers) => {
    const response = await drawbridge.fetch('/mcp', { method, headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('resource_metadata=')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    if (method !== 'HEAD') expect(await response.json()).toMatchObject({ error: 'unauthorized' })
  },
)

it('the connect page is shown for an Accept of 4,000 members at once', async () => {
  const accept = `${'text/html;q=0.1, '.repeat(4000)}*/*`
  expect((await drawbridge.fetch('/', { headers: { accept } })).status).toBe(200)
})
