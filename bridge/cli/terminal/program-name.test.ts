import { expect, it } from 'vitest'
import { asTyped } from './program-name.ts'

const npx = '/home/me/.npm/_npx/ab12/node_modules/.bin/drawbridge'

it.each([
  ['drawbridge login https://mcp.example.com', 'npx mcp-drawbridge login https://mcp.example.com'],
  ['Every flag: drawbridge --help', 'Every flag: npx mcp-drawbridge --help'],
  ['Unlock it, then: drawbridge login <url>', 'Unlock it, then: npx mcp-drawbridge login <url>'],
  ['Use drawbridge <url> alone.', 'Use npx mcp-drawbridge <url> alone.'],
  ['Wait for another drawbridge. Then go on.', 'Wait for another drawbridge. Then go on.'],
  ['/opt/drawbridge login', '/opt/drawbridge login'],
])('asTyped turns %s under npx into %s', (text, typed) => {
  expect(asTyped(text, npx)).toBe(typed)
  expect(asTyped(text, String.raw`C:\Users\me\AppData\Local\npm-cache\_npx\ab\node_modules\x`)).toBe(typed)
  expect(asTyped(text, '/usr/lib/node_modules/mcp-drawbridge/launcher.cjs')).toBe(text)
})
