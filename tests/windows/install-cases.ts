import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { findClient } from '../../bridge/install/client-table.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { startRemote } from '../support/remote/remote.ts'
import { launcherIn, runBridge, withClient } from './installed.ts'
import type { Windows } from './wine.ts'

const url = 'https://mcp.example.com/mcp'

/** The file of each client below `%APPDATA%` or the folder of the user, and below that of a project. */
const files: [id: string, user: string, project?: string][] = [
  ['claude-desktop', String.raw`AppData\Roaming\Claude\claude_desktop_config.json`],
  ['claude-code', '.claude.json', '.mcp.json'],
  ['cursor', String.raw`.cursor\mcp.json`, String.raw`.cursor\mcp.json`],
  ['vscode', String.raw`AppData\Roaming\Code\User\mcp.json`, String.raw`.vscode\mcp.json`],
  ['windsurf', String.raw`.codeium\windsurf\mcp_config.json`],
  ['devin', String.raw`AppData\Roaming\devin\mcp_config.json`, String.raw`.devin\mcp_config.json`],
  ['codex', String.raw`.codex\config.toml`, String.raw`.codex\config.toml`],
  ['gemini', String.raw`.gemini\settings.json`, String.raw`.gemini\settings.json`],
  ['opencode', String.raw`.config\opencode\opencode.jsonc`, 'opencode.json'],
  ['zed', String.raw`AppData\Roaming\Zed\settings.json`, String.raw`.zed\settings.json`],
]

interface Installed {
  did: string
  file: string
  name: string
  entry?: unknown
  snippet: string | null
}

/** The entries of a client's file, by name. */
function entriesIn(path: string, id: string): Record<string, unknown> {
  let value: unknown = JSON.parse(readFileSync(path, 'utf8'))
  for (const key of findClient(id).keys) value = isJsonObject(value) ? value[key] : undefined
  return isJsonObject(value) ? value : {}
}

/** The cases of `install`: each client's file, written and cleared again. */
export function installCases(windowsOf: () => Windows): void {
  async function run(words: readonly string[], cwd?: string): Promise<Installed> {
    const { code, stdout, stderr } = await runBridge(windowsOf(), [...words, '--json'], cwd ? { cwd } : {})
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout) as Installed
  }

  async function comesAndGoes(
    id: string,
    path: string,
    flags: readonly string[],
    cwd?: string,
  ): Promise<void> {
    const windows = windowsOf()
    const { did, file, name, entry, snippet } = await run(['install', id, url, ...flags], cwd)
    expect(file).toBe(path)
    if (findClient(id).format === 'toml') {
      expect([did, existsSync(windows.here(path))]).toEqual(['manual', false])
      // A literal string of TOML, or backslashes that are doubled.
      expect(snippet).toMatch(
        /'C:\\Program Files\\nodejs\\node\.exe'|"C:\\\\Program Files\\\\nodejs\\\\node\.exe"/,
      )
      return
    }
    expect([did, entriesIn(windows.here(path), id)]).toEqual(['added', { [name]: entry }])
    expect(JSON.stringify(entry)).toContain(JSON.stringify(launcherIn(windows, 'mcp-drawbridge')))
    expect(await run(['uninstall', id, ...flags], cwd)).toMatchObject({ did: 'removed', file: path })
    expect(entriesIn(windows.here(path), id)).toEqual({})
  }

  it('install in Windows writes the file of each client of a user whose name has a blank and other letters', async () => {
    const { home } = windowsOf()
    await Promise.all(files.map(([id, user]) => comesAndGoes(id, `${home}\\${user}`, [])))
  })

  it('install --project in Windows writes the file of the project in the folder', async () => {
    const windows = windowsOf()
    const folder = `${windows.home}\\Projekt Größe`
    mkdirSync(windows.here(folder))
    const rows = files.flatMap(([id, , project]) => (project === undefined ? [] : [[id, project] as const]))
    await Promise.all(
      rows.map(([id, project]) => comesAndGoes(id, `${folder}\\${project}`, ['--project'], folder)),
    )
  })

  it('install in Windows keeps the other entries, the byte order mark and the line ends of a file, and its entry starts', async () => {
    const windows = windowsOf()
    const remote = await startRemote({ era: 'legacy' })
    onTestFinished(() => remote.close())
    const path = windows.here(`${windows.home}\\.cursor\\mcp.json`)
    mkdirSync(windows.here(`${windows.home}\\.cursor`), { recursive: true })
    const before = '\uFEFF{\r\n  "mcpServers": {\r\n    "other": { "command": "x.exe" }\r\n  }\r\n}\r\n'
    writeFileSync(path, before)
    const { entry } = await run(['install', 'cursor', remote.url, '--name', 'mine'])
    const after = readFileSync(path, 'utf8')
    expect(after.startsWith('\uFEFF{\r\n')).toBe(true)
    expect(after.replaceAll('\r\n', '')).not.toContain('\n')
    expect(JSON.parse(after.slice(1))).toEqual({ mcpServers: { other: { command: 'x.exe' }, mine: entry } })
    expect((await run(['install', 'cursor', remote.url, '--name', 'mine'])).did).toBe('unchanged')
    const { command, args } = entry as { command: string; args: string[] }
    // With almost no environment, as clients start their servers.
    const { SystemRoot = '', USERPROFILE = '', NODE_OPTIONS = '' } = windows.environment
    const bridge = withClient(
      windows.start(command, [...args, '--no-open'], { env: { SystemRoot, USERPROFILE, NODE_OPTIONS } }),
    )
    onTestFinished(() => bridge.close())
    expect(await bridge.initialize()).toHaveProperty('result.serverInfo')
    await run(['uninstall', 'cursor', '--name', 'mine'])
    expect(JSON.parse(readFileSync(path, 'utf8').slice(1))).toEqual({
      mcpServers: { other: { command: 'x.exe' } },
    })
  })

  it('the texts of the bridge in Windows name its paths, and commands that its shells know', async () => {
    const windows = windowsOf()
    const help = await runBridge(windows, ['--help'])
    expect(help.stdout).toContain(String.raw`%USERPROFILE%\.drawbridge\config.json`)
    const set = await runBridge(windows, ['token', 'set', '--help'])
    expect(set.stdout).toContain('type token.txt | drawbridge token set')
    const { stderr } = await runBridge(windows, ['token', `${url}?a=1&b=2`])
    expect(stderr).toContain(`drawbridge login "${url}?a=1&b=2"`)
    for (const { stdout } of [help, set])
      expect(stdout).not.toMatch(/~\/|\/etc\/|chmod|0600|\bcurl |systemctl/)
  })
}
