import { describe, expect, it, test } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
} from '../../../tests/support/extension/platform/memory-browser.ts'
import { discoverEndpoint } from './endpoint-discovery.ts'

const document = {
  resource: 'https://mcp.example.com/mcp',
  resource_name: 'Notes',
}
const found = {
  kind: 'found',
  baseUrl: 'https://mcp.example.com',
  name: 'Notes',
}

/** A browser with permission whose network serves these documents. */
function browserWith(documents: Record<string, unknown>): MemoryBrowser {
  return createMemoryBrowser({
    allowed: new Set(['https://mcp.example.com/*', 'http://mcp.example.com/*']),
    respond: ({ url }) => {
      const body = documents[url]
      return body === undefined ? { status: 404 } : { status: 200, body: JSON.stringify(body) }
    },
  })
}

const place = 'https://mcp.example.com/.well-known/oauth-protected-resource'

describe('the documents of a server', () => {
  test.each([
    'https://mcp.example.com',
    'https://mcp.example.com/',
    'https://mcp.example.com/mcp',
    'https://MCP.example.com/mcp/?a=b#c',
  ])('are found from %s', async (url) => {
    const browser = browserWith({ [`${place}/mcp`]: document })
    expect(await discoverEndpoint(browser, url)).toEqual(found)
    expect(browser.world.requests).toEqual([
      { url: `${place}/mcp`, method: 'GET', headers: { Accept: 'application/json' }, timeoutMs: 10_000 },
    ])
  })

  it('are found at the root of the host, for the server or for the host', async () => {
    expect(await discoverEndpoint(browserWith({ [place]: document }), 'https://mcp.example.com')).toEqual(
      found,
    )
    const ofHost = { ...document, resource: 'https://mcp.example.com' }
    expect(await discoverEndpoint(browserWith({ [place]: ofHost }), 'https://mcp.example.com')).toEqual(found)
  })

  it('are found below a path', async () => {
    const resource = 'https://mcp.example.com/tools/mcp'
    const browser = browserWith({ [`${place}/tools/mcp`]: { resource } })
    expect(await discoverEndpoint(browser, 'https://mcp.example.com/tools')).toEqual({
      kind: 'found',
      baseUrl: 'https://mcp.example.com/tools',
      name: undefined,
    })
  })

  it('may be of another server', async () => {
    const resource = 'https://evil.example/mcp'
    const browser = browserWith({ [`${place}/mcp`]: { ...document, resource } })
    expect(await discoverEndpoint(browser, 'https://mcp.example.com')).toEqual({
      kind: 'other-resource',
      resource,
    })
  })

  test.each([undefined, [], 'text', {}, { resource: 5 }, { resource: 'javascript:alert(1)' }])(
    'may be %j',
    async (body) => {
      const status = body === undefined ? 404 : 200
      const browser = browserWith({ [place]: body })
      expect(await discoverEndpoint(browser, 'https://mcp.example.com')).toEqual({
        kind: 'not-found',
        status,
      })
    },
  )

  it('are text to show, and only so much', async () => {
    const resource_name = `<b>\u202E${'n'.repeat(5000)}`
    const browser = browserWith({ [`${place}/mcp`]: { ...document, resource_name } })
    const name = `<b>\uFFFD${'n'.repeat(76)}…`
    expect(await discoverEndpoint(browser, 'https://mcp.example.com')).toMatchObject({ kind: 'found', name })
  })
})

describe('no answer', () => {
  it('might come with permission, or would not', async () => {
    const browser = createMemoryBrowser()
    const host = 'mcp.example.com'
    expect(await discoverEndpoint(browser, 'https://mcp.example.com')).toEqual({
      kind: 'no-permission',
      host,
    })
    browser.world.allowed = new Set(['https://mcp.example.com/*', 'http://mcp.example.com/*'])
    expect(await discoverEndpoint(browser, 'https://mcp.example.com')).toEqual({ kind: 'unreachable', host })
  })

  test.each(['', 'mcp.example.com', 'javascript:alert(1)'])('of %j, which is not an address', async (url) => {
    const browser = createMemoryBrowser()
    expect((await discoverEndpoint(browser, url)).kind).toBe('unreachable')
    expect(browser.world.requests).toEqual([])
  })
})
