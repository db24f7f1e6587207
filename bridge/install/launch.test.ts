import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import type { LaunchFlag } from './client.ts'
import { checkServerName } from './install-error.ts'
import { whyPassing } from './program-path.ts'
import { createLaunch } from './launch.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { readOwnEntry } from './own-entry.ts'

const url = 'https://app.example.com/mcp'

function launch(
  flags: readonly LaunchFlag[],
  serverUrl = url,
  environment: Record<string, string> = {},
): Launch {
  return createLaunch({ node: '/n/node', launcher: '/l/launcher.cjs', serverUrl, flags, environment })
}

it('the command of an entry consists of Node, the launcher, the server and the flags', () => {
  const flags = [
    { flag: '--profile', value: 'work' },
    { flag: '--keep-alive' },
    { flag: '--header', value: 'X-Team:  blue' },
  ]
  expect(launch(flags)).toEqual({
    command: '/n/node',
    args: ['/l/launcher.cjs', url, '--profile', 'work', '--keep-alive', '--header', 'X-Team:blue'],
    env: {},
  })
})

it('the command of an entry passes on the folder of the store, and no secrets', () => {
  const environment = {
    DRAWBRIDGE_HOME: '/h',
    DRAWBRIDGE_TOKEN: 't',
    DRAWBRIDGE_KEY: 'k',
    HOME: '/x',
  }
  expect(launch([], url, environment).env).toEqual({ DRAWBRIDGE_HOME: '/h' })
})

it.each([
  ['--header', 'X-Team: two words'],
  ['--scope', 'a b'],
  ['--ca', '/my files/ca.pem'],
  ['--profile', 'a\tb'],
])('the command of an entry refuses a blank in an argument: %s %s', (flag, value) => {
  expect(thrownBy(() => launch([{ flag, value }]))).toMatchObject({
    name: 'ConfigError',
    nextStep: expect.stringContaining('config.json') as string,
  })
})

it.each([
  ['--header', 'Authorization: Bearer s3cret'],
  ['--header', 'authorization:Bearer-s3cret'],
  ['--header', 'Proxy-Authorization: s3cret'],
  ['--header', 'Cookie: a=s3cret'],
  ['--header', 'X-Api-Key: s3cret'],
  ['--header', 'apikey:s3cret'],
  ['--header', 'X-Auth-Token:s3cret'],
  ['--token', 's3cret'],
  ['--static-oauth-client-info', '{"client_id":"a","client_secret":"s3cret"}'],
  ['--static-oauth-client-info', '{"client_id":"a","client_secret":"s3cret"'],
  ['--proxy', 'http://u:s3cret@proxy.example'],
  ['--authorize-param', 'access_token=s3cret'],
  ['--resource', 'https://a.example/?key=s3cret'],
])('a secret is refused in a flag: %s %s', (flag, value) => {
  const error = thrownBy(() => launch([{ flag, value }]))
  expect(error?.name).toBe('ConfigError')
  expect(inspect(error)).not.toContain('s3cret')
  expect(error?.message).toContain(flag)
})

it.each([
  'https://u:s3cret@a.example/mcp',
  'https://u@a.example/mcp',
  'https://a.example/mcp?api_key=s3cret',
  'https://a.example/mcp?access_token=s3cret',
])('a secret is refused in the URL %s', (serverUrl) => {
  const error = thrownBy(() => launch([], serverUrl))
  expect(error?.name).toBe('ConfigError')
  expect(error?.message).not.toContain('s3cret')
})

it.each([
  ['--header', 'X-Team:blue'],
  ['--static-oauth-client-info', '{"client_id":"a"}'],
  ['--static-oauth-client-info', '@/home/ada/client.json'],
  ['--authorize-param', 'audience=api'],
  ['--resource', 'https://a.example/mcp?tenant=1'],
  ['--proxy', 'http://proxy.example:3128'],
])('no secret is found in a harmless flag: %s %s', (flag, value) => {
  expect(launch([{ flag, value }]).args).toContain(value)
})

describe('a temporary path', () => {
  it.each([
    ['/home/ada/.npm/_npx/1a2b/node_modules/mcp-drawbridge/launcher.cjs', 'package runner'],
    [
      String.raw`C:\Users\ada\AppData\Local\npm-cache\_npx\1a2b\node_modules\mcp-drawbridge\launcher.cjs`,
      'package runner',
    ],
    ['/home/ada/.cache/pnpm/dlx/abc/node_modules/mcp-drawbridge/launcher.cjs', 'package runner'],
    ['/tmp/xfs-1a/dlx-99/node_modules/mcp-drawbridge/launcher.cjs', 'package runner'],
    ['/tmp/bunx-1000-mcp-drawbridge@latest/node_modules/mcp-drawbridge/launcher.cjs', 'package runner'],
    ['/tmp/x/launcher.cjs', 'temporary folder'],
    ['/tmpx/launcher.cjs', undefined],
    ['/usr/lib/node_modules/mcp-drawbridge/launcher.cjs', undefined],
    ['/home/ada/.nvm/versions/node/v24.1.0/lib/node_modules/mcp-drawbridge/launcher.cjs', undefined],
  ])('the path %s is recognized as temporary: %s', (path, why) => {
    const found = whyPassing(path, ['/tmp', ''])
    if (why === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(why)
    if (found !== undefined) expect(found).toContain('Install the bridge first: npm ')
  })
})

describe('the name of a server', () => {
  it.each([
    ['https://mcp.example.com/mcp', 'example-com'],
    ['https://www.example.com/', 'example-com'],
    ['https://app.example.com:8443/mcp', 'app-example-com-8443'],
    ['https://mcp.dev/mcp', 'mcp-dev'],
    ['http://localhost:3000/mcp', 'localhost-3000'],
    ['http://127.0.0.1:3000/mcp', '127-0-0-1-3000'],
    ['http://[::1]:3000/mcp', '1-3000'],
    ['https://bücher.example/mcp', 'xn--bcher-kva-example'],
  ])('the name of the server %s is %s', (serverUrl, name) => {
    expect(serverNameOf(serverUrl)).toBe(name)
    expect(() => checkServerName(name)).not.toThrow()
  })

  it.each(['', 'a b', 'a.b', '-a', '__proto__', 'ä', 'a'.repeat(65)])(
    'the name of a server cannot be %j',
    (name) => {
      expect(thrownBy(() => checkServerName(name))?.name).toBe('ConfigError')
    },
  )
})

it.each([
  [
    { command: 'node', args: ['/usr/lib/node_modules/mcp-drawbridge/launcher.cjs', url, '--keep-alive'] },
    url,
  ],
  [
    {
      command: String.raw`C:\node.exe`,
      args: [String.raw`C:\npm\node_modules\mcp-drawbridge\launcher.cjs`, url],
    },
    url,
  ],
  [{ type: 'local', command: ['node', '/project/bridge/launcher.cjs', url] }, url],
  [{ command: 'npx', args: ['-y', 'mcp-drawbridge@1.2.3', url] }, url],
  [{ command: 'drawbridge', args: [url] }, url],
  [{ command: String.raw`C:\npm\drawbridge.cmd`, args: [] }, undefined],
  [{ command: 'node', args: ['/anywhere/launcher.cjs', url] }, url],
  [{ command: 'drawbridge', args: [url, '--keep-alive', '--profile', 'work'] }, url, 'work'],
  [{ command: ['drawbridge', url, '--profile', 'a', '--profile=b=c'] }, url, 'b=c'],
  [{ command: 'drawbridge', args: [url, '--profile'] }, url],
])('readOwnEntry recognizes %j', (entry, serverUrl, profile?: string) => {
  expect(readOwnEntry(entry, '/anywhere/launcher.cjs')).toEqual({ serverUrl, profile })
})

it.each([
  [{ command: 'npx', args: ['-y', 'mcp-remote', 'https://example.com/drawbridge'] }],
  [{ command: 'node', args: ['/x/other/launcher.cjs', url] }],
  [{ command: 'drawbridge-server', args: [] }],
  [{ url: 'https://drawbridge.example/mcp' }],
  ['drawbridge'],
  [undefined],
])('readOwnEntry ignores %j', (entry) => {
  expect(readOwnEntry(entry, '/anywhere/launcher.cjs')).toBeUndefined()
})
