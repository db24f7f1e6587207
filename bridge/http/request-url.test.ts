import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NetworkError } from './http-client.ts'
import { isLoopbackHost, readRequestUrl } from './request-url.ts'

describe('readRequestUrl', () => {
  it.each([
    'https://mcp.example.com/mcp?a=b',
    'http://localhost:3000/mcp',
    'http://127.0.0.1/',
    'http://127.8.9.1/',
    'http://[::1]:80/',
    'http://app.localhost/',
  ])('takes %s', (url) => expect(readRequestUrl(url, false).href).toBe(new URL(url).href))

  it.each([
    'http://mcp.example.com/',
    'http://127.0.0.1.example.com/',
    'http://10.0.0.1/',
    'http://localhost.example/',
  ])('takes %s only when plain http is allowed', (url) => {
    expect(() => readRequestUrl(url, false)).toThrow(NetworkError)
    expect(readRequestUrl(url, true).href).toBe(url)
  })

  it('throws nothing but NetworkError', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })),
        fc.boolean(),
        (text, allowHttp) => {
          try {
            return ['http:', 'https:'].includes(readRequestUrl(text, allowHttp).protocol)
          } catch (error) {
            return error instanceof NetworkError && error.fault === 'protocol' && !error.sent
          }
        },
      ),
    )
  })
})

describe('isLoopbackHost', () => {
  it.each([
    ['localhost', true],
    ['a.b.localhost', true],
    ['127.0.0.1', true],
    ['127.255.255.254', true],
    ['[::1]', true],
    ['[::2]', false],
    ['0.0.0.0', false],
    ['notlocalhost', false],
    ['128.0.0.1', false],
  ])('%s: %s', (host, loopback) => expect(isLoopbackHost(host)).toBe(loopback))
})
