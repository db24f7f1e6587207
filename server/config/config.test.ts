import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { createConfig } from '../../tests/support/server/config-sample.ts'
import { type ServerConfig, type Settings, settings } from './setting-table.ts'

const development = { production: false }

function problemsOf(given: Settings, environment = development): readonly string[] {
  try {
    createConfig(given, environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

const jwtOf = (claims: object): string =>
  [{ alg: 'HS256' }, claims, {}]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')

describe('createConfig', () => {
  it('MCP transport Security-Warning: starts with nothing given: everything on this machine', () => {
    expect(createConfig({}, development)).toMatchObject({
      baseUrl: 'http://localhost:8787',
      listen: { host: '127.0.0.1', port: 8787 },
      appUrl: 'http://localhost:8788',
      provider: 'embedded',
      providerUrl: 'http://localhost:8788/auth/v1',
      providerIssuer: 'http://localhost:8788/auth/v1',
      providerAudience: 'authenticated',
      providerParameters: {},
      cookieName: 'sb-localhost-auth-token',
      allowedOrigins: ['http://localhost:8787', 'http://localhost:8788'],
      store: { kind: 'sqlite', path: join('.drawbridge', 'trial.db') },
      privateUseRedirectUris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
      trustedProxies: [],
      appName: 'Fieldnotes',
    })
  })

  it('a configuration cannot be changed after its creation', () => {
    expect(Object.isFrozen(createConfig({}, development))).toBe(true)
  })

  it.each<[rule: string, given: Settings, expected: Partial<ServerConfig>]>([
    [
      'the provider follows APP_URL, and the cookie its host',
      { appUrl: 'http://127.0.0.1:9000' },
      {
        providerUrl: 'http://127.0.0.1:9000/auth/v1',
        providerIssuer: 'http://127.0.0.1:9000/auth/v1',
        cookieName: 'sb-127-auth-token',
        allowedOrigins: ['http://localhost:8787', 'http://127.0.0.1:9000'],
      },
    ],
    [
      'origins carry no path',
      { baseUrl: 'http://localhost:9000/tools' },
      { allowedOrigins: ['http://localhost:9000', 'http://localhost:8788'] },
    ],
    [
      'given origins replace the default',
      { allowedOrigins: 'http://localhost:1' },
      { allowedOrigins: ['http://localhost:1'] },
    ],
  ])('the configuration: %s', (_rule, given, expected) => {
    expect(createConfig(given, development)).toMatchObject(expected)
  })
})

describe('faults', () => {
  it('faults of settings are reported at once, each with its name, the expected and the given value', () => {
    const problems = problemsOf({ baseUrl: 'nonsense', accessTokenTtl: '0', store: 'mysql:', log: 'loud' })
    expect(problems).toEqual([
      'baseUrl: expected an absolute URL, such as https://mcp.example.com; got "nonsense".',
      'accessTokenTtl: expected seconds, or a number with a unit, such as 90, 15m, 1h or 30d, up to 3650d; got "0".',
      'store: expected sqlite:PATH, postgres://HOST/DATABASE or memory:; got "mysql:".',
      'log: expected silent, error, info or debug; got "loud".',
    ])
    expect(new ConfigError(problems).message).toContain('4 faults')
    expect(new ConfigError(['x']).message).toContain('1 fault:')
  })

  it('faults of parsers and of combinations are reported together', () => {
    expect(problemsOf({ listen: '0.0.0.0:8787', log: 'loud' }, { production: true })).toEqual([
      expect.stringMatching(/^log: /),
      expect.stringMatching(/NODE_ENV=production/),
      expect.stringMatching(/^listen: /),
    ])
  })

  it('an unknown provider brings no rules of the embedded one', () => {
    expect(problemsOf({ provider: 'saml' }, { production: true })).toEqual([
      expect.stringMatching(/^provider: /),
    ])
  })

  it('faults never repeat a key, nor the password of a database', () => {
    const key = Buffer.alloc(31, 7).toString('base64')
    const expected = 'expected sqlite:PATH, postgres://HOST/DATABASE or memory:; got'
    expect(problemsOf({ secretKeys: `kid:${key}` })).toEqual([
      'secretKeys: expected kid:base64 with 32 bytes for each key; got the given value.',
    ])
    expect(problemsOf({ store: 'postgresq://drawbridge:hunter2@db.example/d' })).toEqual([
      `store: ${expected} "postgresq://...@db.example/d".`,
    ])
    expect(problemsOf({ store: 'postgresq://db.example/d?password=hunter2' })).toEqual([
      `store: ${expected} "postgresq://db.example/d?password=...".`,
    ])
  })

  it.each(['/*', '/a*b', '/a|b', '/:tenant', '/a/:b/c'])(
    'BASE_URL refuses the path %s, a pattern of routes',
    (path) => {
      expect(problemsOf({ baseUrl: `http://localhost:8787${path}` })).toEqual([
        `baseUrl: expected a path without "*", "|" and segments that begin with ":"; got "http://localhost:8787${path}".`,
      ])
    },
  )

  it.each(['https://user:hunter2@mcp.example.com', 'http://u:hunter2@a@b.example'])(
    'faults never repeat the password in %s',
    (baseUrl) => {
      expect(problemsOf({ baseUrl }).join(' ')).toMatch(/^baseUrl: expected/)
      expect(problemsOf({ baseUrl }).join(' ')).not.toContain('hunter2')
    },
  )
})

describe('the embedded provider', () => {
  it.each<[rule: string, given: Settings, problem: RegExp]>([
    ['a public BASE_URL', { baseUrl: 'https://mcp.example.com' }, /^baseUrl: .*loopback/],
    ['a public APP_URL', { appUrl: 'https://app.example.com' }, /^appUrl: .*loopback/],
    ['every interface', { listen: '0.0.0.0:8787' }, /^listen: .*loopback/],
    ['every IPv6 interface', { listen: '[::]:8787' }, /^listen: .*loopback/],
    ['a public address', { listen: '192.0.2.1:8787' }, /^listen: .*loopback/],
    ['another provider URL', { providerUrl: 'https://ref.supabase.co/auth/v1' }, /^providerUrl: /],
    ['an APP_URL with a path', { appUrl: 'http://localhost:8788/app' }, /^appUrl: .*root/],
    ['another issuer', { providerIssuer: 'https://issuer' }, /^providerIssuer: /],
    ['another audience', { providerAudience: 'all' }, /^providerAudience: /],
    ['a social method it has not', { social: 'google,github' }, /^social: .*google only/],
    ['one origin for both', { appUrl: 'http://localhost:8787' }, /^appUrl: .*origin of its own/],
  ])('the embedded provider refuses %s', (_rule, given, problem) => {
    expect(problemsOf(given)).toContainEqual(expect.stringMatching(problem))
  })

  it.each<Settings>([
    { listen: 'localhost:1' },
    { listen: '127.0.0.2:1' },
    { listen: '[::1]:1' },
    { baseUrl: 'http://[::1]:8787' },
    { baseUrl: 'http://127.0.0.1:8787/path' },
  ])('the embedded provider accepts %j', (given) => {
    expect(problemsOf(given)).toEqual([])
  })
})

describe('an outside provider', () => {
  const key = `a:${Buffer.alloc(32, 7).toString('base64')}`
  const supabase: Settings = {
    provider: 'supabase',
    providerUrl: 'https://ref.supabase.co/auth/v1',
    appUrl: 'https://app.example.com',
    baseUrl: 'https://mcp.example.com',
    secretKeys: key,
  }
  const oidc: Settings = {
    ...supabase,
    provider: 'oidc',
    providerUrl: 'https://tenant.example.com/',
    providerClientId: 'drawbridge',
  }

  const secret = 'a secret of thirty-two bytes ....'
  const app: Settings = {
    provider: 'app',
    appUrl: 'https://app.example.com/start',
    baseUrl: 'https://mcp.example.com',
    secretKeys: key,
    signInUrl: 'https://app.example.com/connect?from=assistant',
    signInSecret: secret,
  }

  it('app: the issuer is the origin of the web app, and the secret is taken without a line end', () => {
    const given = { ...app, signInSecret: `${secret}\n`, sessionUrl: 'http://localhost/session/' }
    expect(createConfig(given, { production: true })).toMatchObject({
      providerUrl: 'https://app.example.com',
      providerIssuer: 'https://app.example.com',
      signInUrl: 'https://app.example.com/connect?from=assistant',
      signInSecret: secret,
      sessionUrl: 'http://localhost/session/',
    })
  })

  it('app: a secret of fewer than 32 bytes is refused and not shown; the bytes count, not the characters', () => {
    const short = secret.slice(1)
    expect(problemsOf({ ...app, signInSecret: short })).toEqual([
      `signInSecret: expected at least 32 bytes, such as the output of node -p "crypto.randomBytes(32).toString('base64')"; got the given value.`,
    ])
    expect(problemsOf({ ...app, signInSecret: 'ä'.repeat(16) })).toEqual([])
  })

  it.each<[url: string, problem: RegExp]>([
    ['http://app.example.com/connect', /^signInUrl: expected an https URL/],
    ['https://user:pw@app.example.com/connect', /^signInUrl: expected an https URL/],
    ['https://other.example.com/connect', /^signInUrl: must be a page of the web app/],
    ['https://app.example.com:8443/connect', /^signInUrl: must be a page of the web app/],
  ])('app: SIGN_IN_URL is not %s', (signInUrl, problem) => {
    expect(problemsOf({ ...app, signInUrl })).toEqual([expect.stringMatching(problem)])
  })

  it('supabase: sign-in in the app takes a page and a client, and the client alone', () => {
    const client = { providerClientId: 'id', providerClientSecret: 'secret' }
    expect(problemsOf({ ...supabase, ...client })).toEqual([])
    expect(problemsOf({ ...supabase, ...client, signInUrl: 'https://app.example.com/connect' })).toEqual([])
  })

  it('embedded: the client of the sandbox is there also without SIGN_IN_URL, for sessions of an earlier start', () => {
    const signInUrl = 'http://localhost:8788/connect'
    const { providerClientId, providerClientSecret } = createConfig({ signInUrl }, development)
    expect(providerClientId).toMatch(/^[0-9a-f-]{36}$/)
    expect(createConfig({}, development)).toMatchObject({ providerClientId, providerClientSecret })
    expect(problemsOf({ signInUrl: 'http://localhost:9999/connect' })).toEqual([
      expect.stringMatching(/^signInUrl: must be a page of the web app/),
    ])
  })

  it('supabase: issuer, audience and cookie follow PROVIDER_URL', () => {
    expect(createConfig(supabase, { production: true })).toMatchObject({
      providerIssuer: 'https://ref.supabase.co/auth/v1',
      providerAudience: 'authenticated',
      cookieName: 'sb-ref-auth-token',
      allowedOrigins: ['https://mcp.example.com', 'https://app.example.com'],
    })
  })

  it.each<[name: string, given: Settings, path: string]>([
    ['the embedded provider', {}, join('.drawbridge', 'trial.db')],
    ['Supabase', supabase, join('.drawbridge', 'server.db')],
    ['any provider, as given', { ...supabase, store: 'sqlite:x.db' }, 'x.db'],
  ])(
    'the store of a trial is not that of a real provider, which knows none of its tokens: %s',
    (_, given, path) => {
      expect(createConfig(given, development).store).toEqual({ kind: 'sqlite', path })
    },
  )

  it('supabase: REF of the documentation is no project', () => {
    const given = { ...supabase, providerUrl: 'https://REF.supabase.co/auth/v1' }
    expect(problemsOf(given)).toEqual([expect.stringMatching(/^providerUrl: REF stands for/)])
  })

  it.each<[key: string, isRefused: boolean]>([
    ['sb_secret_abc', true],
    [jwtOf({ role: 'service_role' }), true],
    [jwtOf({ role: 'anon' }), false],
    ['sb_publishable_abc', false],
  ])('supabase: %s is a secret key, which is refused and not shown: %s', (providerKey, isRefused) => {
    const problems = problemsOf({ ...supabase, providerKey })
    expect(problems).toEqual(isRefused ? [expect.stringMatching(/^providerKey: a secret key/)] : [])
    expect(problems.join('\n')).not.toContain(providerKey)
  })

  it('oidc: the issuer is what was given, to its last slash, and bearers need an audience', () => {
    expect(createConfig(oidc, { production: true })).toMatchObject({
      providerIssuer: 'https://tenant.example.com/',
      providerAudience: undefined,
    })
  })

  it.each<[provider: string, given: Settings, missing: readonly string[]]>([
    ['supabase', { provider: 'supabase' }, ['providerUrl', 'appUrl', 'secretKeys']],
    ['oidc', { provider: 'oidc' }, ['providerUrl', 'providerClientId', 'appUrl', 'secretKeys']],
    ['app', { provider: 'app' }, ['signInUrl', 'signInSecret', 'appUrl', 'secretKeys']],
    [
      'supabase with a page of the app',
      { ...supabase, signInUrl: 'https://app.example.com/connect' },
      ['providerClientId', 'providerClientSecret'],
    ],
    ['supabase with half a client', { ...supabase, providerClientId: 'x' }, ['providerClientSecret']],
    ['supabase with the other half', { ...supabase, providerClientSecret: 'x' }, ['providerClientId']],
  ])('the provider %s reports every missing setting', (_provider, given, missing) => {
    const problems = problemsOf(given)
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(missing)
    for (const problem of problems) expect(problem).toContain('needed for PROVIDER=')
  })

  it.each<[field: keyof Settings, given: Settings]>([
    ['providerScope', { ...supabase, providerScope: 'openid' }],
    ['signInSecret', { ...supabase, signInSecret: secret }],
    ['sessionUrl', { ...supabase, sessionUrl: 'https://app.example.com/session' }],
    ['signInUrl', { ...oidc, signInUrl: 'https://app.example.com/connect' }],
    ['signInSecret', { ...oidc, signInSecret: secret }],
    ['sessionUrl', { ...oidc, sessionUrl: 'https://app.example.com/session' }],
    ['providerClientId', { providerClientId: 'x' }],
    ['signInSecret', { signInSecret: secret }],
    ['providerUrl', { ...app, providerUrl: 'https://app.example.com' }],
    ['providerIssuer', { ...app, providerIssuer: 'https://app.example.com' }],
    ['providerAudience', { ...app, providerAudience: 'authenticated' }],
    ['providerClientSecret', { ...app, providerClientSecret: 'x' }],
    ['password', { ...app, password: 'on' }],
    ['captcha', { ...app, captcha: 'turnstile:0x4' }],
    ['cookieName', { ...app, cookieName: 'session' }],
    ['embeddedTokenTtl', { ...app, embeddedTokenTtl: '60' }],
    ['providerParameters', { ...supabase, providerParameters: 'a=b' }],
    ['embeddedTokenTtl', { ...supabase, embeddedTokenTtl: '60' }],
    ['captcha', { ...oidc, captcha: 'turnstile:0x4' }],
    ['social', { ...oidc, social: 'google' }],
    ['secondFactor', { ...oidc, secondFactor: 'require' }],
  ])('the provider refuses %s where it has no meaning', (field, given) => {
    expect(problemsOf(given)).toEqual([expect.stringMatching(new RegExp(`^${field}: .*leave it out`))])
  })
})

it('the table of settings marks every key and secret', () => {
  expect(settings.filter(({ secret }) => secret).map(({ field }) => field)).toEqual([
    'providerKey',
    'providerJwtSecret',
    'providerClientSecret',
    'signInSecret',
    'secretKeys',
  ])
})
