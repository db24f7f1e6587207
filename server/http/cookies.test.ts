import { describe, expect, it } from 'vitest'
import { createHostCookie } from './cookies.ts'

const request = (cookie: string): Request => new Request('https://a.example', { headers: { cookie } })

describe('a cookie of this host alone', () => {
  it.each([
    [
      'https://mcp.example.com',
      '__Host-drawbridge-known=value; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax',
    ],
    ['http://localhost:8787', 'drawbridge-known=value; Max-Age=60; Path=/; HttpOnly; SameSite=Lax'],
  ])('RFC 6265bis 4.1.3: %s', (baseUrl, written) => {
    const cookie = createHostCookie(baseUrl, 'known', 60)
    expect(cookie.write('value')).toBe(written)
    expect(cookie.clear()).toBe(written.replace('value', '').replace('Max-Age=60', 'Max-Age=0'))
  })

  it('is read back by its whole name only', () => {
    const cookie = createHostCookie('https://mcp.example.com', 'known', 60)
    expect(cookie.read(request('a=b; __Host-drawbridge-known=value'))).toBe('value')
    expect(cookie.read(request('drawbridge-known=planted'))).toBeUndefined()
    expect(cookie.read(new Request('https://a.example'))).toBeUndefined()
  })
})
