import { describe, expect, it } from 'vitest'
import { knownSeconds } from '../core/sign-in/device-cookie.ts'
import { createLoginCookies } from './cookies.ts'

const request = (cookie: string): Request => new Request('https://a.example', { headers: { cookie } })

describe('a cookie of this host only', () => {
  it.each([
    [
      'https://mcp.example.com',
      `__Host-drawbridge-known=value; Max-Age=${knownSeconds}; Path=/; HttpOnly; Secure; SameSite=Lax`,
    ],
    [
      'http://localhost:8787',
      `drawbridge-known=value; Max-Age=${knownSeconds}; Path=/; HttpOnly; SameSite=Lax`,
    ],
  ])('RFC 6265bis 4.1.3: %s', (baseUrl, written) => {
    const { device: cookie } = createLoginCookies(baseUrl)
    expect(cookie.write('value')).toBe(written)
    expect(cookie.clear()).toBe(written.replace('value', '').replace(`Max-Age=${knownSeconds}`, 'Max-Age=0'))
  })

  it('a cookie of this host only is read back by its whole name only', () => {
    const { device: cookie } = createLoginCookies('https://mcp.example.com')
    expect(cookie.read(request('a=b; __Host-drawbridge-known=value'))).toBe('value')
    expect(cookie.read(request('drawbridge-known=planted'))).toBeUndefined()
    expect(cookie.read(new Request('https://a.example'))).toBeUndefined()
  })
})
