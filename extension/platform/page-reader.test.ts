import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PageView } from '../core/ports.ts'
import { readPage } from './page-reader.ts'

/** Runs the function as the browser does: from its text, with only the page around it. */
function readAsInPage(names: readonly string[]): PageView {
  // oxlint-disable-next-line typescript/no-implied-eval no-new-func
  return (new Function(`return ${readPage.toString()}`)() as typeof readPage)(names)
}

class MemoryStorage {
  [key: string]: unknown
  constructor(entries: Record<string, string>) {
    for (const [key, value] of Object.entries(entries)) {
      Object.defineProperty(this, key, { value, enumerable: true, configurable: true })
    }
  }
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? String(this[key]) : null
  }
}

afterEach(() => vi.unstubAllGlobals())

/** Stubs a page with this link in its head, as far as the reader needs. */
function stubPage(page: {
  cookie: string
  link?: { href: string } | null
  entries?: Record<string, string>
}): void {
  const querySelector = (selector: string): unknown => {
    expect(selector).toBe('head > link[rel~="mcp-server" i]')
    return page.link ?? null
  }
  vi.stubGlobal('document', { cookie: page.cookie, querySelector })
  vi.stubGlobal('localStorage', new MemoryStorage(page.entries ?? {}))
}

describe('reading the page', () => {
  it('the page reader reads the address of the MCP server that the page announces', () => {
    stubPage({ cookie: '', link: { href: 'https://mcp.example.com/mcp' } })
    expect(readAsInPage([]).announced).toBe('https://mcp.example.com/mcp')
    stubPage({ cookie: '', link: null })
    expect(readAsInPage([]).announced).toBeUndefined()
  })

  it('the page reader reads only cookies and entries named like a session', () => {
    stubPage({
      cookie:
        'theme=dark; sb-a-auth-token.0=base64-abc; sb-a-auth-token.1=d=e=; sb-a-auth-token-code-verifier=x; ' +
        'supabase-auth-token=%5B%22a%22%5D; csrf=1; __proto__=p; session=own; session.0=chunk; sessions=no',
      entries: { cart: '[1]', 'sb-a-auth-token': '{"a":1}', length: 'x', session: 's' },
    })
    expect(readAsInPage(['supabase-auth-token', 'session'])).toEqual({
      cookies: [
        { name: 'sb-a-auth-token.0', value: 'base64-abc' },
        { name: 'sb-a-auth-token.1', value: 'd=e=' },
        { name: 'supabase-auth-token', value: '%5B%22a%22%5D' },
        { name: 'session', value: 'own' },
        { name: 'session.0', value: 'chunk' },
      ],
      entries: [
        { key: 'sb-a-auth-token', value: '{"a":1}' },
        { key: 'session', value: 's' },
      ],
    })
  })

  it('the page reader keeps the order of cookies, and both of one name', () => {
    stubPage({ cookie: 'sb-a-auth-token=1; sb-b-auth-token=2; sb-a-auth-token=3' })
    expect(readAsInPage([]).cookies.map(({ value }) => value)).toEqual(['1', '2', '3'])
  })

  it.each(['', 'no-equals-sign', ';', '=only-a-value'])(
    'the page reader reads nothing from the cookies %j',
    (cookie) => {
      stubPage({ cookie })
      expect(readAsInPage([])).toEqual({ cookies: [], entries: [] })
    },
  )

  it('the page reader reads nothing in a sandboxed page, where reading throws', () => {
    const refuse = (): never => {
      throw new DOMException('The document is sandboxed.', 'SecurityError')
    }
    vi.stubGlobal('document', Object.defineProperty({}, 'cookie', { get: refuse }))
    vi.stubGlobal('localStorage', undefined)
    expect(readAsInPage([])).toEqual({ cookies: [], entries: [] })
  })
})
