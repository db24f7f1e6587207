import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { clients } from '../../install/client-table.ts'
import { launcherPath, steadyNodePath } from '../../install/program-path.ts'
import { recordedTerminal } from '../../../tests/support/bridge/cli/command-run.ts'
import { readWords } from '../../../tests/support/bridge/cli/command-words.ts'
import type { CommandInput, CommandOptions } from '../command.ts'
import { describeError, type Failure } from '../failure/failure-text.ts'
import { install, uninstall } from './install.ts'
import type { InstallPlace } from './install-entry.ts'
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
  error: Failure | undefined
  out: string
  notes: string
}

interface RunOptions {
  options?: CommandOptions
  environment?: Record<string, string>
  json?: boolean
  /** The answer that a user types in a terminal. */
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
    result.error = describeError(error, { serverUrl: undefined })
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

it('install writes the entry, shows it, and says what comes next', async () => {
  const { code, notes, out } = await run(['cursor', url, '--profile', 'work'])
  expect(code).toBe(0)
  expect(cursorEntries()).toEqual({
    'example-com': {
      type: 'stdio',
      command: place.node,
      args: [place.launcher, url, '--profile', 'work'],
    },
  })
  expect(notes).toContain(`"command": "${place.node}"`)
  expect(notes).toContain(`drawbridge login ${url} --profile work`)
  expect(notes).toContain(`Cursor has the new entry example-com in ${cursorFile()}.`)
  expect(out).toBe('')
  const changed = await run(['cursor', url])
  expect(changed.notes).toContain(`Cursor has the changed entry example-com in ${cursorFile()}.`)
  const { notes: same } = await run(['cursor', url], { answer: 'n\n' })
  expect(same).toBe(`Cursor has this entry already, as example-com in ${cursorFile()}.`)
})

it('install names the flag to leave out for a client without project files', async () => {
  const { error } = await run(['windsurf', url], { options: { project: true } })
  expect(error).toMatchObject({ exit: 2, nextStep: 'Leave out --project.' })
})

it('install accepts a name, and writes the file of a project', async () => {
  const { notes } = await run(['cursor', url], { options: { name: 'mine', project: true } })
  expect(notes).toContain('The entry has paths of this computer')
  expect(readFileSync(join(home, 'project', '.cursor', 'mcp.json'), 'utf8')).toContain('"mine"')
})

it.each<[answer: string, code: number, options?: CommandOptions]>([
  ['\n', 0],
  ['y\n', 0],
  ['n\n', 1],
  ['what?\n', 1],
  ['', 1],
  ['', 0, { yes: true }],
])('install asks on a terminal unless told not to: %j', async (answer, code, options = {}) => {
  const result = await run(['cursor', url], { answer, options })
  expect(result.code).toBe(code)
  expect(result.notes.includes('Make this change? [Y/n]')).toBe(options.yes !== true)
  expect(existsSync(cursorFile())).toBe(code === 0)
})

it('install replaces a foreign entry only with --force or after a yes', async () => {
  const theirs = { 'example-com': { command: 'npx', args: ['mcp-remote', url, 's3cret'] } }
  writeCursor(theirs)
  const refused = await run(['cursor', url], { options: { yes: true } })
  expect(refused.error).toMatchObject({ exit: 1, nextStep: expect.stringContaining('--force') as string })
  expect(refused.notes).not.toContain('s3cret')
  expect((await run(['cursor', url], { answer: '\n', options: { yes: true } })).code).toBe(1)
  expect(cursorEntries()).toEqual(theirs)
  expect((await run(['cursor', url], { answer: 'yes\n' })).code).toBe(0)
  expect(cursorEntries()['example-com']?.command).toBe(place.node)
  writeCursor(theirs)
  const forced = await run(['cursor', url], { options: { force: true } })
  expect(forced.notes).toContain(`Cursor has the entry example-com in ${cursorFile()}, in place of another.`)
})

it('install shows the entry and writes nothing with --dry-run', async () => {
  const { out, code } = await run(['cursor', url], { options: { dryRun: true } })
  expect(code).toBe(0)
  expect(out).toContain('"example-com": {')
  expect(existsSync(cursorFile())).toBe(false)
})

it('install prints what to paste with --print, from a package cache too', async () => {
  const launcher = '/home/ada/.npm/_npx/1/node_modules/mcp-drawbridge/launcher.cjs'
  const { out, notes } = await run(['codex', url], { options: { print: true }, place: { launcher } })
  expect(out).toBe(`[mcp_servers.example-com]\ncommand = "${place.node}"\nargs = ["${launcher}", "${url}"]`)
  expect(notes).toContain(join(home, '.codex', 'config.toml'))
  expect(notes).toContain('would stop working once that is cleared')
})

it('install prints one object with --json', async () => {
  const { out, notes } = await run(['cursor', url], { json: true })
  expect(JSON.parse(out)).toEqual({
    ok: true,
    did: 'added',
    client: 'cursor',
    name: 'example-com',
    file: cursorFile(),
    command: null,
    backup: null,
    entry: { type: 'stdio', command: place.node, args: [place.launcher, url] },
    snippet: null,
  })
  expect(notes).toBe('')
})

it('install refuses to install from a package cache without --force', async () => {
  const launcher = '/home/ada/.npm/_npx/1/node_modules/mcp-drawbridge/launcher.cjs'
  const { error } = await run(['cursor', url], { place: { launcher } })
  expect(error).toMatchObject({
    exit: 1,
    sentences: [expect.stringContaining('Install the bridge first: npm ') as string],
    nextStep: expect.stringContaining('--force') as string,
  })
  const shown = await run(['cursor', url], { place: { launcher }, options: { dryRun: true } })
  expect(shown).toMatchObject({
    code: 0,
    notes: expect.stringContaining('would stop working once that is cleared') as string,
  })
  expect(existsSync(cursorFile())).toBe(false)
  expect((await run(['cursor', url], { place: { launcher }, options: { force: true } })).code).toBe(0)
})

it('install fails at an invalid file, and leaves it as it is', async () => {
  mkdirSync(dirname(cursorFile()))
  writeFileSync(cursorFile(), '{')
  const { error } = await run(['cursor', url])
  expect(error).toMatchObject({
    exit: 1,
    sentences: [expect.stringContaining('not valid JSON') as string],
    nextStep: 'Correct it there, then run the command again.',
  })
  expect(readFileSync(cursorFile(), 'utf8')).toBe('{')
})

it('install lists the clients if none is named', async () => {
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
  [['cursor', 'https://u:s3cret@a.example/mcp'], 'user name or password'],
  [['cursor', url, '--header', 'X-A: b c'], 'blank'],
  [['atom', url], 'not a known client'],
])('install refuses %j', async (words, message) => {
  const { error, notes } = await run(words)
  expect(error).toMatchObject({ exit: 2, sentences: [expect.stringContaining(message) as string] })
  expect(`${String(error?.sentences)}${String(error?.nextStep)}${notes}`).not.toContain('s3cret')
  expect(existsSync(cursorFile())).toBe(false)
})

it.each([
  [['cursor']],
  [['cursor', 'ftp://a.example']],
  [['cursor', url, '--what']],
  [['cursor', url, '--retry', 'soon']],
  [['cursor', url, '1', '2']],
])('install refuses a wrong command line as a connection does: %j', async (words) => {
  expect((await run(words)).error).toMatchObject({ code: 'configuration', exit: 2 })
})

describe('the command line of an entry', () => {
  it('the command line of an entry has the given flags, absolute paths of files, and the port', async () => {
    mkdirSync(join(home, 'project'))
    const project = join(home, 'project')
    writeFileSync(join(project, 'h.txt'), 'X-A: b')
    writeFileSync(join(project, 'client.json'), '{"client_id":"a"}')
    const absolute = join(project, 'h.txt')
    const words = `${url} 3118 --no-open --allow-http --header-file ${absolute} --allow-tool a* --allow-tool=b`
    const inOrder = `${url} 3118 --header-file ${absolute} --allow-tool a* --allow-tool b --no-open --allow-http`
    expect(await argsOf(words.split(' '))).toEqual([place.launcher, ...inOrder.split(' ')])
    const given = [url, '--static-oauth-client-info', `@${join(project, 'client.json')}`]
    expect(await argsOf(given)).toEqual([place.launcher, ...given])
  })

  it('the command line of an entry has the proxy and the certificate authorities of this shell', async () => {
    const pem = join(home, 'ca.pem')
    writeFileSync(pem, rootCertificates[0] ?? '')
    const environment = { HTTPS_PROXY: 'http://proxy.example:3128', NODE_EXTRA_CA_CERTS: pem }
    const flags = ['--proxy', 'http://proxy.example:3128/', '--ca', pem]
    expect(await argsOf([url], { environment })).toEqual([place.launcher, url, ...flags])
    const { notes } = await run(['cursor', url], { environment })
    expect(notes).toMatch(/--proxy comes from the environment[^]*--ca comes from NODE_EXTRA_CA_CERTS/)
    expect(
      await argsOf([url, '--no-proxy'], { environment: { HTTPS_PROXY: 'http://proxy.example:3128' } }),
    ).toContain('--no-proxy')
    expect(
      await argsOf([url], { environment: { HTTPS_PROXY: 'http://p.example', NO_PROXY: 'example.com' } }),
    ).toEqual([place.launcher, url])
  })

  it('the command line of an entry keeps the name of a variable, with a note where to set it', async () => {
    const { notes } = await run(['cursor', url, '--header', 'X-Team: ${TEAM}'], {
      environment: { TEAM: 'a' },
    })
    expect(cursorEntries()['example-com']?.args.at(-1)).toBe('X-Team:${TEAM}')
    expect(notes).toContain("Put TEAM in the client's entry")
  })

  it('the command line of an entry leaves out certificate authorities that the bridge would not start with', async () => {
    const pem = join(home, 'ca.pem')
    writeFileSync(pem, 'none')
    for (const path of [pem, join(home, 'missing.pem')]) {
      expect(await argsOf([url], { environment: { NODE_EXTRA_CA_CERTS: path } })).not.toContain('--ca')
    }
  })

  it('the command line of an entry leaves out a proxy with a password, with a note', async () => {
    const environment = { HTTPS_PROXY: 'http://u:s3cret@proxy.example:3128' }
    const { notes } = await run(['cursor', url], { environment })
    expect(notes).toContain('needs a password')
    expect(notes + readFileSync(cursorFile(), 'utf8')).not.toContain('s3cret')
  })

  it('an entry has the folder of the logins and no token, with notes on the other variables', async () => {
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

describe('a file with comments', () => {
  const text = '{\n  // mine\n  "mcpServers": { "b": { "command": "y" }, },\n}\n'

  function writeText(content: string): void {
    mkdirSync(dirname(cursorFile()), { recursive: true })
    writeFileSync(cursorFile(), content)
  }

  it('a file with comments is left alone, and the text to paste is printed with its path', async () => {
    writeText(text)
    const { code, out, notes } = await run(['cursor', url])
    expect(code).toBe(0)
    expect(notes).toContain(`${cursorFile()} is left as it is: it has comments or trailing commas`)
    expect(notes).toContain('Add this to it:')
    expect(notes).toContain(`To do it now: drawbridge login ${url}`)
    expect(JSON.parse(out)).toEqual({
      mcpServers: { 'example-com': { type: 'stdio', command: place.node, args: [place.launcher, url] } },
    })
    const json = JSON.parse((await run(['cursor', url], { json: true })).out) as Record<string, string>
    expect([json['did'], json['snippet']]).toEqual(['manual', out])
    expect(readFileSync(cursorFile(), 'utf8')).toBe(text)
  })

  it('a file with comments is left alone without a question on a terminal', async () => {
    writeText(text)
    expect((await run(['cursor', url], { answer: 'n\n' })).notes).not.toContain('?')
  })

  it('a file with comments is read: the entry may be there already, or be one to replace or to remove', async () => {
    const withEntry = (value: object): string =>
      text.replace('"b": {', `"example-com": ${JSON.stringify(value)}, "b": {`)
    writeText(withEntry({ type: 'stdio', command: place.node, args: [place.launcher, url] }))
    expect((await run(['cursor', url])).notes).toContain('has this entry already')
    const { code, notes } = await run(['cursor'], { command: 'uninstall' })
    expect(code).toBe(0)
    expect(notes).toContain('Remove the entry example-com from it by hand.')
    expect(notes).toContain(`To remove it: drawbridge logout ${url}`)
    writeText(withEntry({ command: 'npx' }))
    expect((await run(['cursor', url])).notes).toContain('Put this in place of the entry example-com there:')
  })
})

describe("a client's own command", () => {
  const bin = (): string => join(home, 'bin')
  const environment = (): Record<string, string> => ({ PATH: `.:${bin()}`, SECRET_WORD: 's3cret' })
  const callsFile = (): string => join(home, 'calls')
  const calls = (): string[][] =>
    readFileSync(callsFile(), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string[])

  /** Puts a program on the PATH that records its arguments, refuses a wrong environment or folder, and runs `body`. */
  function writeProgram(name: string, body: string): void {
    mkdirSync(bin(), { recursive: true })
    const record = `const fs = require('fs'), args = process.argv.slice(2)
fs.appendFileSync(${JSON.stringify(callsFile())}, JSON.stringify(args) + '\\n')
if (process.env.SECRET_WORD || process.cwd() !== ${JSON.stringify(home)}) process.exit(9)`
    writeFileSync(join(bin(), name), `#!${process.execPath}\n${record}\n${body}`, { mode: 0o755 })
  }

  /** Behaves as `claude mcp add` and `claude mcp remove`. */
  const claude = (): string => `const file = ${JSON.stringify(join(home, '.claude.json'))}
const config = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : { mcpServers: {} }
const [, verb, , , name, ...rest] = args
if ((verb === 'add') === (name in config.mcpServers)) process.exit(1)
const [command, ...words] = rest.slice(rest.indexOf('--') + 1)
if (verb === 'add') config.mcpServers[name] = { type: 'stdio', command, args: words, env: {} }
else delete config.mcpServers[name]
fs.writeFileSync(file, JSON.stringify(config))`

  it('a client’s own command adds the entry, and removes it', async () => {
    writeProgram('claude', claude())
    const given = { environment: { ...environment(), B: 'b' } }
    const words = ['claude-code', url, '--header', 'X-A: ${B}']
    const { notes, code } = await run(words, given)
    const start = ['mcp', 'add', '--scope', 'user', 'example-com', '--', place.node, place.launcher, url]
    expect(code).toBe(0)
    expect(calls()).toEqual([[...start, '--header', 'X-A:${B}']])
    expect(notes).toContain(`${join(bin(), 'claude')} ${start.join(' ')} --header 'X-A:\${B}'`)
    expect(notes).toContain('Claude Code has the new entry example-com')
    expect((await run(words, given)).notes).toContain('has this entry already')
    const removed = await run(['claude-code'], { ...given, command: 'uninstall', json: true })
    expect(JSON.parse(removed.out)).toMatchObject({
      did: 'removed',
      command: [join(bin(), 'claude'), 'mcp', 'remove', '--scope', 'user', 'example-com'],
      backup: null,
    })
    expect(calls()).toHaveLength(2)
  })

  it('a client’s own command is shown and not run with --dry-run, and after a no', async () => {
    writeProgram('claude', claude())
    const given = { environment: environment() }
    const { out } = await run(['claude-code', url], { ...given, options: { dryRun: true } })
    expect(out).toContain('claude mcp add --scope user example-com -- ')
    expect((await run(['claude-code', url], { ...given, answer: 'n\n' })).code).toBe(1)
    expect(existsSync(callsFile())).toBe(false)
  })

  it.each([
    ['fails', 'process.exit(3)'],
    ['does nothing', ''],
    ['is killed', 'process.kill(process.pid)'],
  ])('a client’s own command is replaced by writing the file if it %s', async (_, body) => {
    writeProgram('gemini', body)
    const { notes } = await run(['gemini', url], { environment: environment() })
    expect(calls()).toHaveLength(1)
    expect(notes).toContain('This did not make the change:')
    expect(notes).toContain('Gemini CLI has the new entry')
    expect(readFileSync(join(home, '.gemini', 'settings.json'), 'utf8')).toContain(url)
  })

  it('a client’s own command that fails loses nothing that it wrote before', async () => {
    const folder = join(home, '.gemini')
    const file = join(folder, 'settings.json')
    writeProgram(
      'gemini',
      `fs.mkdirSync(${JSON.stringify(folder)}); fs.writeFileSync(${JSON.stringify(file)}, '{"seen":1}'); process.exit(1)`,
    )
    expect((await run(['gemini', url], { environment: environment() })).code).toBe(0)
    const written: unknown = JSON.parse(readFileSync(file, 'utf8'))
    expect(written).toMatchObject({ seen: 1, mcpServers: { 'example-com': { command: place.node } } })
  })

  it('a client’s own command is not run for an existing entry, a project, or a read-only file', async () => {
    writeProgram('gemini', '')
    const given = { environment: environment() }
    const file = join(home, '.gemini', 'settings.json')
    mkdirSync(dirname(file))
    writeFileSync(file, '{ "mcpServers": { "example-com": { "command": "z", "trust": true } } }')
    expect((await run(['gemini', url], { ...given, options: { force: true } })).code).toBe(0)
    expect((await run(['gemini', url, '--header', 'X-A: b'], given)).code).toBe(0)
    expect((await run(['gemini', url], { ...given, options: { project: true } })).code).toBe(0)
    writeFileSync(file, '{}')
    chmodSync(file, 0o444)
    expect((await run(['gemini', url], given)).error?.sentences.join(' ')).toContain('read-only')
    expect(existsSync(callsFile())).toBe(false)
  })

  it('a client’s own command is not taken from the current folder, nor from another computer', async () => {
    writeProgram('code', '')
    for (const more of [{ PATH: 'bin:.' }, { VSCODE_IPC_HOOK_CLI: '/x' }, { WSL_DISTRO_NAME: 'x' }]) {
      rmSync(join(home, '.config'), { recursive: true, force: true })
      expect((await run(['vscode', url], { environment: { ...environment(), ...more } })).code).toBe(0)
    }
    expect(existsSync(callsFile())).toBe(false)
  })

  const env = { DRAWBRIDGE_HOME: '/srv' }
  const name = 'example-com'
  const rest = [place.node, place.launcher, url]
  const definition = JSON.stringify({ name, command: place.node, args: rest.slice(1), env })
  it.each([
    [
      'gemini',
      'gemini',
      `mcp add --scope user -e DRAWBRIDGE_HOME=/srv ${name} ${place.node} --`,
      rest.slice(1),
    ],
    ['claude', 'claude-code', `mcp add --scope user ${name} -e DRAWBRIDGE_HOME=/srv --`, rest],
    ['opencode', 'opencode', `mcp add ${name} --env DRAWBRIDGE_HOME=/srv --`, rest],
    ['code', 'vscode', '--add-mcp', [definition]],
  ])('the command %s gets the entry of %s in its own arguments', async (program, client, start, words) => {
    writeProgram(program, '')
    await run([client, url], { environment: { ...environment(), ...env } })
    expect(calls()).toEqual([[...start.split(' '), ...words]])
  })

  describe('of Codex, whose file is TOML', () => {
    /** Behaves as `codex mcp`, with its entries in a JSON file. */
    const codex = (): string => `const file = ${JSON.stringify(join(home, 'codex.json'))}
const servers = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : {}
const [, verb, name, ...rest] = args
const [command, ...words] = rest.slice(rest.indexOf('--') + 1)
const rows = Object.entries(servers).map(([name, transport]) => ({ name, transport }))
if (verb === 'list') console.log(JSON.stringify(rows))
if (verb === 'add') servers[name] = { type: 'stdio', command, args: words, env: null, cwd: null }
if (verb === 'remove') delete servers[name]
fs.writeFileSync(file, JSON.stringify(servers))`

    it('codex adds, replaces with --force, and removes an entry', async () => {
      writeProgram('codex', codex())
      const given = { environment: environment() }
      expect((await run(['codex', url], given)).notes).toContain('Codex has the new entry example-com')
      expect((await run(['codex', url], given)).notes).toContain('has this entry already')
      const more = ['codex', url, '--no-open']
      expect((await run(more, given)).error?.nextStep).toContain('--force to replace it')
      const forced = await run(more, { ...given, options: { force: true } })
      expect(forced.notes).toContain('in place of another')
      const { out } = await run(['codex'], { ...given, command: 'uninstall', json: true })
      expect(JSON.parse(out)).toMatchObject({ did: 'removed', name })
      const again = await run(['codex'], { ...given, command: 'uninstall' })
      expect(again.error?.sentences.join(' ')).toContain('No entry of ours')
    })

    it.each([
      ['is missing', undefined],
      ['cannot list', 'process.exit(1)'],
      ['lists something else', 'console.log("{}")'],
      ['cannot add', 'if (args[1] === "add") process.exit(1); console.log("[]")'],
    ])('install prints the table to paste if codex %s', async (_, body) => {
      if (body !== undefined) writeProgram('codex', body)
      const { code, out, notes } = await run(['codex', url], { environment: environment() })
      expect(code).toBe(0)
      expect(out).toContain('[mcp_servers.example-com]')
      expect(notes).toContain(`${join(home, '.codex', 'config.toml')} is left as it is: it is TOML`)
      // A program that does not list its entries is not asked to add one.
      const isAsked = existsSync(callsFile()) && calls().some(([, verb]) => verb === 'add')
      expect(isAsked).toBe(body?.includes('"add"') === true)
    })
  })
})

describe('the file of a project', () => {
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
  ])('the file of a project is refused if it is a symbolic link %s', async (_how, prepare) => {
    mkdirSync(inProject('.vscode'), { recursive: true })
    prepare()
    const before = readdirSync(home, { recursive: true, encoding: 'utf8' })
    for (const command of ['install', 'uninstall'] as const) {
      const words = command === 'install' ? ['vscode', url] : ['vscode']
      const { error } = await run(words, { command, options })
      expect(error?.sentences.join(' ')).toContain('leads out of the project by a symbolic link')
    }
    expect(readdirSync(home, { recursive: true })).toEqual(before)
    if (before.includes('home.json')) expect(readFileSync(join(home, 'home.json'), 'utf8')).toBe('{}')
  })

  it('the file of a project may be a symbolic link within the project, whose target is named', async () => {
    mkdirSync(inProject('.vscode'), { recursive: true })
    symlinkSync('../shared.json', inProject('.vscode', 'mcp.json'))
    const { code, notes } = await run(['vscode', url], { options })
    expect(code).toBe(0)
    expect(notes).toContain(`${inProject('.vscode', 'mcp.json')} (which is ${inProject('shared.json')})`)
    expect(readFileSync(inProject('shared.json'), 'utf8')).toContain(url)
    const again = await run(['vscode', `${url}/2`], { options: { ...options, name: 'two' } })
    expect(again.notes).toContain('It is in the project: delete it before you commit')
  })
})

describe('uninstall', () => {
  const command = 'uninstall' as const

  it('uninstall removes the entry, and keeps a copy of the file', async () => {
    await run(['cursor', url])
    const { code, notes } = await run(['cursor'], { command })
    expect([code, cursorEntries()]).toEqual([0, {}])
    expect(notes).toContain('without the entry example-com')
    expect(notes).toContain(`drawbridge logout ${url}`)
    expect(notes).not.toContain('--profile')
    await run(['cursor', url, '--profile', 'work'])
    expect((await run(['cursor'], { command })).notes).toContain(`drawbridge logout ${url} --profile work`)
    expect(notes).toContain('mcp.json.drawbridge-backup.')
  })

  it('uninstall asks on a terminal, changes nothing with --dry-run, and prints an object with --json', async () => {
    await run(['cursor', url])
    expect((await run(['cursor'], { command, answer: 'n\n' })).code).toBe(1)
    expect((await run(['cursor'], { command, options: { dryRun: true } })).out).toContain('without the entry')
    expect(cursorEntries()).toHaveProperty('example-com')
    const { out } = await run(['cursor', url], { command, json: true })
    expect(JSON.parse(out)).toMatchObject({ ok: true, did: 'removed', client: 'cursor', name: 'example-com' })
  })

  it.each([
    [['cursor'], 1, 'No entry of ours'],
    [['cursor', url, 'x'], 2, 'Unexpected argument: x.'],
    [['cursor', '--what'], 2, '--what: there is no such flag.'],
    [[], 2, 'The client is missing.'],
  ])('uninstall refuses %j', async (words, exit, message) => {
    const { error } = await run(words, { command })
    expect(error).toMatchObject({ exit, sentences: [expect.stringContaining(message) as string] })
  })
})

describe('the paths in an entry', () => {
  it('an entry names the launcher, whatever link was started', () => {
    const launcher = join(home, 'launcher.cjs')
    writeFileSync(launcher, '')
    symlinkSync(launcher, join(home, 'drawbridge'))
    expect(launcherPath(join(home, 'drawbridge'))).toBe(launcher)
    expect(launcherPath(join(home, 'main.ts'))).toBe(launcher)
  })

  it('the paths in an entry survive updates of Homebrew', () => {
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
