import { posix, win32 } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { InstallSystem } from './client.ts'
import { findProgram } from './client-program.ts'
import { clientFile, clients, findClient } from './client-table.ts'
import { launchSample } from '../../tests/support/bridge/install/install-fixture.ts'

function system(options: Partial<InstallSystem>): InstallSystem {
  return {
    platform: 'linux',
    home: '/home/ada',
    environment: {},
    projectFolder: '/project',
    list: () => [],
    exists: () => false,
    run: () => undefined,
    ...options,
  }
}
const linux = system({})
const mac = system({ platform: 'darwin', home: '/Users/ada' })
const windows = system({
  platform: 'win32',
  home: String.raw`C:\Users\ada`,
  projectFolder: String.raw`C:\work`,
  environment: {
    APPDATA: String.raw`C:\Users\ada\AppData\Roaming`,
    LOCALAPPDATA: String.raw`C:\Users\ada\AppData\Local`,
  },
})

/** The folders that desktop programs keep their settings in. */
const settings = ['.config', 'Library/Application Support', String.raw`AppData\Roaming`]
const [config, roaming] = [Array<string>(3).fill('.config'), ['.config', '.config', settings[2] ?? '']]

it.each<[id: string, folders: string[], file: string, onWindows?: string]>([
  ['claude-desktop', settings, 'Claude/claude_desktop_config.json'],
  ['claude-code', [], '.claude.json'],
  ['cursor', [], '.cursor/mcp.json'],
  ['vscode', settings, 'Code/User/mcp.json'],
  ['windsurf', [], '.codeium/windsurf/mcp_config.json'],
  ['devin', roaming, 'devin/mcp_config.json'],
  ['codex', [], '.codex/config.toml'],
  ['gemini', [], '.gemini/settings.json'],
  ['opencode', config, 'opencode/opencode.jsonc'],
  ['zed', roaming, 'zed/settings.json', String.raw`Zed\settings.json`],
])(
  'the user file of %s has its path on each system',
  (id, folders, file, onWindows = file.replaceAll('/', '\\')) => {
    const client = findClient(id)
    const [onLinux, onMac, windowsFolder] = folders
    expect(clientFile(client, 'user', linux)).toBe(posix.join('/home/ada', onLinux ?? '', file))
    expect(clientFile(client, 'user', mac)).toBe(posix.join('/Users/ada', onMac ?? '', file))
    const path = win32.join(String.raw`C:\Users\ada`, windowsFolder ?? '', onWindows)
    expect(clientFile(client, 'user', windows)).toBe(path)
  },
)

it.each([
  ['codex', 'CODEX_HOME', '/x', '/x/config.toml'],
  ['claude-code', 'CLAUDE_CONFIG_DIR', '/x', '/x/.claude.json'],
  ['opencode', 'XDG_CONFIG_HOME', '/x', '/x/opencode/opencode.jsonc'],
  ['vscode', 'XDG_CONFIG_HOME', '/x', '/x/Code/User/mcp.json'],
  ['zed', 'XDG_CONFIG_HOME', '/x', '/x/zed/settings.json'],
  ['cursor', 'XDG_CONFIG_HOME', '/x', '/home/ada/.cursor/mcp.json'],
  ['opencode', 'XDG_CONFIG_HOME', '', '/home/ada/.config/opencode/opencode.jsonc'],
])('the user file of %s with %s=%s follows the variable', (id, variable, value, path) => {
  expect(clientFile(findClient(id), 'user', system({ environment: { [variable]: value } }))).toBe(path)
})

it('the user file of opencode is the one that exists', () => {
  const json = '/home/ada/.config/opencode/opencode.json'
  const withJson = system({ exists: (path) => path === json })
  expect(clientFile(findClient('opencode'), 'user', withJson)).toBe(json)
  expect(clientFile(findClient('opencode'), 'user', system({ exists: () => true }))).toBe(`${json}c`)
})

it('the user file of Claude Desktop on Windows belongs to the packaged application, if there is one', () => {
  const packed = String.raw`C:\Users\ada\AppData\Local\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude`
  const newer = String.raw`C:\Users\ada\AppData\Local\Claude-Data\claude_pzs8sxrjxfjjc`
  const list: InstallSystem['list'] = (folder) => {
    if (folder.endsWith('Packages')) return ['Other_1', 'Claude_pzs8sxrjxfjjc']
    return folder.endsWith('Claude-Data') ? ['claude_pzs8sxrjxfjjc', 'logs'] : []
  }
  const client = findClient('claude-desktop')
  const file = (there: readonly string[]): string =>
    clientFile(client, 'user', { ...windows, list, exists: (path) => there.includes(path) })
  expect(file([packed])).toBe(`${packed}\\claude_desktop_config.json`)
  expect(file([packed, newer])).toBe(`${newer}\\claude_desktop_config.json`)
  expect(file([packed, `${packed}\\claude_desktop_config.json`, newer])).toBe(
    `${packed}\\claude_desktop_config.json`,
  )
  expect(file([])).toContain('Roaming')
})

describe('the program of a client', () => {
  const client = findClient('gemini')
  const find = (where: InstallSystem, search: string, file: string): string | undefined =>
    findProgram(client, {
      ...where,
      environment: { [where === windows ? 'Path' : 'PATH']: search },
      exists: (path) => path === file,
    })

  it('the program of a client is the first one in an absolute folder of PATH that belongs to no project', () => {
    expect(find(linux, '/a::b:/usr/bin', '/usr/bin/gemini')).toBe('/usr/bin/gemini')
    expect(find(linux, 'b:.:', 'b/gemini')).toBeUndefined()
    const local = '/project/node_modules/.bin'
    expect(find(linux, `${local}:/a`, `${local}/gemini`)).toBeUndefined()
    expect(findProgram(findClient('cursor'), { ...linux, exists: () => true })).toBeUndefined()
  })

  it('the program of a client is an executable on Windows, not a script, which needs a shell', () => {
    const folder = String.raw`C:\Users\ada\bin`
    const search = String.raw`relative;${folder}`
    expect(find(windows, search, `${folder}\\gemini.exe`)).toBe(`${folder}\\gemini.exe`)
    expect(find(windows, search, `${folder}\\gemini.cmd`)).toBeUndefined()
    expect(find(windows, search, `${folder}\\gemini`)).toBeUndefined()
  })
})

it.each(clients.map((client) => [client.id, client.projectFile] as const))(
  'the project file of %s lies in the project, or there is none',
  (id, file) => {
    const client = findClient(id)
    if (file === undefined) {
      expect(() => clientFile(client, 'project', linux)).toThrow('has no file for one project')
    } else {
      expect(clientFile(client, 'project', linux)).toBe(`/project/${file}`)
      expect(clientFile(client, 'project', windows)).toBe(`C:\\work\\${file.replaceAll('/', '\\')}`)
    }
  },
)

const { command, args } = launchSample
const env = { A: 'b' }
it.each([
  ['claude-desktop', 'mcpServers', { command, args, env }],
  ['claude-code', 'mcpServers', { type: 'stdio', command, args, env }],
  ['cursor', 'mcpServers', { type: 'stdio', command, args, env }],
  ['vscode', 'servers', { type: 'stdio', command, args, env }],
  ['windsurf', 'mcpServers', { command, args, env }],
  ['devin', 'mcpServers', { command, args, env }],
  ['codex', 'mcp_servers', { command, args, env }],
  ['gemini', 'mcpServers', { command, args, env }],
  ['opencode', 'mcp', { type: 'local', command: [command, ...args], environment: env }],
  ['zed', 'context_servers', { source: 'custom', command, args, env }],
])('the entry of %s is under %s', (id, key, entry) => {
  const client = findClient(id)
  expect(client.entry({ ...launchSample, env })).toEqual(entry)
  expect(client.keys).toEqual([key])
  expect(client.entry(launchSample)).not.toHaveProperty(id === 'opencode' ? 'environment' : 'env')
})

it('findClient lists the known clients for an unknown one', () => {
  expect(() => findClient('claude')).toThrow('"claude" is not a known client')
})
