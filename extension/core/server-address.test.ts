import { expect, it } from 'vitest'
import { announcedServer } from './server-address.ts'

it.each([
  ['https://mcp.example.com/mcp', 'https://mcp.example.com'],
  ['https://mcp.example.com', 'https://mcp.example.com'],
  ['https://example.com/team/mcp/?a=b#c', 'https://example.com/team'],
  ['http://localhost:8787/mcp', 'http://localhost:8787'],
  ['https://b\u00fccher.example/mcp', 'https://xn--bcher-kva.example'],
])('the announced server %s has the base URL %s', (address, baseUrl) => {
  expect(announcedServer(address)).toBe(baseUrl)
})

it.each([
  undefined,
  '',
  'http://mcp.example.com/mcp',
  'https://app.example.com@evil.example/mcp',
  'javascript:alert(1)',
  `https://app.example.com.${'a'.repeat(60)}.evil.example/mcp`,
  `https://example.com/${'a'.repeat(3000)}/mcp`,
])('the announced server %s is refused', (address) => {
  expect(announcedServer(address)).toBeUndefined()
})
