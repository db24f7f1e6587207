import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLoopbackHost, chooseProxy } from './route.ts'

const proxy = { http: 'http://plain:1', https: 'http://secure:2', noProxy: undefined }

function choose(url: string, noProxy?: string): string | undefined {
  return chooseProxy(new URL(url), { ...proxy, noProxy })
}

describe('chooseProxy', () => {
  it('chooseProxy chooses the proxy by the scheme of the URL', () => {
    expect(choose('https://mcp.example.com/mcp')).toBe('http://secure:2')
    expect(choose('http://mcp.example.com/mcp')).toBe('http://plain:1')
    expect(chooseProxy(new URL('https://a.example'), undefined)).toBeUndefined()
    const onlyHttp = { http: 'http://plain:1', https: undefined, noProxy: undefined }
    expect(chooseProxy(new URL('https://a.example'), onlyHttp)).toBeUndefined()
    expect(chooseProxy(new URL('https://a.example'), { ...onlyHttp, https: '' })).toBeUndefined()
  })

  it.each(['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])(
    'chooseProxy never asks a proxy for %s',
    (host) => {
      expect(choose(`http://${host}:8080/`)).toBeUndefined()
      expect(choose(`https://${host}/`)).toBeUndefined()
    },
  )

  it.each([
    ['*', 'https://a.example/', true],
    ['example.com', 'https://example.com/', true],
    ['example.com', 'https://mcp.example.com/', true],
    ['example.com', 'https://mcp.example.com./', true],
    ['.example.com', 'https://mcp.example.com/', true],
    ['.example.com', 'https://example.com/', true],
    ['*.example.com', 'https://mcp.example.com/', true],
    ['EXAMPLE.com', 'https://Example.COM/', true],
    ['example.com', 'https://badexample.com/', false],
    ['example.com', 'https://example.com.evil.test/', false],
    ['other.test, example.com', 'https://example.com/', true],
    ['other.test example.com', 'https://example.com/', true],
    [' ,, ', 'https://example.com/', false],
    ['.', 'https://example.com/', false],
    ['example.com:443', 'https://example.com/', true],
    ['example.com:80', 'http://example.com/', true],
    ['example.com:8443', 'https://example.com/', false],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['10.1.2.3', 'https://10.1.2.3/', true],
    ['2.3', 'https://10.1.2.3/', false],
    ['10.0.0.0/8', 'https://10.1.2.3/', true],
    ['10.0.0.0/8', 'https://11.1.2.3/', false],
    ['10.0.0.0/99', 'https://10.1.2.3/', false],
    ['10.0.0.0/8', 'https://example.com/', false],
    ['fd00::/8', 'https://[fd00::1]/', true],
    ['fd00::1', 'https://[fd00::1]/', true],
    ['[fd00::1]', 'https://[fd00::1]/', true],
    ['[fd00::1]:443', 'https://[fd00::1]/', true],
    ['[fd00::1]:444', 'https://[fd00::1]/', false],
    ['fd00::2', 'https://[fd00::1]/', false],
  ])('NO_PROXY %j covers %s: %s', (noProxy, url, covered) => {
    expect(choose(url, noProxy) === undefined).toBe(covered)
  })

  it('chooseProxy reads any text as a list of NO_PROXY', () => {
    fc.assert(
      fc.property(fc.string(), (noProxy) => {
        const chosen = choose('https://mcp.example.com/', noProxy)
        return chosen === undefined || chosen === proxy.https
      }),
    )
  })
})

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
])('isLoopbackHost of %s: %s', (host, loopback) => expect(isLoopbackHost(host)).toBe(loopback))
