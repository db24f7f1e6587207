import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../docs/command-block.ts'
import { type BridgeProcess, withLinks } from '../e2e/bridge-process.ts'
import { type BridgeChild, talkTo } from '../support/bridge/process/bridge-child.ts'
import type { Windows, WindowsOptions, WindowsOutcome, WindowsProcess } from './wine.ts'

const run = promisify(execFile)

/** The folder of a user's global packages, where npm for Windows puts them and their `.cmd` files. */
const globalFolder = ({ environment }: Windows): string => `${environment['APPDATA']}\\npm`

/** Packs workspaces as they are built, and installs them in Windows by npm, which runs there. Without optional packages nothing is fetched. */
export async function installInWindows(windows: Windows, workspaces: readonly string[]): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-packed-')))
  try {
    const archives: string[] = []
    for (const workspace of workspaces) {
      const flags = ['--json', '--ignore-scripts', '--pack-destination', folder]
      const { stdout } = await run('npm', ['pack', ...flags], { cwd: join(root, workspace) })
      const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
      archives.push(`Z:${join(folder, filename)}`)
    }
    const npm = `Z:${join(await npmFolder(), 'bin/npm-cli.js')}`
    const flags = [
      '--global',
      '--offline',
      '--omit=optional',
      '--no-audit',
      '--no-fund',
      '--prefix',
      globalFolder(windows),
    ]
    const { code, stderr } = await windows.run(windows.node, [npm, 'install', ...flags, ...archives])
    if (code !== 0) throw new Error(`npm for Windows ended with ${code}: ${stderr}`)
    for (const name of ['drawbridge', 'drawbridge-server'])
      mendForWine(windows.here(`${globalFolder(windows)}\\${name}.cmd`))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the folder of npm, which is JavaScript, and so runs in Windows too. */
export async function npmFolder(): Promise<string> {
  const { stdout: modules } = await run('npm', ['root', '--global'])
  return join(modules.trim(), 'npm')
}

/** Takes out what only spares a question after Ctrl-C: the `cmd` of Wine stops at a label that is not there. */
function mendForWine(path: string): void {
  if (!existsSync(path)) return
  const trick = ' goto #_undefined_# 2>NUL || title %COMSPEC% &'
  const text = readFileSync(path, 'utf8')
  if (!text.includes(trick)) throw new Error(`npm writes other .cmd files now: ${text}`)
  writeFileSync(path, text.replace(trick, ''))
}

/** Path of the script that starts a program of ours. */
export function launcherIn(windows: Windows, name: 'mcp-drawbridge' | 'drawbridge-server'): string {
  return `${globalFolder(windows)}\\node_modules\\${name}\\launcher.cjs`
}

/** Starts the bridge as the entry of a client does: Node with the path of the launcher. It opens no browser. */
export function startWindowsBridge(
  windows: Windows,
  args: readonly string[],
  options?: WindowsOptions,
): BridgeProcess & BridgeChild {
  const words = [launcherIn(windows, 'mcp-drawbridge'), ...args, '--no-open']
  return withClient(windows.start(windows.node, words, options))
}

/** Puts a client at the stdio of a process. */
export function withClient(child: WindowsProcess): BridgeProcess & BridgeChild {
  const bridge = talkTo(child)
  return { ...bridge, ...withLinks(bridge) }
}

/** Runs a command of the bridge. */
export function runBridge(
  windows: Windows,
  args: readonly string[],
  options?: WindowsOptions,
): Promise<WindowsOutcome> {
  return windows.run(windows.node, [launcherIn(windows, 'mcp-drawbridge'), ...args], options)
}
