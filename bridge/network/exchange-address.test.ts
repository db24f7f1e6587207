import { expect, it } from 'vitest'
import { exchangeAddress } from './exchange-address.ts'

it.each([
  ['http://127.0.0.1:8080/mcp?a=b', { hostname: '127.0.0.1', port: '8080', path: '/mcp?a=b' }],
  ['https://mcp.example.com', { hostname: 'mcp.example.com', port: undefined, path: '/' }],
  ['http://[::1]:1/mcp#part', { hostname: '::1', port: '1', path: '/mcp' }],
])('says where %s is', (text, expected) => {
  const { hostname, port, path } = exchangeAddress(new URL(text)).options
  expect({ hostname, port, path }).toEqual(expected)
})

it('asks no resolver for names of this computer only', () => {
  expect(exchangeAddress(new URL('http://localhost/')).options.lookup).toBeDefined()
  expect(exchangeAddress(new URL('http://example.com/')).options.lookup).toBeUndefined()
})
