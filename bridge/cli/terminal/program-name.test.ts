import { expect, it } from 'vitest'
import { asTyped } from './program-name.ts'

const installed = '/usr/lib/node_modules/mcp-drawbridge/launcher.cjs'
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
  expect(asTyped(text, installed)).toBe(text)
})

it.each([
  ['a key of ~/.drawbridge/config.json is', String.raw`a key of %USERPROFILE%\.drawbridge\config.json is`],
  ['(default: ~/.drawbridge)', String.raw`(default: %USERPROFILE%\.drawbridge)`],
  ['Examples:\n  drawbridge status', 'Examples, for PowerShell:\n  drawbridge status'],
  ['  curl -H "Authorization: ..."', '  curl.exe -H "Authorization: ..."'],
  [
    '  drawbridge token set https://a.example/mcp < token.txt',
    '  type token.txt | drawbridge token set https://a.example/mcp',
  ],
  ['use --static-oauth-client-info @FILE.', 'use --static-oauth-client-info "@FILE".'],
  [
    'Install it: npm ci && npm pack x && npm install --global ./x.tgz.',
    'Install it: npm ci; npm pack x; npm install --global ./x.tgz.',
  ],
  ['use 2>/dev/null.', 'use 2>$null.'],
  ['then press Enter and Ctrl-D.', 'then press Enter, Ctrl-Z and Enter.'],
])('asTyped turns %j on Windows into %j', (text, windows) => {
  expect(asTyped(text, installed, 'win32')).toBe(windows)
  for (const platform of ['linux', 'darwin'] as const) expect(asTyped(text, installed, platform)).toBe(text)
})
