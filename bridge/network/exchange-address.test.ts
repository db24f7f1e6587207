import { expect, it } from 'vitest'
import { exchangeAddress } from './exchange-address.ts'

it.each([
  ['http://127.0.0.1:8080/mcp?a=b', { host: '127.0.0.1', port: 8080, path: '/mcp?a=b' }],
  ['https://mcp.example.com', { host: 'mcp.example.com', port: 443, path: '/' }],
  ['http://mcp.example.com', { host: 'mcp.example.com', port: 80, path: '/' }],
  ['http://[::1]:1/mcp#part', { host: '::1', port: 1, path: '/mcp' }],
])('says where %s is', (text, expected) => {
  const { connect, path } = exchangeAddress(new URL(text))
  expect({ host: connect.host, port: connect.port, path }).toEqual(expected)
})

it('names the server to TLS, but no address', () => {
  expect(exchangeAddress(new URL('https://mcp.example.com/')).connect.servername).toBe('mcp.example.com')
  expect(exchangeAddress(new URL('https://127.0.0.1/')).connect.servername).toBe('')
  expect(exchangeAddress(new URL('https://[::1]/')).connect.servername).toBe('')
})

it('asks no resolver for names of this computer only', () => {
  expect(exchangeAddress(new URL('http://localhost/')).connect.lookup).toBeDefined()
  expect(exchangeAddress(new URL('http://example.com/')).connect.lookup).toBeUndefined()
})

it.each([
  ['http://a.example/a b\r\nX: y', '/a%20bX:%20y'],
  ['http://a.example/ä?ö=\n"ü', '/%C3%A4?%C3%B6=%22%C3%BC'],
])('has a target without line ends and spaces, whatever the text', (text, path) => {
  expect(exchangeAddress(new URL(text)).path).toBe(path)
})
