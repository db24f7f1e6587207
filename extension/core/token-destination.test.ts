import { expect, test } from 'vitest'
import { isSafeForTokens } from './site.ts'

test.each([
  ['https://mcp.example.com', true],
  ['http://localhost:8787', true],
  ['http://app.localhost:8787', true],
  ['http://127.0.0.1:8787', true],
  ['http://127.9.8.7', true],
  ['http://[::1]:8787', true],
  ['http://mcp.example.com', false],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://notlocalhost', false],
  ['http://10.0.0.1', false],
  ['http://[::2]', false],
  ['ftp://localhost', false],
  ['localhost:8787', false],
  ['', false],
])('a token may be sent to %s: %s', (url, isSafe) => {
  expect(isSafeForTokens(url)).toBe(isSafe)
})
