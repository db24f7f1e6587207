import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { ConfigError } from '../../config/config.ts'
import { clients } from '../../install/client-table.ts'
import { launcherPath, steadyNodePath } from '../../install/program-path.ts'
import { recordedTerminal } from '../../../tests/support/bridge/cli/command-run.ts'
import { readWords } from '../../../tests/support/bridge/cli/command-words.ts'
import type { CommandInput, CommandOptions } from '../command.ts'
import { CommandFailure } from '../failure/failure-text.ts'
import { install } from './install.ts'
import type { InstallPlace } from './install-entry.ts'
import { uninstall } from './uninstall.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const url = 'https://mcp.example.com/mcp'
const place: InstallPlace = {
  node: '/opt/node/bin/node',
  launcher: '/opt/mcp-drawbridge/launcher.cjs',
  projectFolder: '',
  temporaryFolders: ['/tmp'],
}
let home: string
beforeEach(() => void (home = temporaryFolder()))

interface Run {
  code: number | undefined
  error: CommandFailure | undefined
  out: string
  notes: string
}

interface RunOptions {
  options?: CommandOptions
  environment?: Record<string, string>
  json?: boolean
  /** What a person in front of a terminal types. */
  answer?: string
  place?: Partial<InstallPlace>
  command?: 'install' | 'uninstall'
}

async function run(words: readonly string[], given: RunOptions = {}): Promise<Run> {
  const { terminal, stdout, stderr } = recordedTerminal(given.answer !== undefined, given.answer)
  const commandInput: CommandInput = {
    line: readWords(words),
    surroundings: {
      environment: given.environment ?? {},
      homeFolder: home,
      platform: 'linux',
      readText: (path) => readFileSync(path, 'utf8'),
    },
    json: given.json === true,
    options: given.options ?? {},
    runtime: { now: () => 1_800_000_000 } as Runtime,
    terminal,
  }
  const where = { ...place, projectFolder: join(home, 'project'), ...given.place }
  const result: Run = { code: undefined, error: undefined, out: '', notes: '' }
  try {
    const command = given.command === 'uninstall' ? uninstall : install
    result.code = await command(commandInput, where)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    result.error = error
  }
  return { ...result, out: stdout(), notes: stderr() }
}

const cursorFile = (): string => join(home, '.cursor', 'mcp.json')

function cursorEntries(): Record<string, { command: string; args: string[]; env?: Record<string, string> }> {
  const { mcpServers } = JSON.parse(readFileSync(cursorFile(), 'utf8')) as {
    mcpServers: ReturnType<typeof cursorEntries>
  }
  return mcpServers
}

function writeCursor(servers: unknown): void {
  mkdirSync(dirname(cursorFile()), { recursive: true })
  writeFileSync(cursorFile(), JSON.stringify({ mcpServers: servers }))
}

const argsOf = async (words: readonly string[], given: RunOptions = {}): Promise<readonly string[]> => {
  const { out } = await run(['cursor', ...words], { ...given, json: true, options: { print: true } })
  return (JSON.parse(out) as { entry: { args: string[] } }).entry.args
}

describe('install', () => {
  it('writes the entry, shows it, and says what comes next', async () => {
    const { code, notes, out } = await run(['cursor', url, '--profile', 'work'])
    expect(code).toBe(0)
    expect(cursorEntries()).toEqual({
      'example-com': {
        type: 'stdio',
        command: place.node,
        args: [place.launcher, url, '--profile', 'work'],
      },
    })
    expect(notes).toContain(`+      "command": "${place.node}"`)
    expect(notes).toContain(`drawbridge login ${url} --profile work`)
    expect(notes).toContain(`Cursor has the new entry example-com in ${cursorFile()}.`)
    expect(out).toBe('')
    const changed = await run(['cursor', url])
    expect(changed.notes).toContain(`Cursor has the changed entry example-com in ${cursorFile()}.`)
    const { notes: same } = await run(['cursor', url], { answer: 'n\n' })
    expect(same).toBe(`Cursor has this entry already, as example-com in ${cursorFile()}.`)
  })

  it('says of a client without files of projects which flag to leave out', async () => {
    const { error } = await run(['windsurf', url], { options: { project: true } })
    expect(error).toMatchObject({ exit: 2, nextStep: 'Leave out --project.' })
  })

  it('takes a name, and the file of a project', async () => {
    const { notes } = await run(['cursor', url], { options: { name: 'mine', project: true } })
    expect(notes).toContain('paths in the entry are those of this computer')
    expect(readFileSync(join(home, 'project', '.cursor', 'mcp.json'), 'utf8')).toContain('"mine"')
  })

  it.each<[answer: string, code: number, options?: CommandOptions]>([
    ['\n', 0],
    ['y\n', 0],
    ['n\n', 1],
    ['what?\n', 1],
    ['', 1],
    ['', 0, { yes: true }],
  ])('asks a person, unless told not to: %j', async (answer, code, options = {}) => {
    const result = await run(['cursor', url], { answer, options })
    expect(result.code).toBe(code)
    expect(result.notes.includes('Write that? [Y/n]')).toBe(options.yes !== true)
    expect(existsSync(cursorFile())).toBe(code === 0)
  })

  it('replaces an entry of somebody else only when that is said', async () => {
    const theirs = { 'example-com': { command: 'npx', args: ['mcp-remote', url] } }
    writeCursor(theirs)
    const refused = await run(['cursor', url], { options: { yes: true } })
    expect(refused.error).toMatchObject({ exit: 1, nextStep: expect.stringContaining('--force') as string })
    expect(refused.notes).toContain('mcp-remote')
    expect((await run(['cursor', url], { answer: '\n', options: { yes: true } })).code).toBe(1)
    expect(cursorEntries()).toEqual(theirs)
    expect((await run(['cursor', url], { answer: 'yes\n' })).code).toBe(0)
    expect(cursorEntries()['example-com']?.command).toBe(place.node)
    writeCursor(theirs)
    const forced = await run(['cursor', url], { options: { force: true } })
    expect(forced.notes).toContain(
      `Cursor has the entry example-com in ${cursorFile()}, in place of another.`,
    )
  })

  it('shows the difference and writes nothing with --dry-run', async () => {
    const { out, code } = await run(['cursor', url], { options: { dryRun: true } })
    expect(code).toBe(0)
    expect(out).toContain('+    "example-com": {')
    expect(existsSync(cursorFile())).toBe(false)
  })

  it('shows what to paste with --print, also from a cache', async () => {
    const launcher = '/home/ada/.npm/_npx/1/node_modules/mcp-drawbridge/launcher.cjs'
    const { out, notes } = await run(['codex', url], { options: { print: true }, place: { launcher } })
    expect(out).toBe(`[mcp_servers.example-com]\ncommand = "${place.node}"\nargs = ["${launcher}", "${url}"]`)
    expect(notes).toContain(join(home, '.codex', 'config.toml'))
    expect(notes).toContain('will not stay there')
  })

  it('answers programs with one object', async () => {
    const { out, notes } = await run(['cursor', url], { json: true })
    expect(JSON.parse(out)).toEqual({
      ok: true,
      did: 'added',
      client: 'cursor',
      name: 'example-com',
      file: cursorFile(),
      backup: null,
      diff: expect.stringContaining('+') as string,
      entry: { type: 'stdio', command: place.node, args: [place.launcher, url] },
      snippet: null,
    })
    expect(notes).toBe('')
  })

  it('does not run from a cache, unless forced', async () => {
    const launcher = '/home/ada/.npm/_npx/1/node_modules/mcp-drawbridge/launcher.cjs'
    const { error } = await run(['cursor', url], { place: { launcher } })
    expect(error).toMatchObject({
      exit: 1,
      nextStep: expect.stringContaining('Install the bridge (npm ') as string,
    })
    const shown = await run(['cursor', url], { place: { launcher }, options: { dryRun: true } })
    expect(shown).toMatchObject({ code: 0, notes: expect.stringContaining('will not stay there') as string })
    expect(existsSync(cursorFile())).toBe(false)
    expect((await run(['cursor', url], { place: { launcher }, options: { force: true } })).code).toBe(0)
  })

  it('shows what to paste when a file is broken', async () => {
    mkdirSync(dirname(cursorFile()))
    writeFileSync(cursorFile(), '{')
    const { error, notes } = await run(['cursor', url])
    expect(error).toMatchObject({ exit: 1, message: expect.stringContaining('line 1, column 2') as string })
    expect(notes).toContain('To paste by hand:')
    expect(readFileSync(cursorFile(), 'utf8')).toBe('{')
  })

  it('alone lists the clients, and how to go on', async () => {
    const { code, out, notes } = await run([])
    expect(code).toBe(0)
    expect(out).toMatch(/^ *cursor +Cursor$/m)
    expect(out.split('\n')).toHaveLength(clients.length)
    expect(notes).toBe('drawbridge install <client> <url>')
    const { clients: listed } = JSON.parse((await run([], { json: true })).out) as { clients: object[] }
    expect(listed).toContainEqual({ id: 'cursor', title: 'Cursor' })
  })

  it.each([
    [['cursor', url, '--header', 'Authorization: Bearer s3cret'], 'plain text'],
    [['cursor', 'https://u:s3cret@a.example/mcp'], 'plain text'],
    [['cursor', url, '--header', 'X-A: b c'], 'blank'],
    [['atom', url], 'not a known client'],
  ])('refuses %j', async (words, message) => {
    const { error, notes } = await run(words)
    expect(error).toMatchObject({ exit: 2, message: expect.stringContaining(message) as string })
    expect(`${String(error?.message)}${String(error?.nextStep)}${notes}`).not.toContain('s3cret')
    expect(existsSync(cursorFile())).toBe(false)
  })

  it.each([
    [['cursor']],
    [['cursor', 'ftp://a.example']],
    [['cursor', url, '--what']],
    [['cursor', url, '--retry', 'soon']],
    [['cursor', url, '1', '2']],
  ])('finds faults as a connection does: %j', async (words) => {
    await expect(run(words)).rejects.toThrow(ConfigError)
  })
})

describe('the words of an entry', () => {
  it('are those that were given, files with their whole path, and the port', async () => {
    mkdirSync(join(home, 'project'))
    const project = join(home, 'project')
    writeFileSync(join(project, 'h.txt'), 'X-A: b')
    writeFileSync(join(project, 'client.json'), '{"client_id":"a"}')
    const absolute = join(project, 'h.txt')
    const words = `${url} 3118 --no-open --ipv4 --header-file ${absolute} --allow-tool a* --allow-tool=b`
    const inOrder = `${url} 3118 --header-file ${absolute} --allow-tool a* --allow-tool b --no-open --ipv4`
    expect(await argsOf(words.split(' '))).toEqual([place.launcher, ...inOrder.split(' ')])
    const given = [url, '--static-oauth-client-info', `@${join(project, 'client.json')}`]
    expect(await argsOf(given)).toEqual([place.launcher, ...given])
  })

  it('have the proxy and the authorities of this shell, which clients do not pass on', async () => {
    const pem = join(home, 'ca.pem')
    writeFileSync(pem, rootCertificates[0] ?? '')
    const environment = { HTTPS_PROXY: 'http://proxy.example:3128', NODE_EXTRA_CA_CERTS: pem }
    const flags = ['--proxy', 'http://proxy.example:3128/', '--ca', pem]
    expect(await argsOf([url], { environment })).toEqual([place.launcher, url, ...flags])
    const { notes } = await run(['cursor', url], { environment })
    expect(notes).toMatch(/--proxy is of the environment[^]*--ca is NODE_EXTRA_CA_CERTS/)
    expect(
      await argsOf([url, '--no-proxy'], { environment: { HTTPS_PROXY: 'http://proxy.example:3128' } }),
    ).toContain('--no-proxy')
    expect(
      await argsOf([url], { environment: { HTTPS_PROXY: 'http://p.example', NO_PROXY: 'example.com' } }),
    ).toEqual([place.launcher, url])
  })

  it('may name variables, which have to be there for the client as well', async () => {
    const { notes } = await run(['cursor', url, '--header', 'X-Team: ${TEAM}'], {
      environment: { TEAM: 'a' },
    })
    expect(cursorEntries()['example-com']?.args.at(-1)).toBe('X-Team:${TEAM}')
    expect(notes).toContain('TEAM has to be set where the client starts the bridge')
  })

  it('have no authorities that the bridge would not start with', async () => {
    const pem = join(home, 'ca.pem')
    writeFileSync(pem, 'none')
    for (const path of [pem, join(home, 'missing.pem')]) {
      expect(await argsOf([url], { environment: { NODE_EXTRA_CA_CERTS: path } })).not.toContain('--ca')
    }
  })

  it('have no password of a proxy, and it is said', async () => {
    const environment = { HTTPS_PROXY: 'http://u:s3cret@proxy.example:3128' }
    const { notes } = await run(['cursor', url], { environment })
    expect(notes).toContain('needs a password')
    expect(notes + readFileSync(cursorFile(), 'utf8')).not.toContain('s3cret')
  })

  it('have the folder of the logins, and no token; it is said what else is missing', async () => {
    const environment = {
      DRAWBRIDGE_HOME: join(home, 'logins'),
      DRAWBRIDGE_TOKEN: 's3cret',
      DRAWBRIDGE_RETRY: '5s',
    }
    const { notes } = await run(['cursor', url], { environment })
    expect(cursorEntries()['example-com']?.env).toEqual({
      DRAWBRIDGE_HOME: environment.DRAWBRIDGE_HOME,
    })
    expect(notes).toContain('DRAWBRIDGE_TOKEN is not written')
    expect(notes).toContain('Give --retry as well')
    expect(notes).not.toContain('DRAWBRIDGE_HOME is')
  })
})

describe('a file of a project that is a symbolic link', () => {
  const options = { project: true, yes: true, force: true }
  const inProject = (...parts: string[]): string => join(home, 'project', ...parts)

  it.each<[how: string, prepare: () => void]>([
    ['to a file elsewhere', () => symlinkSync('../../home.json', inProject('.vscode', 'mcp.json'))],
    [
      'to a link that leads elsewhere',
      () => {
        symlinkSync(join(home, 'home.json'), inProject('second.json'))
        symlinkSync('../second.json', inProject('.vscode', 'mcp.json'))
      },
    ],
    [
      'of its folder',
      () => {
        rmSync(inProject('.vscode'), { recursive: true })
        symlinkSync('..', inProject('.vscode'))
      },
    ],
    [
      'of its folder, to one that is not there',
      () => {
        rmSync(inProject('.vscode'), { recursive: true })
        symlinkSync(join(home, 'nowhere'), inProject('.vscode'))
      },
    ],
    [
      'to a file that is there',
      () => {
        writeFileSync(join(home, 'home.json'), '{}')
        symlinkSync('../../home.json', inProject('.vscode', 'mcp.json'))
      },
    ],
  ])('is refused: %s', async (_how, prepare) => {
    mkdirSync(inProject('.vscode'), { recursive: true })
    prepare()
    const before = readdirSync(home, { recursive: true, encoding: 'utf8' })
    for (const command of ['install', 'uninstall'] as const) {
      const words = command === 'install' ? ['vscode', url] : ['vscode']
      const { error } = await run(words, { command, options })
      expect(error?.message).toContain('leads out of the project by a symbolic link')
    }
    expect(readdirSync(home, { recursive: true })).toEqual(before)
    if (before.includes('home.json')) expect(readFileSync(join(home, 'home.json'), 'utf8')).toBe('{}')
  })

  it('may stay within the project, and the real place is told', async () => {
    mkdirSync(inProject('.vscode'), { recursive: true })
    symlinkSync('../shared.json', inProject('.vscode', 'mcp.json'))
    const { code, notes } = await run(['vscode', url], { options })
    expect(code).toBe(0)
    expect(notes).toContain(`${inProject('.vscode', 'mcp.json')} (which is ${inProject('shared.json')})`)
    expect(readFileSync(inProject('shared.json'), 'utf8')).toContain(url)
    const again = await run(['vscode', `${url}/2`], { options: { ...options, name: 'two' } })
    expect(again.notes).toContain('It lies in the project: delete it before you commit')
  })
})

describe('uninstall', () => {
  const command = 'uninstall' as const

  it('takes the entry out, and keeps the file as it was beside it', async () => {
    await run(['cursor', url])
    const { code, notes } = await run(['cursor'], { command })
    expect([code, cursorEntries()]).toEqual([0, {}])
    expect(notes).toMatch(/^-.*"command"/m)
    expect(notes).toContain(`drawbridge logout ${url}`)
    expect(notes).not.toContain('--profile')
    await run(['cursor', url, '--profile', 'work'])
    expect((await run(['cursor'], { command })).notes).toContain(`drawbridge logout ${url} --profile work`)
    expect(notes).toContain('.drawbridge-backup-20270115-080000')
  })

  it('asks a person, shows with --dry-run, answers programs', async () => {
    await run(['cursor', url])
    expect((await run(['cursor'], { command, answer: 'n\n' })).code).toBe(1)
    expect((await run(['cursor'], { command, options: { dryRun: true } })).out).toContain('-')
    expect(cursorEntries()).toHaveProperty('example-com')
    const { out } = await run(['cursor', url], { command, json: true })
    expect(JSON.parse(out)).toMatchObject({ ok: true, did: 'removed', client: 'cursor', name: 'example-com' })
  })

  it.each([
    [['cursor'], 1, 'There is no entry of ours'],
    [['cursor', url, 'x'], 2, 'x: is one word too many.'],
    [['cursor', '--what'], 2, '--what: there is no such flag.'],
    [[], 2, 'The client is missing.'],
  ])('refuses %j', async (words, exit, message) => {
    const { error } = await run(words, { command })
    expect(error).toMatchObject({ exit, message: expect.stringContaining(message) as string })
  })
})

describe('paths of programs', () => {
  it('lead to the launcher, whatever link was started', () => {
    const launcher = join(home, 'launcher.cjs')
    writeFileSync(launcher, '')
    symlinkSync(launcher, join(home, 'drawbridge'))
    expect(launcherPath(join(home, 'drawbridge'))).toBe(launcher)
    expect(launcherPath(join(home, 'main.ts'))).toBe(launcher)
  })

  it('of Homebrew are those that stay', () => {
    const bin = join(home, 'Cellar', 'node', '24.1.0', 'bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'node'), '')
    expect(steadyNodePath(join(bin, 'node'))).toBe(join(bin, 'node'))
    mkdirSync(join(home, 'opt'))
    symlinkSync('../Cellar/node/24.1.0', join(home, 'opt', 'node'))
    expect(steadyNodePath(join(bin, 'node'))).toBe(join(home, 'opt', 'node', 'bin', 'node'))
    expect(steadyNodePath('/usr/bin/node')).toBe('/usr/bin/node')
  })
})
