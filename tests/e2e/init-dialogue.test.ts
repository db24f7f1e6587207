import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { launcher } from './server-process.ts'

let folder: string
beforeEach(() => {
  folder = join(temporaryFolder(), 'mcp')
  mkdirSync(folder)
})

interface Dialogue {
  /** Returns everything on the terminal, without colours and movements. */
  shown(): string
  type(text: string): void
  /** Waits for the end of a question, and answers it with a line. */
  answer(question: string, text: string): Promise<void>
  ended: Promise<number | null>
  process: ChildProcess
}

/** Runs init on a terminal of its own. */
function openTerminal(
  argv: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Dialogue {
  const command = ['exec', process.execPath, launcher, 'init', ...argv].join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: join(folder, '..'), TERM: 'xterm', ...environment },
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  // oxlint-disable-next-line no-control-regex
  const shown = (): string => output.replaceAll(/\u001B\[\d*[A-Za-z]|\r/g, '')
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve))
  let answered = 0
  const type = (text: string): void => void child.stdin.write(text)
  return {
    shown,
    type,
    async answer(question, text) {
      await until(
        () => shown().slice(answered).includes(question),
        () => `the question ${question}; so far:\n${shown()}`,
      )
      answered = shown().length
      type(`${text}\r`)
    },
    ended,
    process: child,
  }
}

const envFile = (): NodeJS.Dict<string> => parseEnv(readFileSync(join(folder, 'drawbridge.env'), 'utf8'))

describe.runIf(process.platform === 'linux')('the dialogue of init', () => {
  it('init asks what it cannot see, again after a wrong answer, shows what it will write, and asks once', async () => {
    const { answer, shown, ended } = openTerminal()
    await answer('none: try it out (supabase, oidc, app, none): ', 'clerk')
    await answer('  expected supabase, oidc, app or none.\n', 'oidc')
    await answer('Where will it run?', '')
    await answer('or the issuer: ', 'id.example.com')
    await answer('  expected an absolute URL, such as https://mcp.example.com.\n', 'http://127.0.0.1:1/realm')
    await answer('Client id at the provider: ', '')
    await answer('  expected an answer.\n', 'drawbridge')
    await answer('Client secret, which is not shown; empty for none: ', 'hunter2 # of "the" client')
    await answer('Address of your web app: ', 'http://localhost:3000')
    await answer('or URL of an MCP server [./tools.mjs]: ', '')
    await answer('Write them? (yes, no) [yes]: ', 'perhaps')
    await answer('  expected yes, no, y or n.\n', '')
    expect(await ended).toBe(0)
    expect(envFile()).toMatchObject({
      DRAWBRIDGE_PROVIDER: 'oidc',
      DRAWBRIDGE_PROVIDER_URL: 'http://127.0.0.1:1/realm',
      DRAWBRIDGE_PROVIDER_CLIENT_ID: 'drawbridge',
      DRAWBRIDGE_PROVIDER_CLIENT_SECRET: 'hunter2 # of "the" client',
      DRAWBRIDGE_APP_URL: 'http://localhost:3000',
      DRAWBRIDGE_TOOLS: './tools.mjs',
    })
    expect(shown()).not.toContain('hunter2')
    expect(shown()).toContain('DRAWBRIDGE_PROVIDER_CLIENT_SECRET (not shown)')
    expect(shown().match(/Write them/g)).toHaveLength(2)
    expect(shown()).toMatch(/\nNext: drawbridge-server doctor --env-file drawbridge\.env\n$/)
  })

  it('init asks for an app of Supabase next door where the server runs and for tools, and nothing that its files say', async () => {
    mkdirSync(join(folder, '..', 'web'))
    writeFileSync(
      join(folder, '..', 'web', '.env.local'),
      'NEXT_PUBLIC_SUPABASE_URL=http://127.0.0.1:1\nNEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY=sb_publishable_x',
    )
    writeFileSync(join(folder, '..', 'web', 'package.json'), '{ "dependencies": { "next": "16.0.0" } }')
    const { answer, shown, ended } = openTerminal()
    await answer('Where will it run?', '')
    await answer('Address of your web app [http://localhost:3000]: ', '')
    await answer('or URL of an MCP server [./tools.mjs]: ', 'http://127.0.0.1:9/mcp')
    await answer('Write them? (yes, no) [yes]: ', 'y')
    expect(await ended).toBe(0)
    expect(envFile()).toEqual({
      DRAWBRIDGE_APP_URL: 'http://localhost:3000',
      DRAWBRIDGE_PROVIDER: 'supabase',
      DRAWBRIDGE_PROVIDER_URL: 'http://127.0.0.1:1/auth/v1',
      DRAWBRIDGE_PROVIDER_KEY: 'sb_publishable_x',
      DRAWBRIDGE_SECRET_KEYS: 'file:secret-keys',
      DRAWBRIDGE_UPSTREAM: 'http://127.0.0.1:9/mcp',
    })
    expect(shown()).toContain('NEXT_PUBLIC_SUPABASE_URL of ../web/.env.local')
    expect(shown()).not.toContain('Who signs')
  })

  it('an empty line leaves out the client secret', async () => {
    const client = ['--provider-url', 'http://127.0.0.1:1/realm', '--provider-client-id', 'drawbridge']
    const others = ['--app-url', 'http://localhost:3000', '--target', 'local', '--tools', 'none']
    const argv = ['--provider', 'oidc', ...client, ...others]
    const { answer, shown, ended } = openTerminal(argv)
    await answer('empty for none: ', '')
    await answer('Write them? (yes, no) [yes]: ', '')
    expect(await ended).toBe(0)
    expect(shown()).not.toContain('expected an answer')
    expect(envFile()).not.toHaveProperty('DRAWBRIDGE_PROVIDER_CLIENT_SECRET')
  })

  it('settings that are there end init before it asks anything', async () => {
    writeFileSync(join(folder, 'drawbridge.env'), 'mine')
    const { shown, ended } = openTerminal()
    expect(await ended).toBe(1)
    expect(shown()).toMatch(/^drawbridge-server init failed\.\n {2}- There already: drawbridge\.env\.\n/)
  })

  it('a no writes nothing', async () => {
    const { answer, shown, ended } = openTerminal([
      '--provider',
      'none',
      '--target',
      'local',
      '--tools',
      'none',
    ])
    await answer('Write them? (yes, no) [yes]: ', 'no')
    expect(await ended).toBe(1)
    expect(shown()).toContain('Nothing was written.')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    ['Ctrl-C', '\u0003'],
    ['the end of the input', '\u0004'],
  ])('%s at a question writes nothing and ends with 1', async (_name, key) => {
    const { answer, type, shown, ended } = openTerminal(['--provider', 'none'])
    await answer('Where will it run?', '')
    await until(() => shown().includes('[./tools.mjs]'), 'the next question')
    type(key)
    expect(await ended).toBe(1)
    expect(shown()).toContain('Stopped. Nothing was written.')
    expect(readdirSync(folder)).toEqual([])
  })

  it('with --yes nothing is asked on a terminal', async () => {
    const { ended, shown } = openTerminal(['--provider', 'none', '--yes'])
    expect(await ended).toBe(0)
    expect(shown()).not.toContain('?')
    expect(readdirSync(folder).toSorted()).toEqual([
      '.gitignore',
      'drawbridge.env',
      'secret-keys',
      'tools.mjs',
    ])
  })
})
