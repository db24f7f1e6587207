import { describe, expect, it } from 'vitest'
import {
  type BridgeConfig,
  createBridgeConfig,
  namesByOrigin,
  readSettings,
  type Surroundings,
} from './config-reader.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { readWords } from '../../tests/support/bridge/cli/command-words.ts'
import { version } from './version.ts'

const url = 'https://mcp.example.com/mcp'

interface Given {
  environment?: Record<string, string>
  files?: Record<string, string>
  platform?: NodeJS.Platform
  hostName?: string
}

function surroundingsOf({ environment = {}, files = {}, platform = 'linux', hostName }: Given): Surroundings {
  return {
    environment,
    ...(hostName !== undefined && { hostName }),
    homeFolder: '/home/me',
    platform,
    readText(path) {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error('no'), { code: 'ENOENT' })
      return text
    },
  }
}

function read(words: readonly string[], given: Given = {}): BridgeConfig {
  const surroundings = surroundingsOf(given)
  return createBridgeConfig(readSettings(readWords(words), surroundings), surroundings)
}

function problemsOf(words: readonly string[], given: Given = {}): readonly string[] {
  try {
    read(words, given)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

const configFile = '/home/me/.drawbridge/config.json'

describe('the configuration', () => {
  it('the configuration is complete for a URL alone', () => {
    expect(read([url])).toMatchObject({
      serverUrl: url,
      network: {
        connectTimeoutMs: 10_000,
        headersTimeoutMs: 300_000,
        bodyTimeoutMs: 300_000,
        proxy: undefined,
        ca: undefined,
      },
      oauth: {
        serverUrl: url,
        profile: 'default',
        grant: 'authorization_code',
        sendResource: true,
        callback: { host: '127.0.0.1', port: undefined, path: '/oauth/callback', isFixed: false },
        signInTimeoutMs: 300_000,
        prefersDevice: true,
      },
      credentials: { home: '/home/me/.drawbridge', backend: undefined, keychainTimeoutMs: 2500 },
      proxy: {
        version,
        transport: 'http-first',
        protocol: 'auto',
        headers: {},
        tools: { allow: [], deny: [] },
        retryMs: 10_000,
        watchdogMs: 12_000,
        pingMs: 0,
        signInWaitMs: 1000,
      },
      token: undefined,
      fixedBy: undefined,
      openBrowser: false,
      debug: false,
    })
  })

  it('one --timeout limits responses, pauses and sign-ins, and ten seconds of it connecting', () => {
    const limits = (text: string): number[] => {
      const { network, oauth } = read([url, '--timeout', text])
      return [
        network.connectTimeoutMs,
        network.headersTimeoutMs,
        network.bodyTimeoutMs,
        oauth.signInTimeoutMs,
      ]
    }
    expect(limits('15m')).toEqual([10_000, 900_000, 900_000, 900_000])
    expect(limits('2s')).toEqual([2000, 2000, 2000, 2000])
    expect(limits('off')).toEqual([10_000, 0, 0, 86_400_000])
  })

  it('the configuration pings a silent server only after the time for retries', () => {
    expect(read([url, '--retry', '1m']).proxy).toMatchObject({ retryMs: 60_000, watchdogMs: 62_000 })
  })

  it('the configuration takes flags over variables over the section of the server over the rest of the file', () => {
    const files = {
      [configFile]: JSON.stringify({
        retry: '1s',
        transport: 'http-only',
        profile: 'file',
        'keep-alive': true,
        servers: {
          'https://MCP.example.com:443/mcp': {
            transport: 'sse-first',
            scope: 'file',
            header: { 'X-A': '1', 'X-B': 2 },
          },
          'https://other.example/mcp': { transport: 'sse-only' },
        },
      }),
    }
    const config = read([url, '--scope', 'flag'], { files, environment: { DRAWBRIDGE_PROFILE: 'variable' } })
    expect(config.proxy).toMatchObject({
      retryMs: 1000,
      pingMs: 30_000,
      transport: 'sse-first',
      headers: { 'X-A': '1', 'X-B': '2' },
    })
    expect(config.oauth).toMatchObject({ profile: 'variable', scope: 'flag' })
  })

  it('the configuration reports the source of each setting', () => {
    const surroundings = surroundingsOf({
      environment: { DRAWBRIDGE_PROFILE: 'a', DRAWBRIDGE_SCOPE: '' },
      files: { [configFile]: '{"retry":5}' },
    })
    const line = readWords([url, '--debug'])
    expect(namesByOrigin(readSettings(line, surroundings))).toEqual({
      flag: ['debug'],
      variable: ['profile'],
      file: ['retry'],
    })
  })

  it('the configuration finds its file by --home and DRAWBRIDGE_HOME', () => {
    const files = { '/srv/a/config.json': '{"profile":"a"}', '/srv/b/config.json': '{"profile":"b"}' }
    const environment = { DRAWBRIDGE_HOME: '/srv/a' }
    expect(read([url], { files, environment })).toMatchObject({
      oauth: { profile: 'a' },
      credentials: { home: '/srv/a' },
    })
    expect(read([url, '--home', '/srv/b'], { files, environment }).oauth.profile).toBe('b')
  })

  it('the configuration reports every fault at once, and no value that may be secret', () => {
    const files = {
      [configFile]: '{"retyr":"5s","token":"SECRET","servers":{"https://x.example":{"retry":"SECRET"}}}',
    }
    const words = [
      'http://mcp.example.com/mcp',
      '99999',
      '--unknown',
      '--retry',
      'SECRET',
      '--header',
      'SECRET',
    ]
    const problems = problemsOf(words, { files, environment: { DRAWBRIDGE_TOKEN: 'SECRET SECRET' } })
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      '--unknown',
      '99999',
      `retyr of ${configFile}`,
      `token of ${configFile}`,
      '--header',
      '--retry',
      'DRAWBRIDGE_TOKEN',
      'http',
    ])
    expect(problems.join(' ')).not.toContain('SECRET')
  })

  it.each<[words: string[], problem: RegExp]>([
    [[], /URL of the server is missing/],
    [['mcp.example.com/mcp'], /Did you mean https:\/\/mcp\.example\.com\/mcp\?/],
    [['localhost:8787/mcp'], /begins with http:\/\/\. Did you mean http:\/\/localhost:8787\/mcp\?/],
    [['localhost/mcp'], /Did you mean http:\/\/localhost\/mcp\?/],
    [['127.0.0.1:8787/mcp'], /Did you mean http:\/\/127\.0\.0\.1:8787\/mcp\?/],
    [['[::1]:8787/mcp'], /Did you mean http:\/\/\[::1\]:8787\/mcp\?/],
    [['[2001:db8::1]:8787/mcp'], /Did you mean https:\/\/\[2001:db8::1\]:8787\/mcp\?/],
    [['mcp.example.com:99999/mcp'], /expected a URL that begins with https:\/\/\.$/],
    [['ftp://mcp.example.com'], /begins with https/],
    [['https://user:SECRET@mcp.example.com'], /contains a user name or password/],
    [[`${url}#x`], /without fragment/],
    [['http://10.0.0.1/mcp'], /plain http/],
    [[url, '3334', 'extra'], /Unexpected argument: extra/],
    [[url, '--callback', 'http://localhost:1/x', '--host', 'localhost'], /already contains the host/],
    [[url, '1', '--callback', 'http://localhost:1/x'], /put the port into the callback/],
    [[url, '--client-credentials'], /needs --static-oauth-client-info/],
    [
      [url, '--device-code', '--client-credentials', '--static-oauth-client-info', '{"client_id":"a"}'],
      /only one/,
    ],
    [[url, '--resource', 'https://a.example', '--disable-resource-parameter'], /only one/],
    [[url, '--transport', 'http'], /expected http-first, sse-first, http-only or sse-only/],
  ])('the configuration %j is refused', (words, problem) => {
    const problems = problemsOf(words)
    expect(problems.join('\n')).toMatch(problem)
    expect(problems.join('\n')).not.toContain('SECRET')
  })

  it.each<[content: string, problem: RegExp]>([
    ['{', /config\.json: is not valid JSON, line 1\.$/],
    ['{\n"a":1,\n}', /config\.json: is not valid JSON, line 3\.$/],
    ['{"token": SECRET}', /^(?!.*SECRET).*is not valid JSON\.$/],
    ['[]', /expected a JSON object/],
    ['{"servers":[]}', /expected servers to be an object/],
    ['{"servers":{"https://a.example":5}}', /https:\/\/a\.example: expected an object/],
    ['{"home":"/x"}', /cannot be set in a file/],
    ['{"scope":null}', /expected a value/],
    ['{"scope":["a","b"]}', /expected one value/],
  ])('a configuration file with %s is refused', (content, problem) => {
    expect(problemsOf([url], { files: { [configFile]: content } }).join('\n')).toMatch(problem)
  })

  it('a configuration file takes JSON where a flag takes its text', () => {
    const content = {
      'static-oauth-client-info': { client_id: 'a', client_secret: '${S}' },
      debug: true,
      open: false,
      'ignore-tool': ['a*', 'b'],
    }
    const config = read([url], {
      files: { [configFile]: JSON.stringify(content) },
      environment: { S: 'x', DISPLAY: ':0' },
    })
    expect(config.oauth.staticClient).toEqual({ clientId: 'a', clientSecret: 'x' })
    expect(config.debug).toBe(true)
    expect(config.openBrowser).toBe(false)
    expect(config.proxy.tools.deny).toEqual(['a*', 'b'])
  })

  it('the configuration warns of unknown variables, but not of those of the server', () => {
    const environment = {
      DRAWBRIDGE_PROFIEL: 'x',
      DRAWBRIDGE_BASE_URL: 'https://x.example',
      DRAWBRIDGE_STORE: 'memory:',
    }
    const { warnings, problems } = readSettings(readWords([url]), surroundingsOf({ environment }))
    expect(problems).toEqual([])
    expect(warnings).toEqual([
      'DRAWBRIDGE_PROFIEL: there is no such setting. Did you mean DRAWBRIDGE_PROFILE?',
    ])
  })

  it('the configuration takes a bearer token of a header out of the headers', () => {
    const config = read([url, '--header', 'authorization: Bearer ${T}', '--header', 'X: 1'], {
      environment: { T: 'abc' },
    })
    expect(config).toMatchObject({ token: 'abc', fixedBy: 'header' })
    expect(config.proxy.headers).toEqual({ X: '1' })
    const basic = read([url, '--header', 'Authorization: Basic abc'])
    expect(basic).toMatchObject({ token: undefined, fixedBy: 'other_header' })
    expect(basic.proxy.headers).toEqual({ Authorization: 'Basic abc' })
    const both = read([url, '--header', 'Authorization: Bearer x'], {
      environment: { DRAWBRIDGE_TOKEN: 'env' },
    })
    expect(both).toMatchObject({ token: 'env', fixedBy: 'environment' })
    expect(both.proxy.headers).toEqual({})
  })

  it('the configuration takes a key from a variable alone', () => {
    const key = 'A'.repeat(43)
    const environment = { DRAWBRIDGE_KEY: key }
    expect(read([url], { environment }).credentials.key).toBe(key)
    expect(problemsOf([url, '--key', key]).join(' ')).toContain('Use DRAWBRIDGE_KEY')
    const wrong = problemsOf([url], { environment: { DRAWBRIDGE_KEY: 'SECRET' } })
    expect(wrong.join(' ')).toMatch(/^DRAWBRIDGE_KEY: expected 32 bytes/)
    expect(wrong.join(' ')).not.toContain('SECRET')
    expect(problemsOf([url], { files: { [configFile]: `{"key":"${key}"}` } }).join(' ')).not.toContain(key)
    expect(problemsOf([url], { files: { [configFile]: '{"key":"short"}' } })).toEqual([
      `key of ${configFile}: cannot be set in a file. Use DRAWBRIDGE_KEY.`,
    ])
  })

  it('the configuration splits repeated variables', () => {
    const environment = { DRAWBRIDGE_HEADER: 'A: 1\nB: 2, 3', DRAWBRIDGE_IGNORE_TOOL: 'a, b*' }
    const { proxy } = read([url], { environment })
    expect(proxy.headers).toEqual({ A: '1', B: '2, 3' })
    expect(proxy.tools.deny).toEqual(['a', 'b*'])
  })

  it('the configuration has the redirect URI of mcp-remote when a port is given', () => {
    expect(read([url, '3334']).oauth.callback).toEqual({
      host: 'localhost',
      port: 3334,
      path: '/oauth/callback',
      isFixed: true,
    })
    expect(read([url, '3334'], { platform: 'win32' }).oauth.callback.host).toBe('127.0.0.1')
    expect(read([url, '3334', '--host', '127.0.0.1']).oauth.callback.host).toBe('127.0.0.1')
    expect(read([url, '--callback', 'http://localhost:9/x']).oauth.callback).toEqual({
      host: 'localhost',
      port: 9,
      path: '/x',
      isFixed: true,
    })
    expect(read([url, '--host', '127.0.0.1']).oauth.callback.isFixed).toBe(true)
  })

  it.each<[hostName: string | undefined, name: string]>([
    ['tower', 'Drawbridge bridge on tower'],
    ['Annas-MacBook.local', 'Drawbridge bridge on Annas-MacBook'],
    ['büro.fritz.box', 'Drawbridge bridge on büro'],
    [undefined, 'Drawbridge bridge'],
    ['', 'Drawbridge bridge'],
    ['localhost', 'Drawbridge bridge'],
    ['3f2a9c0d1e5b', 'Drawbridge bridge'],
    ['a\u001bb', 'Drawbridge bridge'],
    ['x'.repeat(64), 'Drawbridge bridge'],
  ])('the configuration registers on the computer %j as %j', (hostName, name) => {
    expect(read([url], hostName === undefined ? {} : { hostName }).oauth.clientName).toBe(name)
  })

  it('the configuration takes switches, and lets --debug be switched off again', () => {
    const environment = { DRAWBRIDGE_DEBUG: '1', DRAWBRIDGE_KEEP_ALIVE: 'on' }
    expect(read([url, '--no-debug'], { environment }).debug).toBe(false)
    expect(read([url], { environment }).proxy.pingMs).toBe(30_000)
  })
})

it.each<[environment: Record<string, string>, words: string[], proxy: BridgeConfig['network']['proxy']]>([
  [{}, [], undefined],
  [{ NO_PROXY: 'x' }, [], undefined],
  [
    { HTTPS_PROXY: 'proxy:3128', NO_PROXY: '.internal' },
    [],
    { http: undefined, https: 'http://proxy:3128/', noProxy: '.internal' },
  ],
  [
    { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:2' },
    [],
    { http: undefined, https: 'http://b:2/', noProxy: undefined },
  ],
  [{ HTTPS_PROXY: 'http://a:1' }, ['--no-proxy'], undefined],
  [
    { HTTPS_PROXY: 'http://a:1', no_proxy: 'x' },
    ['--proxy', 'c:3'],
    { http: 'http://c:3/', https: 'http://c:3/', noProxy: 'x' },
  ],
  [{ ALL_PROXY: 'http://a:1' }, [], { http: 'http://a:1/', https: 'http://a:1/', noProxy: undefined }],
  [{ ALL_PROXY: 'socks5://a:1' }, [], undefined],
  [{ HTTPS_PROXY: '' }, [], undefined],
])('the proxies of %j with %j are %j', (environment, words, proxy) => {
  expect(read([url, ...words], { environment }).network.proxy).toEqual(proxy)
})

it('a variable of the environment that is not a valid proxy is a fault', () => {
  const problems = problemsOf([url], { environment: { HTTPS_PROXY: 'socks5://user:SECRET@a:1' } })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(/^HTTPS_PROXY: expected the address of an HTTP proxy/)
  expect(problems[0]).not.toContain('SECRET')
})

it.each<[environment: Record<string, string>, platform: NodeJS.Platform, words: string[], opens: boolean]>([
  [{}, 'linux', [], false],
  [{ DISPLAY: ':0' }, 'linux', [], true],
  [{ WAYLAND_DISPLAY: 'wayland-0' }, 'linux', [], true],
  [{ BROWSER: 'firefox' }, 'linux', [], true],
  [{ DISPLAY: ':10', SSH_CONNECTION: '1 2 3 4' }, 'linux', [], false],
  [{}, 'darwin', [], true],
  [{}, 'win32', [], true],
  [{ SSH_TTY: '/dev/pts/1' }, 'darwin', [], false],
  [{}, 'linux', ['--open'], true],
  [{ DISPLAY: ':0' }, 'linux', ['--no-open'], false],
  [{ DISPLAY: ':0', DRAWBRIDGE_OPEN: 'off' }, 'linux', [], false],
])('the environment %j on %s with %j opens a browser: %s', (environment, platform, words, opens) => {
  expect(read([url, ...words], { environment, platform }).openBrowser).toBe(opens)
})

it.each<[environment: Record<string, string>, words: string[], prefers: boolean]>([
  [{}, [], true],
  [{ DISPLAY: ':10', SSH_CONNECTION: '1 2 3 4' }, [], true],
  [{ DISPLAY: ':0' }, [], false],
  [{}, ['--open'], false],
  [{}, ['--no-open'], false],
  [{ DRAWBRIDGE_OPEN: 'off' }, [], false],
  [{}, ['--no-device-code'], false],
  [{}, ['--callback', 'http://localhost:3118/callback'], false],
  [{}, ['--host', 'localhost'], false],
  [{}, ['3118'], false],
  [{}, ['--authorize-param', 'audience=api'], false],
  [{}, ['--scope', 'mcp', '--profile', 'work'], true],
])(
  'the environment %j with %j prefers a code on another device to the browser: %s',
  (environment, words, prefers) => {
    const { oauth } = read([url, ...words], { environment, platform: 'linux' })
    expect(oauth).toMatchObject({ grant: 'authorization_code', prefersDevice: prefers })
  },
)
