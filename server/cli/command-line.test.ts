import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { freePort } from '../../tests/support/server/free-port.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { run } from './command-line.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => {
  vi.restoreAllMocks()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal)
})

type Settings = Readonly<Record<string, string>>

/** Runs a command line that is to end by itself; FOLDER stands for the folder of the test. */
async function runLine(
  argv: readonly string[],
  settings: Settings = {},
): Promise<{ code: number; stdout: string; stderr: string; faults: string[] }> {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      said[name] += String(text)
      return true
    })
  }
  const inFolder = (text: string): string => text.replaceAll('FOLDER', folder)
  const named = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, inFolder(value)])
  const code = await run(argv.map(inFolder), Object.fromEntries(named) as Settings)
  expect(said.stderr).not.toMatch(/^ +at /m)
  const faults = said.stderr.split('\n').filter((line) => line.startsWith('  - '))
  return { code, ...said, faults: faults.map((line) => line.slice(4)) }
}

it('--help prints usage, every command and examples, and exits with 0', async () => {
  const { code, stdout, stderr } = await runLine(['--help'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^Usage:[^]*\nExamples:\n/)
  for (const command of ['serve', 'doctor', 'migrate', 'keys']) {
    expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'))
  }
  expect(stdout).toContain('serve --help')
  expect(stdout).toMatch(/^ +(?:npx )?drawbridge-server /m)
  expect(stdout).toContain('Exit codes:')
  const serve = await runLine(['serve', '--help'])
  expect(serve.code).toBe(0)
  for (const flag of ['--base-url', '--listen', '--store', '--access-token-ttl', '--json']) {
    expect(serve.stdout).toContain(flag)
  }
})

it.each<[argv: string[], settings: Settings, texts: (string | RegExp)[]]>([
  [['--bas-url', 'http://localhost:1'], {}, ['unknown option', '--help', 'Did you mean --base-url?']],
  [['serv'], {}, ['unknown command', '--help', 'Did you mean serve?']],
  [['--'], {}, ['Behind -- there is nothing.']],
  [['--', 'npx', 'x'], { UPSTREAM: 'http://127.0.0.1:1/mcp' }, ['DRAWBRIDGE_UPSTREAM: /mcp offers this, or']],
  [
    ['--upstream', 'http://127.0.0.1:1/mcp', '--tools', 'x.mjs'],
    {},
    ['/mcp offers the tools of TOOLS or those of UPSTREAM'],
  ],
  [['keys', 'list', '--', 'npx'], {}, ['Only serve takes a command behind --.']],
])('the command line %j exits with 2 and says how to go on', async (argv, settings, texts) => {
  const { code, stdout, stderr } = await runLine(argv, settings)
  expect([code, stdout]).toEqual([2, ''])
  for (const text of texts) expect(stderr).toContain(text)
})

describe('the flag --env-file', () => {
  const lines = ['DRAWBRIDGE_STORE=sqlite:FOLDER/kept.db', 'DRAWBRIDGE_LOG=loud', 'DRAWBRIDGE_STOER=x']
  beforeEach(() => {
    writeFileSync(join(folder, 'a.env'), lines.join('\n').replaceAll('FOLDER', folder))
  })

  it.each<[argv: string[]]>([
    [['--env-file', 'FOLDER/a.env']],
    [['--env-file=FOLDER/a.env']],
    [['--env-file', 'FOLDER/a.env', 'grants', 'list']],
    [['--env-file=FOLDER/a.env', 'migrate', '--json']],
    [['migrate', '--env-file', 'FOLDER/a.env']],
    [['keys', 'list', '--env-file=FOLDER/a.env', '--json']],
    [['texts', 'fr', '--env-file', 'FOLDER/a.env']],
  ])('%j names each fault of the file with its line', async (argv) => {
    const { code, faults } = await runLine(argv)
    expect(code).toBe(2)
    expect(faults.map((fault) => fault.replaceAll(folder, 'FOLDER').replace(/: .*/, ''))).toEqual([
      'DRAWBRIDGE_STOER of FOLDER/a.env, line 3',
      'DRAWBRIDGE_LOG of FOLDER/a.env, line 2',
    ])
  })

  it('doctor says which settings a file has, and names them without their lines', async () => {
    writeFileSync(join(folder, 'a.env'), 'DRAWBRIDGE_STORE=memory:')
    const { stdout } = await runLine(['doctor', '--json', '--env-file', 'FOLDER/a.env'], { LOG: 'silent' })
    const { settings, checks } = JSON.parse(stdout) as { settings: object; checks: { message: string }[] }
    expect(settings).toEqual({ store: 'file', log: 'variable' })
    expect(checks[0]?.message).toBe('DRAWBRIDGE_STORE, DRAWBRIDGE_LOG; all others have their defaults.')
  })

  it('flags and the environment win over a file', async () => {
    const { faults } = await runLine(['migrate', '--log', 'debug', '--env-file', 'FOLDER/a.env'], {
      STOER: '',
    })
    expect(faults).toEqual([expect.stringMatching(/^DRAWBRIDGE_STOER: there is no such setting/)])
  })

  it.each([
    [['--env-file', 'FOLDER/missing.env'], '--env-file: file not found: FOLDER/missing.env.'],
    [['doctor', '--env-file', 'FOLDER'], '--env-file: FOLDER is a folder, not a file.'],
    [['doctor', '--env-file'], "option '--env-file <file>' argument missing"],
  ])('%j exits with 2 and says what is wrong', async (argv, text) => {
    const { code, stderr } = await runLine(argv)
    expect([code, stderr.replaceAll(folder, 'FOLDER')]).toEqual([2, expect.stringContaining(text)])
  })
})

describe('what keeps a server from starting', () => {
  it.each(['LISTEN', 'APP_URL'])(
    'a port of %s that is in use ends the server with 1 and a next step',
    async (which) => {
      const occupant = createServer()
      const [taken, free] = [await freePort(), await freePort()]
      await new Promise<void>((resolve) => occupant.listen(taken, '127.0.0.1', resolve))
      const [port, appPort] = which === 'LISTEN' ? [taken, free] : [free, taken]
      const { code, stdout, stderr } = await runLine([], {
        STORE: 'memory:',
        LISTEN: `127.0.0.1:${port}`,
        BASE_URL: `http://localhost:${port}`,
        APP_URL: `http://localhost:${appPort}`,
      })
      occupant.close()
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('EADDRINUSE')
      expect(stderr).toMatch(/take other ports/)
    },
  )

  it('a store that cannot be opened ends the server with 1 and a reason', async () => {
    writeFileSync(join(folder, 'server.db'), `SQLite format 3\0${'damaged '.repeat(1000)}`)
    const { code, stdout, stderr } = await runLine([], { STORE: 'sqlite:FOLDER/server.db' })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('drawbridge-server did not start.')
    expect(stderr).toContain(join(folder, 'server.db'))
  })
})

describe('a file that a setting names and that cannot be used', () => {
  const secret = 'hunter2'
  beforeEach(() => {
    mkdirSync(join(folder, 'kept'))
    for (const [name, content] of Object.entries({
      garbage: `not what belongs here: ${secret}`,
      'clients.json': '[{}, { "client_id": "with blank" }]',
      'tools.mjs': 'export const tools = [{}, { name: "a b" }]',
      'kept/secret-keys': secret,
    }))
      writeFileSync(join(folder, name), content)
  })

  it('serve reports every fault of files and settings at once, under the names they were given', async () => {
    const { code, stdout, stderr, faults } = await runLine(['--clients', 'FOLDER/clients.json'], {
      LISTEN: 'nowhere',
      STOER: 'memory:',
      STORE: 'sqlite:FOLDER',
      SECRET_KEYS: 'file:FOLDER/missing',
      TOOLS: 'FOLDER/tools.mjs',
    })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).not.toContain(secret)
    const names = faults.map((fault) => fault.replace(/: .*/, ''))
    expect(names.filter((name) => name !== 'DRAWBRIDGE_TOOLS').toSorted()).toEqual([
      '--clients',
      '--clients',
      'DRAWBRIDGE_LISTEN',
      'DRAWBRIDGE_SECRET_KEYS',
      'DRAWBRIDGE_STOER',
      'DRAWBRIDGE_STORE',
    ])
    expect(names.length).toBeGreaterThan(8)
  })

  it('serve reports a fault of the generated key file, which no setting names', async () => {
    const { code, stderr, faults } = await runLine([], { STORE: 'sqlite:FOLDER/kept/server.db' })
    expect([code, faults.length]).toEqual([2, 1])
    expect(faults[0]).toMatch(/^DRAWBRIDGE_SECRET_KEYS: .*kept\/secret-keys.*holds no key ring/)
    expect(stderr).not.toContain(secret)
  })

  const settings = {
    LOG: 'loud',
    STORE: 'sqlite:FOLDER',
    SECRET_KEYS: 'file:FOLDER/garbage',
    CLIENTS: 'FOLDER/garbage',
    TOOLS: 'FOLDER/tools.mjs',
  }

  it.each<[command: string, names: readonly string[]]>([
    ['migrate', ['LOG', 'STORE']],
    ['keys list', ['LOG', 'STORE', 'SECRET_KEYS']],
    ['keys rotate', ['LOG', 'STORE', 'SECRET_KEYS']],
    ['clients list', ['LOG', 'STORE', 'CLIENTS']],
    ['clients add --name One', ['LOG', 'STORE']],
    ['grants list', ['LOG', 'STORE']],
  ])('%s --json reports the faults of the files it uses: %j', async (command, names) => {
    const { code, stdout, stderr, faults } = await runLine([...command.split(' '), '--json'], settings)
    expect(code).toBe(2)
    expect(new Set(faults.map((fault) => fault.split(':')[0]))).toEqual(
      new Set(names.map((name) => `DRAWBRIDGE_${name}`)),
    )
    expect(faults).toHaveLength(names.length)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, errors: faults })
    expect(stderr + stdout).not.toContain(secret)
  })

  it('doctor reports faults of files beside those of other settings', async () => {
    const { code, stdout } = await runLine(['doctor', '--json'], settings)
    expect(code).toBe(1)
    const { checks } = JSON.parse(stdout) as { checks: { state: string; message: string; fix?: string }[] }
    const failed = checks.filter(({ state }) => state === 'fail')
    for (const name of Object.keys(settings)) {
      expect(failed.filter(({ message }) => message.startsWith(`DRAWBRIDGE_${name}: `)).length, name).toBe(
        name === 'TOOLS' ? 4 : 1,
      )
    }
    expect(failed.filter(({ fix }) => fix === undefined)).toEqual([])
  })
})
