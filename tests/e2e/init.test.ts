import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { targets } from '../../server/cli/init/target.ts'
import { settings } from '../../server/config/setting-table.ts'
import { parseSecretKeys } from '../../server/config/store-address.ts'
import { root } from '../deploy/deploy-files.ts'
import { freePort } from '../support/server/free-port.ts'
import { oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { type CommandEnd, runIn } from './command-process.ts'
import { childEnvironment, launcher, type ServerProcess, startServer } from './server-process.ts'

/** The sandbox's provider, over a socket of its own. */
let provider: ServerProcess
let oidc: OidcServer
beforeAll(async () => {
  provider = await startServer()
  oidc = await startOidcServer({ callbackUrl: 'http://localhost:8787/oauth/callback' })
})
afterAll(async () => {
  await oidc.close()
  await provider.close()
})

/** The folder of the command, with a home and the folder of an app beside it. */
let folder: string
const at = (...path: string[]): string => join(folder, ...path)
beforeEach(() => {
  const parent = temporaryFolder()
  folder = join(parent, 'mcp')
  mkdirSync(folder)
})

function write(path: string, text: string): void {
  mkdirSync(join(at(path), '..'), { recursive: true })
  writeFileSync(at(path), text)
}

const read = (path: string): string => readFileSync(at(path), 'utf8')
const mode = (path: string): number => statSync(at(path)).mode & 0o777
const envFile = (): NodeJS.Dict<string> => parseEnv(read('drawbridge.env'))

/** What the command said, its JSON if that is all. */
async function init(...argv: string[]): Promise<CommandEnd> {
  const end = await runIn(folder, ['init', ...argv])
  expect(end.stderr).not.toMatch(/^ +at /m)
  return end
}

interface Facts {
  files: string[]
  redirect_urls: string[]
  next: string
}

/** Initialises without a dialogue, which succeeds. */
async function initialised(...argv: string[]): Promise<Facts & { stderr: string }> {
  const { code, stdout, stderr } = await init('--yes', '--json', ...argv)
  expect(code, stderr).toBe(0)
  return { ...(JSON.parse(stdout) as Facts), stderr }
}

/** The Supabase project of tests: the sandbox's provider. */
const supabase = (): string[] => [
  '--provider',
  'supabase',
  '--provider-url',
  `${provider.appUrl}/auth/v1`,
  '--app-url',
  provider.appUrl,
]

/** Starts the server with exactly the settings in the file, and stops it once it is ready. Returns its ready line. */
async function started(): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, [launcher, '--json', '--env-file', 'drawbridge.env'], {
    cwd: folder,
    env: childEnvironment(at('..'), {}),
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve))
  let isEnded = false
  void ended.then(() => (isEnded = true))
  await until(
    () => isEnded || stdout.includes('"ready"'),
    () => `the server to be ready: ${stderr}`,
  )
  child.kill('SIGTERM')
  expect(await ended, stderr).toBe(0)
  return JSON.parse(stdout.split('\n')[0] ?? '') as Record<string, unknown>
}

describe('the files of init', () => {
  const providers: [name: string, argv: () => string[]][] = [
    ['supabase', supabase],
    [
      'oidc',
      () => [
        '--provider',
        'oidc',
        '--provider-url',
        oidc.issuer,
        '--provider-client-id',
        oidcClient.id,
        '--app-url',
        provider.appUrl,
      ],
    ],
    ['app', () => ['--provider', 'app', '--app-url', provider.appUrl]],
    ['none', () => ['--provider', 'none']],
  ]
  const known = new Set<string>(settings.map(variableOf))

  it.each(providers)(
    'a server for PROVIDER %s starts with exactly the file that init wrote',
    async (name, argv) => {
      const port = await freePort()
      const base = `http://localhost:${port}`
      const apart = name === 'none' ? ['--app-url', `http://localhost:${await freePort()}`] : []
      const {
        files,
        redirect_urls: redirects,
        next,
        stderr,
      } = await initialised(...argv(), ...apart, '--base-url', base, '--target', 'local')
      expect(files).toEqual(['drawbridge.env', 'secret-keys', 'tools.mjs', '.gitignore'])
      expect(readdirSync(folder).toSorted()).toEqual([...files].toSorted())
      expect([mode('drawbridge.env'), mode('secret-keys'), mode('tools.mjs')]).toEqual([0o600, 0o600, 0o644])
      expect(parseSecretKeys(read('secret-keys').trim())).toHaveLength(1)
      expect(read('.gitignore')).toBe('drawbridge.env\nsecret-keys\n.drawbridge/\n')
      for (const variable of Object.keys(envFile())) expect(known).toContain(variable)
      expect(envFile()['DRAWBRIDGE_LISTEN']).toBe(`127.0.0.1:${port}`)
      expect(stderr.includes("The app's server needs the DRAWBRIDGE_SIGN_IN_SECRET")).toBe(name === 'app')
      expect(redirects).toEqual(['supabase', 'oidc'].includes(name) ? [`${base}/oauth/callback`] : [])
      expect(next).toMatch(/^drawbridge-server (?:doctor )?--env-file drawbridge\.env$/)
      expect(await started()).toMatchObject({ mcp_url: `${base}/mcp`, event: 'ready' })
    },
  )

  it.each(['caddy', 'nginx'])(
    'a server behind %s starts with exactly the file that init wrote',
    async (target) => {
      const base = 'https://mcp.example.org'
      const listen = ['--listen', `127.0.0.1:${await freePort()}`]
      const { files } = await initialised(...supabase(), ...listen, '--base-url', base, '--target', target)
      const [file = ''] = targets[target]?.files ?? []
      expect(files).toContain(file)
      expect(read(file)).toContain('mcp.example.org')
      expect(envFile()['DRAWBRIDGE_TRUSTED_PROXIES']).toBe('127.0.0.1')
      expect(await started()).toMatchObject({ mcp_url: `${base}/mcp`, event: 'ready' })
    },
  )
})

describe('a Supabase app that init finds', () => {
  const url = (): string => new URL(provider.appUrl).origin
  const key = 'sb_publishable_test'
  const serviceKey = 'sb_secret_of_the_project'

  it.each([
    ['here', '.env.local'],
    ['above', '../.env.local'],
    ['next door', '../web/.env'],
  ])(
    'doctor finds nothing wrong with what init wrote for an app %s, which is asked for no flag',
    async (_where, path) => {
      const lines = [
        `SUPABASE_SERVICE_ROLE_KEY=${serviceKey}`,
        `SUPABASE_SECRET_KEY=${serviceKey}`,
        `NEXT_PUBLIC_SUPABASE_URL=${url()}`,
        `NEXT_PUBLIC_SUPABASE_ANON_KEY="${key}"`,
      ]
      write(path, lines.join('\n'))
      write(path.replace(/[^/]*$/, 'package.json'), '{ "devDependencies": { "vite": "8.0.0" } }')
      const { stderr, redirect_urls: redirects, next } = await initialised()
      expect(envFile()).toEqual({
        DRAWBRIDGE_APP_URL: 'http://localhost:5173',
        DRAWBRIDGE_PROVIDER: 'supabase',
        DRAWBRIDGE_PROVIDER_URL: `${url()}/auth/v1`,
        DRAWBRIDGE_PROVIDER_KEY: key,
        DRAWBRIDGE_SECRET_KEYS: 'file:secret-keys',
        DRAWBRIDGE_TOOLS: './tools.mjs',
      })
      expect(stderr).toContain(`_URL=${url()}/auth/v1, NEXT_PUBLIC_SUPABASE_URL of ${path}`)
      expect(stderr).toMatch(/^\d+ ok, .* 0 failed\./m)
      expect(stderr).not.toContain(key)
      expect(next).toBe('drawbridge-server --env-file drawbridge.env')
      expect(redirects).toEqual(['http://localhost:8787/oauth/callback'])
      for (const file of ['drawbridge.env', 'secret-keys', 'tools.mjs', '.gitignore'])
        expect(read(file)).not.toMatch(/sb_secret|service/i)
    },
  )

  it.each([
    ['VITE_SUPABASE_URL', 'VITE_SUPABASE_PUBLISHABLE_KEY'],
    ['PUBLIC_SUPABASE_URL', 'PUBLIC_SUPABASE_PUBLISHABLE_DEFAULT_KEY'],
    ['NEXT_PUBLIC_SUPABASE_URL', 'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_OR_ANON_KEY'],
    ['SUPABASE_URL', 'SUPABASE_ANON_KEY'],
  ])('init reads %s and %s', async (urlName, keyName) => {
    write('.env', `${urlName}=${url()}/\n${keyName}=${key}\nSITE_URL=http://localhost:4000`)
    await initialised()
    expect(envFile()).toMatchObject({
      DRAWBRIDGE_APP_URL: 'http://localhost:4000',
      DRAWBRIDGE_PROVIDER_URL: `${url()}/auth/v1`,
      DRAWBRIDGE_PROVIDER_KEY: key,
    })
  })

  it.each([
    ['a secret key', serviceKey],
    [
      'the key of the service role',
      `e30.${Buffer.from('{"role":"service_role"}').toString('base64url')}.e30`,
    ],
  ])('init refuses %s under the name of a public one, and repeats it nowhere', async (_what, secret) => {
    write('.env.local', `SUPABASE_URL=${url()}\nSUPABASE_ANON_KEY=${secret}\nSITE_URL=http://localhost:4000`)
    const { code, stdout, stderr } = await init('--yes', '--json')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^ {2}- SUPABASE_ANON_KEY of \.env\.local: a secret key, /m)
    expect(stdout + stderr).not.toContain(secret)
    expect(readdirSync(folder)).toEqual(['.env.local'])
  })

  it('init leaves a secret key under its own name where it is', async () => {
    write(
      '.env',
      `SUPABASE_URL=${url()}\nSUPABASE_SERVICE_ROLE_KEY=${serviceKey}\nSITE_URL=http://localhost:4000`,
    )
    const { stderr } = await initialised()
    expect(envFile()).not.toHaveProperty('DRAWBRIDGE_PROVIDER_KEY')
    expect(read('drawbridge.env') + stderr).not.toContain(serviceKey)
  })

  it('of two apps next door init takes neither', async () => {
    for (const name of ['one', 'two']) write(`../${name}/.env`, `SUPABASE_URL=https://${name}.supabase.co`)
    const { code, stderr } = await init('--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--provider: expected supabase')])
  })

  it('.env.local counts before .env, and flags before both', async () => {
    write('.env', `SUPABASE_URL=https://old.supabase.co\nSUPABASE_ANON_KEY=${key}`)
    write('.env.local', `SUPABASE_URL=${url()}\nAPP_URL=http://localhost:4000`)
    await initialised('--app-url', 'http://localhost:5000')
    expect(envFile()).toMatchObject({
      DRAWBRIDGE_PROVIDER_URL: `${url()}/auth/v1`,
      DRAWBRIDGE_PROVIDER_KEY: key,
      DRAWBRIDGE_APP_URL: 'http://localhost:5000',
    })
  })

  it('init ignores a link to an env file', async () => {
    write('../own/env', 'SUPABASE_URL=https://own.supabase.co')
    mkdirSync(at('../linked'))
    symlinkSync(at('../own/env'), at('../linked/.env'))
    const { code, stderr } = await init('--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--provider: expected')])
  })

  it.runIf(process.getuid?.() === 0)('init ignores the env file of another user of the machine', async () => {
    write('../evil/.env', 'SUPABASE_URL=https://evil.supabase.co')
    chownSync(at('../evil/.env'), 65_534, 65_534)
    const { code, stderr } = await init('--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--provider: expected')])
  })

  it('a project that does not answer is reported before anything is written, and doctor is next', async () => {
    write('.env', `SUPABASE_URL=http://127.0.0.1:${await freePort()}\nAPP_URL=http://localhost:4000`)
    const { stderr, next } = await initialised()
    expect(stderr.indexOf('cannot be reached: nothing listens there')).toBeLessThan(
      stderr.indexOf('To write in'),
    )
    expect(stderr).toMatch(/ [1-9] failed\./)
    expect(next).toBe('drawbridge-server doctor --env-file drawbridge.env')
  })
})

const skill = readFileSync(join(root, 'skills/drawbridge/SKILL.md'), 'utf8')
const lines = [...skill.matchAll(/^npx drawbridge-server (init .+)$/gm)].map(([, words = '']) => words)

it('the skill for coding agents shows a line for each provider', () => {
  for (const name of ['supabase', 'oidc', 'app', 'none'])
    expect(lines.filter((line) => line.includes(`--provider ${name} `))).toHaveLength(1)
  for (const name of Object.keys(targets)) expect(skill).toContain(`\`${name}\``)
})

it.each(lines)('the line of the skill for coding agents works: %s', async (line) => {
  // The project of the example would be looked for on the internet.
  write('../web/.env', `SUPABASE_URL=${provider.appUrl}\nSUPABASE_ANON_KEY=sb_publishable_test`)
  const { code, stdout, stderr } = await runIn(
    folder,
    line.replace('id.example.com', 'localhost:1').split(' '),
  )
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    files: { length: 4 },
    next: expect.stringContaining('drawbridge-server'),
  })
})

describe('what init refuses', () => {
  it.each<[what: string, argv: string[], text: string]>([
    ['nothing to look at', [], '--provider: expected supabase, oidc, app or none.'],
    ['an unknown provider', ['--provider', 'clerk'], '--provider: expected supabase, oidc, app or none.'],
    ['an unknown place', ['--provider', 'none', '--target', 'vercel'], '--target: expected local'],
    ['no project', ['--provider', 'supabase'], '--provider-url: needed for PROVIDER=supabase'],
    ['no address of the app', ['--provider', 'supabase'], '--app-url: needed for PROVIDER=supabase'],
    ['no client', ['--provider', 'oidc'], '--provider-client-id: needed for PROVIDER=oidc'],
    ['no app', ['--provider', 'app'], '--app-url: needed for PROVIDER=app'],
    [
      'a placeholder',
      ['--provider', 'supabase', '--provider-url', 'https://REF.supabase.co'],
      'REF stands for',
    ],
    [
      'http for others',
      ['--provider', 'none', '--base-url', 'http://mcp.example.com'],
      '--base-url: expected',
    ],
    [
      'a password in a flag',
      ['--provider', 'none', '--store', 'postgres://u:hunter2@localhost/d'],
      '--store: holds a password. Give it as DRAWBRIDGE_STORE.',
    ],
    ['a misspelt flag', ['--taget', 'local'], 'Did you mean --target?'],
    [
      'both kinds of tools',
      ['--provider', 'none', '--tools', 'a.mjs', '--upstream', 'http://127.0.0.1:1/mcp'],
      'not both',
    ],
  ])('init without a terminal exits with 2 for %s: %j', async (_what, argv, text) => {
    const { code, stdout, stderr } = await init(...argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(text)
    expect(stderr).not.toContain('hunter2')
    expect(readdirSync(folder)).toEqual([])
  })

  it('with --json a refusal is JSON with every fault', async () => {
    const { code, stdout } = await init('--json', '--provider', 'oidc')
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      errors: [
        expect.stringContaining('--provider-url'),
        expect.stringContaining('--provider-client-id'),
        expect.stringContaining('--app-url'),
      ],
      next_step: 'For flags and examples: drawbridge-server init --help',
    })
  })

  it.each(['drawbridge.env', 'drawbridge.env/'])('init replaces nothing: %s', async (path) => {
    if (path.endsWith('/')) mkdirSync(at(path))
    else write(path, 'mine')
    const { code, stderr } = await init('--provider', 'none', '--json')
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('There already: drawbridge.env.\nMove them away'),
    ])
    expect(readdirSync(folder)).toEqual(['drawbridge.env'])
    if (!path.endsWith('/')) expect(read(path)).toBe('mine')
  })

  it('with --force settings are replaced, while keys and tools stay and .gitignore grows once', async () => {
    write('.gitignore', 'node_modules\n.drawbridge/')
    chmodSync(at('.gitignore'), 0o640)
    write('tools.mjs', 'export const tools = []')
    await initialised('--provider', 'none')
    const keys = read('secret-keys')
    const { files } = await initialised('--provider', 'none', '--log', 'debug', '--force')
    expect(files).toEqual(['drawbridge.env'])
    expect(envFile()).toMatchObject({ DRAWBRIDGE_LOG: 'debug', DRAWBRIDGE_TOOLS: './tools.mjs' })
    expect([read('secret-keys'), read('tools.mjs')]).toEqual([keys, 'export const tools = []'])
    expect([read('.gitignore'), mode('.gitignore'), mode('drawbridge.env')]).toEqual([
      'node_modules\n.drawbridge/\ndrawbridge.env\nsecret-keys\n',
      0o640,
      0o600,
    ])
  })

  it('a link in the place of a file that is not written stays', async () => {
    for (const path of ['.env', '.env.local']) symlinkSync(at('../elsewhere'), at(path))
    await initialised('--provider', 'none')
    expect(readlinkSync(at('.env'))).toBe(at('../elsewhere'))
  })

  it.each(['drawbridge.env', 'secret-keys', 'tools.mjs', '.gitignore'])(
    'init follows no link in the place of %s, also with --force',
    async (path) => {
      symlinkSync(at('../elsewhere'), at(path))
      const { code, stderr } = await init('--provider', 'none', '--force')
      expect([code, stderr]).toEqual([1, expect.stringContaining(`A link is in the way: ${path}.`)])
      expect([readdirSync(folder), readlinkSync(at(path))]).toEqual([[path], at('../elsewhere')])
      expect(existsSync(at('../elsewhere'))).toBe(false)
    },
  )
})
