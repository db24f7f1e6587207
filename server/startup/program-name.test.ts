import { describe, expect, it } from 'vitest'
import { asTyped, type Started } from './program-name.ts'

const launcher = '/home/me/drawbridge/server/launcher.cjs'
const byStart: Started = { launcher, environment: { npm_command: 'start', npm_lifecycle_event: 'start' } }
const byNpx: Started = { launcher, environment: { npm_command: 'exec', npm_lifecycle_event: 'npx' } }
const fetched: Started = {
  launcher: '/home/me/.npm/_npx/ab/node_modules/.bin/drawbridge-server',
  environment: {},
}

describe('a command that is advised', () => {
  it.each([
    ['Next: drawbridge-server doctor', 'Next: npm start -- doctor', 'Next: npx drawbridge-server doctor'],
    [
      'drawbridge-server -- npx -y some-server',
      'npm start -- -- npx -y some-server',
      'npx drawbridge-server -- npx -y some-server',
    ],
    ['drawbridge-server --help', 'npm start -- --help', 'npx drawbridge-server --help'],
    [
      'Usage: drawbridge-server [command]',
      'Usage: npm start -- [command]',
      'Usage: npx drawbridge-server [command]',
    ],
    ['  drawbridge-server    try it', '  npm start    try it', '  npx drawbridge-server    try it'],
    [
      'X=$(drawbridge-server keys generate)',
      'X=$(npx drawbridge-server keys generate)',
      'X=$(npx drawbridge-server keys generate)',
    ],
    [
      'Run `drawbridge-server migrate`.',
      'Run `npm start -- migrate`.',
      'Run `npx drawbridge-server migrate`.',
    ],
  ])('the text %j names the program as it was started', (text, start, npx) => {
    expect(asTyped(text, byStart)).toBe(start)
    expect(asTyped(text, byNpx)).toBe(npx)
    expect(asTyped(text, fetched)).toBe(npx)
    expect(asTyped(text, { launcher, environment: {} })).toBe(text)
  })

  it.each([
    'drawbridge-server did not start.',
    'drawbridge-server keys rotate failed.',
    'npx drawbridge-server keys list',
    '/opt/drawbridge-server doctor',
    'drawbridge-server needs Node 22.13 or newer.',
  ])('the text %j names the program as written', (text) => {
    for (const started of [byStart, byNpx]) expect(asTyped(text, started)).toBe(text)
  })

  it("a command of another project's start script goes through npx", () => {
    const environment = { npm_command: 'start', npm_lifecycle_event: 'start' }
    const started = { launcher: '/home/me/app/node_modules/.bin/drawbridge-server', environment }
    expect(asTyped('drawbridge-server doctor', started)).toBe('npx drawbridge-server doctor')
  })

  it('a command of npm test or another script is unchanged, as its caller is unknown', () => {
    const environment = { npm_command: 'run-script', npm_lifecycle_event: 'deploy' }
    expect(asTyped('drawbridge-server doctor', { launcher, environment })).toBe('drawbridge-server doctor')
  })
})

it.each([
  [
    '  Look around    curl -i http://localhost:8787/mcp',
    '  Look around    curl.exe -i http://localhost:8787/mcp',
  ],
  ['curl http://localhost:8787/.well-known/x', 'curl.exe http://localhost:8787/.well-known/x'],
  ['Make it with: umask 077; node -p "x" > admin-token', 'Make it with: node -p "x" > admin-token'],
  ['  drawbridge-server -- npx -y some-mcp-server', '  drawbridge-server -- cmd /c npx -y some-mcp-server'],
  ['Serve until SIGINT or SIGTERM (default).', 'Serve until Ctrl-C (default).'],
  ['  secret-keys (for you only)', '  secret-keys (secret)'],
  ['npm pack x && sudo chown 1000 secret-keys && docker compose up -d', 'npm pack x; docker compose up -d'],
  [
    '  drawbridge-server grants revoke --token - < leaked.txt',
    '  type leaked.txt | drawbridge-server grants revoke --token -',
  ],
  [
    'serve --store sqlite:/var/lib/drawbridge/server.db',
    String.raw`serve --store sqlite:C:\ProgramData\drawbridge\server.db`,
  ],
  [
    'SQLite in .drawbridge/\n(default: sqlite:.drawbridge/server.db; sqlite:.drawbridge/trial.db for embedded)',
    'SQLite in .drawbridge\\\n(default: sqlite:.drawbridge\\server.db; sqlite:.drawbridge\\trial.db for embedded)',
  ],
])('asTyped turns %j on Windows into %j', (text, windows) => {
  const started: Started = { launcher, environment: {} }
  expect(asTyped(text, started, 'win32')).toBe(windows)
  for (const platform of ['linux', 'darwin'] as const) expect(asTyped(text, started, platform)).toBe(text)
})
