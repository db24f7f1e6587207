import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { targets } from '../../server/cli/init/target.ts'
import { checkSettings } from '../../server/config/config.ts'
import { readSettings } from '../../server/config/setting-source.ts'
import { parseSecretKeys } from '../../server/config/store-address.ts'
import { read as readTemplate } from '../deploy/deploy-files.ts'
import { blocksOf } from '../docs/command-block.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { runIn } from './command-process.ts'
import type { ServerSettings } from './server-process.ts'

let folder: string
beforeEach(() => {
  folder = join(temporaryFolder(), 'mcp')
  mkdirSync(folder)
})

const at = (path: string): string => join(folder, path)
const read = (path: string): string => readFileSync(at(path), 'utf8')

interface Facts {
  files: string[]
  redirect_urls: string[]
  next: string
}

/** Secrets of the settings, which belong into the env file and nowhere else. */
const secrets: ServerSettings = {
  STORE: 'postgres://u:hunter2@db.example.org:6543/postgres?schema=drawbridge',
  PROVIDER_CLIENT_SECRET: 'the # "secret" of the client',
}
const providers: Record<string, { argv: string; settings: ServerSettings }> = {
  supabase: { argv: '--provider-url http://127.0.0.1:1', settings: { PROVIDER_KEY: 'sb_publishable_mine' } },
  oidc: {
    argv: '--provider-url http://127.0.0.1:1/realms/main --provider-client-id door',
    settings: { PROVIDER_CLIENT_SECRET: secrets['PROVIDER_CLIENT_SECRET'] ?? '' },
  },
  app: { argv: '', settings: {} },
}

/** Runs init for a place. */
async function initAt(target: string, provider: string, ...more: string[]): Promise<Facts> {
  const { argv = '', settings = {} } = providers[provider] ?? {}
  const words =
    `init --yes --json --target ${target} --provider ${provider} --base-url https://mcp.example.org ` +
    `--app-url https://app.example.org ${argv}`
  const store: ServerSettings = targets[target]?.needs.includes('store')
    ? { STORE: secrets['STORE'] ?? '' }
    : {}
  const { code, stdout, stderr } = await runIn(folder, [...words.trim().split(' '), ...more], {
    ...settings,
    ...store,
  })
  expect(code, stderr).toBe(0)
  for (const secret of ['hunter2', 'the # ', 'sb_publishable_mine'])
    expect(stdout + stderr).not.toContain(secret)
  return JSON.parse(stdout) as Facts
}

type Variables = Record<string, string>

const parseLines = (text: string): Variables => parseEnv(text) as Variables

/** The variables that the file of a place has, and its structure without them. */
const filesOfPlaces: Record<string, (text: string) => { variables: Variables; rest: unknown }> = {
  'fly.toml'(text) {
    const { env, ...rest } = parseToml(text)
    return { variables: env as Variables, rest: { ...rest, app: '' } }
  },
  'render.yaml'(text) {
    const { services } = parseYaml(text) as { services: { envVars: { key: string; value?: string }[] }[] }
    const [{ envVars, ...rest } = { envVars: [] }] = services
    const given = envVars.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]]))
    return { variables: Object.fromEntries(given) as Variables, rest: { ...rest, domains: [] } }
  },
  'railway.env': (text) => ({ variables: parseLines(text), rest: undefined }),
  'cloud-run.yaml': (text) => ({ variables: parseYaml(text) as Variables, rest: undefined }),
  'compose.yaml'(text) {
    const { services } = parseYaml(text) as { services: { drawbridge: { environment: Variables } } }
    return {
      variables: JSON.parse(
        JSON.stringify(services.drawbridge.environment).replace(/\$\{.*?\}/, 'x'),
      ) as Variables,
      rest: parseYaml(text),
    }
  },
  'railway.json': (text) => ({ variables: {}, rest: JSON.parse(text) }),
}

const cases = Object.keys(targets).flatMap((target) =>
  Object.keys(providers).map((provider) => [target, provider] as const),
)

describe('the files of a place', () => {
  it.each(cases)(
    'the files for %s with PROVIDER=%s have every setting, each secret in the env file alone',
    async (target, provider) => {
      const { files, redirect_urls: redirects, next } = await initAt(target, provider)
      const { kind, files: templates } = targets[target]!
      const envFile = kind === 'app' ? '.env.local' : 'drawbridge.env'
      const secret = kind === 'platform' ? ['DRAWBRIDGE_SECRET_KEYS'] : []
      if (kind === 'platform' && targets[target]!.needs.includes('store')) secret.push('DRAWBRIDGE_STORE')
      if (provider === 'app') secret.push('DRAWBRIDGE_SIGN_IN_SECRET')
      if (provider === 'oidc') secret.push('DRAWBRIDGE_PROVIDER_CLIENT_SECRET')
      const ofEnvFile = parseLines(read(envFile))
      if (kind === 'platform') expect(Object.keys(ofEnvFile).toSorted()).toEqual(secret.toSorted())
      else expect(Object.keys(ofEnvFile)).toEqual(expect.arrayContaining(secret))
      if (provider === 'oidc')
        expect(ofEnvFile['DRAWBRIDGE_PROVIDER_CLIENT_SECRET']).toBe(secrets['PROVIDER_CLIENT_SECRET'])

      const variables = { ...ofEnvFile }
      for (const name of templates.filter((each) => filesOfPlaces[each] !== undefined)) {
        const parsed = filesOfPlaces[name]!(read(name))
        for (const [variable, text] of Object.entries(parsed.variables))
          expect(typeof text, variable).toBe('string')
        expect(parsed.rest).toEqual(filesOfPlaces[name]!(readTemplate(`deploy/${name}`)).rest)
        Object.assign(variables, parsed.variables)
        const set = read(name)
          .replaceAll(/^\s*#.*$/gm, '')
          .match(/DRAWBRIDGE_\w+/g)
        expect(set ?? []).toEqual([...new Set(set)])
        if (kind === 'platform')
          expect(read(name)).not.toMatch(/hunter2|the # |SIGN_IN_SECRET(?!\n +sync: false)/)
      }
      const { config, problems } = checkSettings(readSettings({}, variables), { production: true })
      expect(problems).toEqual([])
      expect(config).toMatchObject({
        provider,
        baseUrl: 'https://mcp.example.org',
        appUrl: 'https://app.example.org',
      })
      const tools = {
        folder: './tools.mjs',
        app: undefined,
        image: '/etc/drawbridge/tools.mjs',
        platform: '/etc/drawbridge/tools.mjs',
      }
      expect(config.tools).toBe(tools[kind])

      for (const path of files) {
        const lines = read(path).replaceAll(/^\s*(?:#|\/\/).*$/gm, '')
        expect(lines, path).not.toMatch(/example\.com|REF\.supabase|my-tools|drawbridge-example/)
      }
      for (const path of [envFile, 'secret-keys', ...(kind === 'image' ? ['.env'] : [])]) {
        expect([path, statSync(at(path)).mode & 0o777]).toEqual([path, 0o600])
        expect(read('.gitignore').split('\n')).toContain(path)
      }
      expect(parseSecretKeys(read('secret-keys').trim())).toHaveLength(1)
      expect(redirects.length > 0).toBe(provider !== 'app')
      const [, page = '', anchor = ''] = /(docs\/[\w-]+\.md)#([\w-]+)$/.exec(next) ?? []
      expect(page !== '').toBe(kind === 'platform')
      // The proxies of Fly.io have addresses that only the person can get.
      expect(next.includes('fly ips allocate-v4 --shared')).toBe(target === 'fly')
      if (page !== '')
        expect(readTemplate(page).toLowerCase().replaceAll('.', '')).toContain(
          `\n## ${anchor.replace('-', ' ')}\n`,
        )
    },
  )

  it.each([
    ['mine.mjs', 'rules.json'],
    // The names in the examples of deploy/.
    ['my-tools.mjs', 'access.json'],
  ])('an image copies %s and %s from where they are in the folder', async (tools, rules) => {
    mkdirSync(at('lib'))
    writeFileSync(at(`lib/${tools}`), 'export const tools = []')
    const { files } = await initAt('fly', 'supabase', '--tools', `./lib/${tools}`, '--access', `lib/${rules}`)
    expect(files).not.toContain('tools.mjs')
    expect(parseToml(read('fly.toml'))['env']).toMatchObject({
      DRAWBRIDGE_TOOLS: `/etc/drawbridge/${tools}`,
      DRAWBRIDGE_ACCESS: `/etc/drawbridge/${rules}`,
    })
    const [copied = ''] = /^COPY .*/m.exec(read('Dockerfile')) ?? []
    expect(copied.split(' ')).toEqual(expect.arrayContaining([`lib/${tools}*`, `lib/${rules}*`]))
    expect(read('.dockerignore').split('\n')).toEqual(
      expect.arrayContaining([`!lib/${tools}`, `!lib/${rules}`]),
    )
  })

  it.each(['fly', 'railway', 'render', 'cloud-run'])(
    'a setting that %s has a value for is the one that is given',
    async (target) => {
      await initAt(target, 'supabase', '--trusted-proxies', 'private, 198.51.100.7')
      const name = targets[target]?.files.find((file) => file !== 'railway.json') ?? ''
      const { variables } = filesOfPlaces[name]!(read(name))
      expect(variables['DRAWBRIDGE_TRUSTED_PROXIES']).toBe('private, 198.51.100.7')
      expect(read(name).match(/DRAWBRIDGE_TRUSTED_PROXIES/g)).toHaveLength(1)
    },
  )

  it('with an upstream a place has no tools', async () => {
    await initAt('railway', 'supabase', '--upstream', 'http://10.0.0.9:9000/mcp')
    const variables = parseLines(read('railway.env'))
    expect(variables).toMatchObject({ DRAWBRIDGE_UPSTREAM: 'http://10.0.0.9:9000/mcp' })
    expect(variables).not.toHaveProperty('DRAWBRIDGE_TOOLS')
  })

  it('settings with characters of the file get there as they are', async () => {
    const name = `It's "#1": \\o/`
    for (const [target, path] of [
      ['fly', 'fly.toml'],
      ['render', 'render.yaml'],
      ['railway', 'railway.env'],
      ['cloud-run', 'cloud-run.yaml'],
    ] as const) {
      await initAt(
        target,
        'supabase',
        '--app-name',
        name,
        '--app-accent',
        '#6d28d9',
        '--call-limit',
        'off',
        '--force',
      )
      expect(filesOfPlaces[path]!(read(path)).variables, path).toMatchObject({
        DRAWBRIDGE_APP_NAME: name,
        DRAWBRIDGE_APP_ACCENT: '#6d28d9',
        DRAWBRIDGE_CALL_LIMIT: 'off',
      })
    }
  })

  it.each([
    ['caddy', ['--provider', 'supabase'], '--base-url: needed for --target caddy'],
    [
      'cloud-run',
      ['--provider', 'supabase'],
      'DRAWBRIDGE_STORE: needed for --target cloud-run: the URL of a Postgres. As a secret it has no flag: set the variable.',
    ],
    ['fly', ['--provider', 'none'], '--provider: none is for trying it out on this computer'],
    [
      'nextjs',
      ['--provider', 'app'],
      'DRAWBRIDGE_STORE: needed for --target nextjs: the URL of a Postgres. As a secret it has no flag: set the variable.',
    ],
    ['fly', ['--provider', 'app', '--tools', '../mine.mjs'], '--tools: must be in this folder'],
    ['fly', ['--provider', 'app', '--upstream', '/srv/up.json'], '--upstream: must be in this folder'],
    ['nextjs', ['--provider', 'app', '--tools', '../mine.ts'], '--tools: must be in this folder'],
    [
      'caddy',
      ['--provider', 'app', '--base-url', 'https://a.example.org/mcp'],
      '--base-url: the files are for a host without a path',
    ],
  ])('init for %s with %j exits with 2', async (target, argv, text) => {
    const { code, stderr } = await runIn(folder, ['init', '--yes', '--target', target, ...argv])
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)])
  })

  it('an app that is only developed here is not the app of a public place', async () => {
    writeFileSync(at('.env'), 'SUPABASE_URL=http://127.0.0.1:1\nSITE_URL=http://localhost:4000')
    const { code, stderr } = await runIn(folder, [
      'init',
      '--yes',
      '--target',
      'caddy',
      '--base-url',
      'https://mcp.example.org',
    ])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--app-url: needed')])
  })

  it('PORT of this computer is not written', async () => {
    const { code } = await runIn(folder, ['init', '--yes', '--provider', 'none'], {})
    expect(code).toBe(0)
    expect(read('drawbridge.env')).not.toContain('LISTEN')
  })
})

describe('a Next.js app', () => {
  const [route = '', config = '', toolsFile = ''] = blocksOf('docs/nextjs.md')
    .filter(({ language }) => language === 'ts')
    .map(({ text }) => text)
  const page = [route, config, toolsFile]

  it.each([
    ['', 'npm install', undefined],
    ['src/', 'pnpm add', 'pnpm-lock.yaml'],
    ['', 'yarn add', 'yarn.lock'],
    ['', 'bun add', 'bun.lock'],
  ])(
    'init writes the files of docs/nextjs.md below "%s", settings into .env.local, and ends with %s',
    async (source, add, lock) => {
      mkdirSync(at(`${source}app`), { recursive: true })
      writeFileSync(at('package.json'), '{ "dependencies": { "next": "16.0.0" } }')
      writeFileSync(at(`${source}proxy.ts`), '')
      if (lock !== undefined) writeFileSync(at(lock), '')
      const lines = [
        'NEXT_PUBLIC_SUPABASE_URL=http://127.0.0.1:1',
        'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY=sb_publishable_mine',
        String.raw`POSTGRES_URL=postgres://u:hunter2$x@127.0.0.1:1/postgres`,
      ]
      writeFileSync(at('.env.local'), lines.join('\n'))
      const { code, stdout, stderr } = await runIn(folder, ['init', '--yes', '--json'])
      expect(code, stderr).toBe(0)
      expect(stdout + stderr).not.toContain('hunter2')
      const { files, redirect_urls: redirects } = JSON.parse(stdout) as Facts
      const route = `${source}app/drawbridge/[[...path]]/route.ts`
      expect(files).toEqual([
        '.env.local',
        'secret-keys',
        `${source}drawbridge-tools.ts`,
        '.gitignore',
        route,
        'next.config.drawbridge.ts',
      ])
      expect([read(route), read('next.config.drawbridge.ts'), read(`${source}drawbridge-tools.ts`)]).toEqual(
        page,
      )
      expect(read('.env.local').startsWith(`${lines.join('\n')}\nDRAWBRIDGE_`)).toBe(true)
      expect(parseLines(read('.env.local'))).toMatchObject({
        DRAWBRIDGE_BASE_URL: 'http://localhost:3000',
        DRAWBRIDGE_APP_URL: 'http://localhost:3000',
        DRAWBRIDGE_STORE: String.raw`postgres://u:hunter2\$x@127.0.0.1:1/postgres?schema=drawbridge`,
      })
      expect(redirects).toEqual(['http://localhost:3000/oauth/callback'])
      expect(stderr).toContain(`out of the matcher in ${source}proxy.ts: docs/nextjs.md`)
      expect(targets['nextjs']?.next.replace('npm install', add)).toContain(`${add} drawbridge-server`)
    },
  )

  it('settings of Drawbridge in .env.local are in the way, and replaced with --force, while all else there stays', async () => {
    writeFileSync(at('package.json'), '{ "dependencies": { "next": "16.0.0" } }')
    writeFileSync(at('.env.local'), 'A=1\nDRAWBRIDGE_LOG=debug\nB=2\n')
    const { code, stderr } = await runIn(
      folder,
      ['init', '--yes', '--provider', 'app', '--app-url', 'http://localhost:3000'],
      { STORE: secrets['STORE'] ?? '' },
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('There already: .env.local.')])
    await initAt('nextjs', 'app', '--force')
    expect(read('.env.local')).toMatch(/^A=1\nB=2\nDRAWBRIDGE_BASE_URL=/)
    expect(read('.env.local')).not.toContain('LOG')
  })

  it('an empty .env.local is not in the way', async () => {
    writeFileSync(at('.env.local'), '')
    await initAt('nextjs', 'app')
    expect(read('.env.local')).toMatch(/^DRAWBRIDGE_BASE_URL=/)
  })

  it('the route imports tools of the app, or none', async () => {
    writeFileSync(at('package.json'), '{ "dependencies": { "next": "16.0.0" } }')
    await initAt('nextjs', 'app', '--tools', './src/lib/mine.ts')
    expect(read('app/drawbridge/[[...path]]/route.ts')).toContain("import * as tools from '@/lib/mine'\n")
    await initAt('nextjs', 'app', '--tools', 'none', '--force')
    expect(read('app/drawbridge/[[...path]]/route.ts')).not.toMatch(/\btools\b/)
    expect(read('app/drawbridge/[[...path]]/route.ts')).toContain(
      'createDrawbridge(environmentSettings(), { waitUntil: after })',
    )
  })
})
