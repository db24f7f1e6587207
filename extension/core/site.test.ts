import { describe, expect, test } from 'vitest'
import { hostOf, isSafeForTokens, isWebPage, originPatterns } from './site.ts'

describe('a page of the web', () => {
  test.each([
    'https://app.example.com',
    'http://localhost:3000/a?b#c',
    'https://[::1]:8443/',
    'https://bücher.example/',
  ])('%s is a web page', (url) => {
    expect(isWebPage(url)).toBe(true)
  })

  test.each([
    undefined,
    '',
    'chrome://extensions/',
    'file:///etc/passwd',
    'javascript:alert(1)//https://app.example.com',
    'https://',
    'http//app.example.com',
  ])('%s is not a web page', (url) => {
    expect(isWebPage(url)).toBe(false)
    expect(originPatterns(url)).toEqual([])
  })
})

describe('patterns of an origin', () => {
  test.each([
    ['https://app.example.com:8443/path?query', 'app.example.com'],
    ['http://localhost:3000/', 'localhost'],
    ['https://BÜCHER.example/', 'xn--bcher-kva.example'],
    ['https://user:secret@app.example.com/', 'app.example.com'],
    ['http://[::1]:3000/', '[::1]'],
  ])('the patterns of %s have both schemes, no port and no path', (url, host) => {
    expect(originPatterns(url)).toEqual([`https://${host}/*`, `http://${host}/*`])
  })
})

test('a host includes the port, and is empty without a URL', () => {
  expect(hostOf('http://localhost:3000/a')).toBe('localhost:3000')
  expect(hostOf('https://app.example.com:443/a')).toBe('app.example.com')
  expect(hostOf(undefined)).toBe('')
  expect(hostOf('no url')).toBe('')
})

test.each([
  ['https://mcp.example.com', true],
  ['http://localhost:8787', true],
  ['http://app.localhost:8787', true],
  ['http://127.9.8.7', true],
  ['http://[::1]:8787', true],
  ['http://mcp.example.com', false],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://notlocalhost', false],
  ['http://[::2]', false],
  ['ftp://localhost', false],
  ['localhost:8787', false],
  ['', false],
])('a token may be sent to %s: %s', (url, isSafe) => {
  expect(isSafeForTokens(url)).toBe(isSafe)
})
