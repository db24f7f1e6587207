import { execFile, spawn } from 'node:child_process'
import { cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flagOf } from '@drawbridge/shared/settings/setting.ts'
import { commandTable as bridgeCommands } from '../../bridge/cli/command-line/command-table.ts'
import { settings as bridgeSettings } from '../../bridge/config/setting-table.ts'
import manifest from '../../package.json' with { type: 'json' }
import { readCommandTable } from '../../server/cli/command-table.ts'
import { settings as serverSettings } from '../../server/config/setting-table.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { type Block, blocksOf, commandsOf, isShell, outputOf, pages, reasons, root } from './command-block.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const blocks = pages.flatMap(blocksOf)
const shell = blocks.filter(isShell)

describe('blocks of commands', () => {
  it('blocks of commands exist, and are marked as such', () => {
    expect(shell.length).toBeGreaterThan(40)
    const command = /^(?:\$ )?(?:npm|npx|export|curl|docker|node|systemctl|journalctl|umask) /
    const unmarked = blocks.filter((block) => block.language === '' && command.test(block.text))
    expect(unmarked.map(({ page, line }) => `${page}:${line}`)).toEqual([])
  })

  it('blocks of commands that are not run say why', () => {
    const said = shell.flatMap(({ mark }) => (mark?.kind === 'not run' ? mark.text : []))
    for (const reason of said) expect(reasons).toContain(reason)
    // A reason that no block gives any more goes.
    expect([...new Set(said)].toSorted()).toEqual(reasons.toSorted())
  })

  it.each(shell.map((block) => [`${block.page}:${block.line}`, block] as const))(
    'the commands, scripts and flags of %s exist',
    (_where, block) => {
      for (const line of commandsOf(block)) for (const words of programCalls(line)) checkCall(words)
    },
  )
})

/** The calls of this project's programs and scripts in a line of shell, as words. */
function programCalls(line: string): string[][] {
  return line
    .split(/&&|\||;|\$\(|\)|\(/)
    .map((part) => part.trim().split(/\s+/))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
}

function checkCall(words: readonly string[]): void {
  const [program, ...rest] = words[0] === 'npx' ? words.slice(words[1] === '-y' ? 2 : 1) : words
  if (program === 'npm' && (rest[0] === 'run' || rest[0] === 'start' || rest[0] === 'test')) {
    const script = rest[0] === 'run' ? (rest[1] ?? '') : rest[0]
    if (!rest.includes('-w')) expect(manifest.scripts).toHaveProperty([script])
    if (script === 'start') checkArguments('server', rest.slice(rest.indexOf('--') + 1 || rest.length))
  }
  if (program === 'drawbridge-server') checkArguments('server', rest)
  if (program === 'drawbridge' || program === 'mcp-drawbridge') checkArguments('bridge', rest)
}

const programs = {
  server: { rows: await readCommandTable(), flags: serverSettings.map(flagOf) },
  bridge: { rows: bridgeCommands, flags: bridgeSettings.map(flagOf) },
}

function checkArguments(name: keyof typeof programs, given: readonly string[]): void {
  const { rows, flags } = programs[name]
  const own = given.slice(0, given.includes('--') ? given.indexOf('--') : given.length)
  const row = rows.find(({ usage }) => {
    const words = usage.split(' ').filter((word) => !/^[<[]/.test(word))
    return words.every((word, index) => own[index] === word)
  })
  const [first] = own
  if (first !== undefined && /^[a-z-]+$/.test(first) && !first.startsWith('-')) {
    expect(row?.usage, `${name} ${own.join(' ')}`).toBeDefined()
  }
  const switches = Object.keys(row?.switches ?? {}).map((flag) => flag.split(' ')[0])
  for (const word of own.filter((each) => each.startsWith('--'))) {
    const flag = word.split('=')[0] ?? ''
    expect(
      [...flags, ...switches, '--json', '--env-file', '--help', '--version'],
      `${name} ${word}`,
    ).toContain(flag)
  }
}

/** Bash functions around the commands of a page: a server that starts is ended once it is ready. */
const prelude = `
set -o pipefail
until_ready() {
  : >server.out # what an earlier one said
  setsid bash -c "$1" >server.out 2>&1 &
  local pid=$! tries=0
  until grep -q 'is ready' server.out; do
    tries=$((tries + 1))
    if [ $tries -gt 300 ] || ! kill -0 $pid 2>/dev/null; then cat server.out >&2; kill -KILL -- -$pid 2>/dev/null; return 1; fi
    sleep 0.1
  done
  kill -TERM -- -$pid; wait $pid; return 0
}
failed() { echo "FAILED: $1" >&2; exit 1; }
`

/** Lines that start a server and do not come back. */
const starts = /^(?:[A-Z_]+=\S+ )*(?:npm (?:start|run dev)\b|(?:npx )?drawbridge-server(?: -|$))/

describe('pages, each in a fresh clone with nothing of it in PATH', () => {
  const home = temporaryFolder(afterAll)
  const clone = join(home, 'drawbridge')
  let server: ServerProcess
  /** Builds and installations so far: on the next page they would only do the same again. */
  const done = new Set<string>()

  beforeAll(async () => {
    server = await startServer()
    // Test this tree, committed or not, without its build output.
    const { stdout } = await promisify(execFile)('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    })
    for (const path of stdout.split('\0').filter(Boolean))
      cpSync(join(root, path), join(clone, path), { force: true })
    for (const folder of ['node_modules', ...globSync('*/node_modules', { cwd: root })]) {
      // Not the caches, which other tests write at this time.
      const parts = globSync(['*', '.bin', '.package-lock.json'], { cwd: join(root, folder) })
      mkdirSync(join(clone, folder), { recursive: true })
      await promisify(execFile)('cp', ['-al', ...parts, join(clone, folder)], { cwd: join(root, folder) })
    }
    mkdirSync(join(home, 'bin'))
    for (const name of ['node', 'npm', 'npx']) {
      const { stdout: path } = await promisify(execFile)('which', [name], { env: { PATH: withoutProject() } })
      symlinkSync(path.trim(), join(home, 'bin', name))
    }
    await promisify(execFile)('npm', ['run', 'build'], { cwd: clone, env: await environment() })
    done.add('npm run build')
  }, 120_000)
  afterAll(() => server?.close())

  /** PATH without the folders that npm adds for the scripts of this project. */
  const withoutProject = (): string =>
    (process.env['PATH'] ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'))
      .join(':')

  async function environment(): Promise<Record<string, string>> {
    const [port, appPort] = [await freePort(), await freePort()]
    // How this machine reaches the registry stays as it is.
    const network = Object.entries(process.env).filter(([name]) =>
      /_ca_|_cert|proxy|^npm_config_registry$/i.test(name),
    )
    return {
      ...(Object.fromEntries(network) as Record<string, string>),
      PATH: `${join(home, 'bin')}:${join(home, 'global', 'bin')}:/usr/bin:/bin`,
      HOME: home,
      npm_config_prefix: join(home, 'global'),
      DRAWBRIDGE_BASE_URL: `http://localhost:${port}`,
      DRAWBRIDGE_LISTEN: `127.0.0.1:${port}`,
      DRAWBRIDGE_APP_URL: `http://localhost:${appPort}`,
      DRAWBRIDGE_STORE: 'memory:',
    }
  }

  const runs = pages
    .map((page) => [page, blocksOf(page).filter(isRun)] as const)
    .filter(([, found]) => found.some(isShell))

  it.each(runs)('the commands of %s work in a fresh clone', { timeout: 120_000 }, async (_page, found) => {
    const script = found.map(scriptOf).join('\n')
    const adminPort = await freePort()
    const child = spawn('bash', ['-c', prelude + script.replaceAll('9465', String(adminPort))], {
      cwd: clone,
      env: await environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(code, said).toBe(0)
    for (const block of found.filter(({ language }) => language === 'console'))
      expect(said).toContain(outputOf(block))
  })

  function scriptOf(block: Block): string {
    if (block.mark?.kind === 'file') {
      const path = join(clone, block.mark.text)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, block.text)
      return ''
    }
    return commandsOf(block)
      .map((line) => line.replace(/^npm ci(?: && |$)/, ''))
      .filter((line) => line !== '' && !done.has(line))
      .map((line) => {
        if (/^npm (?:pack|run build)\b/.test(line)) done.add(line)
        return line.replaceAll('http://localhost:8787', server.baseUrl)
      })
      .map((line) => {
        const quoted = `'${line.replaceAll("'", String.raw`'\''`)}'`
        return starts.test(line) ? `until_ready ${quoted} || failed ${quoted}` : `${line} || failed ${quoted}`
      })
      .join('\n')
  }
})

function isRun(block: Block): boolean {
  return block.mark?.kind === 'file' || (isShell(block) && block.mark?.kind !== 'not run')
}
