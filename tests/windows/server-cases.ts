import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createPerson } from '../e2e/person.ts'
import type { ServerAddress } from '../e2e/server-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'
import { outputOf, scanFiles } from './holders.ts'
import { launcherIn, startWindowsBridge } from './installed.ts'
import type { Windows, WindowsOutcome } from './wine.ts'

interface WindowsServer extends ServerAddress {
  env: Readonly<Record<string, string>>
  folder: string
  /** Starts the server, waits until it is ready, and returns how it ends. */
  start(words?: readonly string[]): Promise<{ ended: Promise<unknown>; said(): string }>
  /** Runs one of its commands. */
  command(...words: string[]): Promise<WindowsOutcome>
}

async function serverIn(windows: Windows, name: string): Promise<WindowsServer> {
  const folder = `${windows.home}\\${name}`
  mkdirSync(windows.here(folder))
  const [port, appPort] = [await freePort(), await freePort()]
  const [baseUrl, appUrl] = [`http://localhost:${port}`, `http://localhost:${appPort}`]
  const env = {
    DRAWBRIDGE_BASE_URL: baseUrl,
    DRAWBRIDGE_APP_URL: appUrl,
    DRAWBRIDGE_LISTEN: `127.0.0.1:${port}`,
  }
  const launcher = launcherIn(windows, 'drawbridge-server')
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    fetch: (input, init) => fetch(input, init),
    env,
    folder,
    command: (...words) => windows.run(windows.node, [launcher, ...words], { cwd: folder, env }),
    async start(words = []) {
      const child = windows.start(windows.node, [launcher, '--json', ...words], { cwd: folder, env })
      onTestFinished(() => void child.kill('SIGKILL'))
      const said = outputOf(child)
      const ended = new Promise((resolve) => child.once('exit', resolve))
      await until(
        () => said().includes('"event":"ready"'),
        () => `the ready line\n${said()}`,
      )
      return { ended, said }
    },
  }
}

/** An MCP server over stdio, which tells what it was started with. */
const smallServer = `
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const text = JSON.stringify({ argv: process.argv.slice(2), env: Object.keys(process.env).map((name) => name.toUpperCase()) })
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } },
  'tools/list': { tools: [{ name: 'about', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text }] },
}
const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = results[method]
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n')
})
lines.on('close', () => writeFileSync('ended', ''))
`

/** The cases of the server, with its store in a file. */
export function serverCases(windowsOf: () => Windows): void {
  it('the server in Windows serves a bridge, locks its store, rotates keys, ends by Ctrl-C, and starts from a backup', async () => {
    const windows = windowsOf()
    const server = await serverIn(windows, 'Mein Server für 山田')
    const { folder } = server
    const first = await server.start()
    const person = await createPerson(server)
    const bridge = startWindowsBridge(windows, [server.mcpUrl])
    onTestFinished(() => bridge.close())
    await bridge.initialize()
    expect((await fetch(await person.allow(await bridge.link()))).status).toBe(200)
    await until(
      async () => (await bridge.tools()).includes('whoami'),
      () => `the tools\n${bridge.stderr()}`,
    )
    const whoami = (): Promise<string> => bridge.call('whoami')
    expect(await whoami()).toContain(person.email)

    const second = await server.command('--listen', `127.0.0.1:${await freePort()}`)
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('Another')])
    // From now on to the end, as a virus scanner may.
    scanFiles(windows, folder)
    const keys = await server.command('keys', 'rotate', '--json')
    expect(keys.code, keys.stderr).toBe(0)
    expect(
      readFileSync(windows.here(`${folder}\\.drawbridge\\secret-keys`), 'utf8')
        .trim()
        .split('\n'),
    ).toHaveLength(2)
    expect(await whoami()).toContain(person.email)
    const doctor = await server.command('doctor')
    expect(doctor.stdout).not.toMatch(/chmod|umask|sudo|~\/|\/etc\/|\bcurl |\.drawbridge\//)

    const backup = `${folder}\\backup.db`
    const store = `${folder}\\.drawbridge\\server.db`
    const script = `new (require('node:sqlite').DatabaseSync)(process.argv[1]).exec("VACUUM INTO 'backup.db'")`
    const copied = await windows.run(windows.node, ['-e', script, store], { cwd: folder })
    expect(copied.code, copied.stderr).toBe(0)

    windows.pressControlC()
    expect(await first.ended, first.said()).toBe(0)
    expect(first.said()).toContain('"signal":"SIGINT"')
    for (const end of ['', '-wal', '-shm']) rmSync(windows.here(store + end), { force: true })
    copyFileSync(windows.here(backup), windows.here(store))
    await server.start()
    const again = startWindowsBridge(windows, [server.mcpUrl])
    onTestFinished(() => again.close())
    await again.initialize()
    expect(await again.call('whoami')).toContain(person.email)
    expect(again.links()).toEqual([])
  })

  it('a command behind the server in Windows starts by cmd, has the variables of Windows and none of the server, and ends with it', async () => {
    const windows = windowsOf()
    const server = await serverIn(windows, 'Dahinter')
    writeFileSync(windows.here(`${server.folder}\\tools.mjs`), smallServer)
    writeFileSync(windows.here(`${server.folder}\\tools.cmd`), '@node "%~dp0tools.mjs" %*\r\n')
    const missing = await server.start(['--', 'tools.cmd'])
    await until(
      () => missing.said().includes('cmd /c npx'),
      () => `the advice\n${missing.said()}`,
    )
    windows.pressControlC()
    expect(await missing.ended).toBe(0)

    const { ended, said } = await server.start(['--', 'cmd', '/c', 'tools.cmd', 'a b'])
    const person = await createPerson(server)
    const bridge = startWindowsBridge(windows, [server.mcpUrl])
    onTestFinished(() => bridge.close())
    await bridge.initialize()
    expect((await fetch(await person.allow(await bridge.link()))).status).toBe(200)
    await until(
      async () => (await bridge.tools()).includes('about'),
      () => `the tools\n${bridge.stderr()}\n${said()}`,
    )
    const about = JSON.parse(await bridge.call('about')) as { argv: string[]; env: string[] }
    expect(about.argv).toEqual(['a b'])
    expect(about.env).toEqual(expect.arrayContaining(['APPDATA', 'SYSTEMROOT']))
    expect(about.env.filter((name) => name.startsWith('DRAWBRIDGE'))).toEqual([])
    await bridge.close()
    windows.pressControlC()
    expect(await ended, said()).toBe(0)
    await until(() => existsSync(windows.here(`${server.folder}\\ended`)), 'the end of the command')
  })

  it('the server in Windows ends in order when the window of its console closes, with an audit file too', async () => {
    const windows = windowsOf()
    const server = await serverIn(windows, 'Fenster')
    // Node emits this signal then.
    const tools = "setTimeout(() => process.emit('SIGHUP', 'SIGHUP'), 1500)\nexport const tools = []\n"
    writeFileSync(windows.here(`${server.folder}\\tools.mjs`), tools)
    const { ended, said } = await server.start(['--tools', './tools.mjs', '--audit', 'audit.jsonl'])
    expect(await ended, said()).toBe(0)
    expect(said()).toContain('"signal":"SIGHUP"')
  })

  it('the texts of the server in Windows name its paths, and commands that its shells know', async () => {
    const windows = windowsOf()
    const launcher = launcherIn(windows, 'drawbridge-server')
    // As many people write a path there, too.
    const env = { DRAWBRIDGE_STORE: 'sqlite:data/x.db' }
    const run = (...words: string[]): Promise<WindowsOutcome> =>
      windows.run(windows.node, [launcher, ...words], { env })
    const [doctor, usage, help] = await Promise.all([
      run('doctor'),
      run('usage'),
      run('grants', 'revoke', '--help'),
    ])
    expect(doctor.stdout).toContain(String.raw`creates a key in data\secret-keys.`)
    expect(doctor.stdout).toContain(String.raw`creates data\x.db.`)
    expect(usage.stderr).toContain('type FILE | drawbridge-server usage -')
    expect(help.stdout).toContain(String.raw`sqlite:.drawbridge\trial.db`)
    expect(help.stdout).toContain('  type leaked-token.txt | drawbridge-server grants revoke --token -\n')
  })

  it('init in Windows writes the files of a server that its next command starts', async () => {
    const windows = windowsOf()
    const server = await serverIn(windows, 'Neu hier')
    const { env } = server
    const urls = ['--base-url', server.baseUrl, '--app-url', server.appUrl]
    const words = ['init', '--provider', 'none', ...urls, '--listen', env['DRAWBRIDGE_LISTEN'] ?? '']
    const made = await server.command(...words, '--yes', '--json')
    expect(made.code, made.stderr).toBe(0)
    const { files, next } = JSON.parse(made.stdout) as { files: string[]; next: string }
    for (const file of files) expect(existsSync(windows.here(`${server.folder}\\${file}`)), file).toBe(true)
    expect(next).toBe('drawbridge-server --env-file drawbridge.env')
    const { said } = await server.start(next.split(' ').slice(1))
    expect(said()).toContain(server.mcpUrl)
    const shown = windows.start('drawbridge-server.cmd', ['--help'], { shell: true, cwd: server.folder })
    const help = outputOf(shown)
    await new Promise((resolve) => shown.once('close', resolve))
    expect(help()).toContain('drawbridge-server doctor')
  })

  it('init in Windows names the files of an image as the image does, and writes them beside a virus scanner', async () => {
    const windows = windowsOf()
    const { folder, command } = await serverIn(windows, 'Abbild')
    const read = (file: string): string => readFileSync(windows.here(`${folder}\\${file}`), 'utf8')
    writeFileSync(windows.here(`${folder}\\my-tools.mjs`), 'export const tools = []\n')
    scanFiles(windows, folder)
    const urls = ['--app-url', 'http://127.0.0.1:1', '--base-url', 'https://mcp.test']
    // As its shells complete the name.
    const words = ['--target', 'compose', '--provider', 'app', ...urls, '--tools', String.raw`.\my-tools.mjs`]
    for (const flags of [[], ['--force']]) {
      const { code, stderr } = await command('init', ...words, '--yes', ...flags)
      expect(code, stderr).toBe(0)
    }
    expect(read('drawbridge.env')).toMatch(/^DRAWBRIDGE_TOOLS=\/etc\/drawbridge\/my-tools\.mjs$/m)
    expect(read('Dockerfile')).toMatch(/^COPY .* my-tools\.mjs\*/m)
    expect(read('Dockerfile')).not.toContain(String.raw`\my-tools`)
  })
}
