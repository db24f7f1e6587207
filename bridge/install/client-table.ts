import { posix, win32 } from 'node:path'
import { clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { type ConfiguredClient, configShapes } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client, InstallSystem, Places, Scope } from './client.ts'
import { claudeProgram, codeProgram, codexProgram, geminiProgram, opencodeProgram } from './client-program.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'

/** The folders in which clients keep their files, by the rules of the system's platform. */
function placesOf(system: InstallSystem): Places {
  const { platform, home, environment } = system
  const at = (platform === 'win32' ? win32 : posix).join
  const config = environment['XDG_CONFIG_HOME'] || at(home, '.config')
  const desktop: Partial<Record<NodeJS.Platform, string>> = {
    win32: environment['APPDATA'] ?? at(home, 'AppData', 'Roaming'),
    darwin: at(home, 'Library', 'Application Support'),
  }
  return { ...system, at, config, data: desktop[platform] ?? config }
}

/** Returns the members of a client shared by all users of the client table. */
function known(id: ConfiguredClient): Pick<Client, 'id' | 'title' | 'keys' | 'entry'> {
  const { keys, programEntry } = configShapes[id]
  return { id, title: clientTable[id].name, keys, entry: programEntry }
}

/** Every supported client. Values that were not measured come from the client's documentation. */
export const clients: readonly Client[] = [
  {
    ...known('claude-desktop'),
    files: claudeDesktopFiles,
    afterwards: () => [
      'Quit Claude Desktop and start it again.',
      'Settings > Developer lists the server and its log.',
    ],
  },
  {
    ...known('claude-code'),
    program: claudeProgram,
    files: ({ at, home, environment }) => [at(environment['CLAUDE_CONFIG_DIR'] || home, '.claude.json')],
    projectFile: '.mcp.json',
    afterwards: (name) => [
      `claude mcp get ${name} shows whether it connects.`,
      'Running sessions do not see it: start a new one.',
    ],
  },
  {
    ...known('cursor'),
    files: ({ at, home }) => [at(home, '.cursor', 'mcp.json')],
    projectFile: '.cursor/mcp.json',
    afterwards: () => ['The MCP page of the settings of Cursor lists the server; switch it on there.'],
  },
  {
    ...known('vscode'),
    program: codeProgram,
    files: ({ at, data }) => [at(data, 'Code', 'User', 'mcp.json')],
    projectFile: '.vscode/mcp.json',
    afterwards: (name) => [`Run "MCP: List Servers" in the command palette, choose ${name}, then Start.`],
  },
  {
    ...known('windsurf'),
    files: ({ at, home }) => [at(home, '.codeium', 'windsurf', 'mcp_config.json')],
    afterwards: () => [
      'Refresh the list of MCP servers in Cascade.',
      'Devin Desktop, which Windsurf became, reads another file: drawbridge install devin.',
    ],
  },
  {
    ...known('devin'),
    // Not $XDG_CONFIG_HOME: its documentation names only ~/.config.
    files: ({ at, home, data, platform }) => [
      at(platform === 'win32' ? data : at(home, '.config'), 'devin', 'mcp_config.json'),
    ],
    projectFile: '.devin/mcp_config.json',
    afterwards: () => ['The MCP section of the agent panel lists the server.'],
  },
  {
    ...known('codex'),
    format: 'toml',
    program: codexProgram,
    files: ({ at, home, environment }) => [
      at(environment['CODEX_HOME'] || at(home, '.codex'), 'config.toml'),
    ],
    projectFile: '.codex/config.toml',
    afterwards: (name) => [`codex mcp get ${name} shows the entry; /mcp inside Codex shows its tools.`],
  },
  {
    ...known('gemini'),
    program: geminiProgram,
    files: ({ at, home }) => [at(home, '.gemini', 'settings.json')],
    projectFile: '.gemini/settings.json',
    afterwards: () => [
      'gemini mcp list shows whether it connects, in a folder that Gemini CLI trusts: elsewhere it starts no servers.',
    ],
  },
  {
    ...known('opencode'),
    program: opencodeProgram,
    files: ({ at, config }) => [
      at(config, 'opencode', 'opencode.jsonc'),
      at(config, 'opencode', 'opencode.json'),
    ],
    projectFile: 'opencode.json',
    afterwards: () => ['opencode mcp list shows whether it connects.'],
  },
  {
    ...known('zed'),
    files: ({ at, home, data, platform }) => [
      platform === 'darwin'
        ? at(home, '.config', 'zed', 'settings.json')
        : at(data, platform === 'win32' ? 'Zed' : 'zed', 'settings.json'),
    ],
    projectFile: '.zed/settings.json',
    afterwards: () => ['The settings of the Agent Panel list the server; its dot is green once it runs.'],
  },
]

/** Finds a client by id. Throws {@link ConfigError} that lists all ids. */
export function findClient(id: string | undefined): Client {
  const client = clients.find((row) => row.id === id)
  if (client) return client
  const known = clients.map((row) => row.id).join(', ')
  const problem = id === undefined ? 'The client is missing.' : `${JSON.stringify(id)} is not a known client.`
  throw new ConfigError([problem], `Known are ${known}.`)
}

/**
 * Recent Windows installers package the application, and Windows gives packaged applications a folder of their own:
 * an entry in `%APPDATA%\Claude` is then never read. Only existing folders show which one it is.
 */
function claudeDesktopFiles({ at, home, data, platform, environment, list, exists }: Places): string[] {
  const name = 'claude_desktop_config.json'
  const usual = at(data, 'Claude', name)
  if (platform !== 'win32') return [usual]
  const local = environment['LOCALAPPDATA'] ?? at(home, 'AppData', 'Local')
  const own = (parent: string, pattern: RegExp, ...below: string[]): string[] =>
    list(parent)
      .filter((folder) => pattern.test(folder))
      .map((folder) => at(parent, folder, ...below))
      .filter((folder) => exists(folder))
      .map((folder) => at(folder, name))
  return [
    ...own(at(local, 'Claude-Data'), /^claude(?:_|$)/i),
    ...own(at(local, 'Packages'), /^Claude_/i, 'LocalCache', 'Roaming', 'Claude'),
    usual,
  ]
}

/** Returns the first candidate that exists, or else the first. Throws {@link ConfigError} if the client lacks that scope. */
export function clientFile(client: Client, scope: Scope, system: InstallSystem): string {
  const places = placesOf(system)
  if (scope === 'project') {
    if (client.projectFile === undefined) {
      throw new ConfigError([`${client.title} has no file for one project.`], 'Leave out --project.')
    }
    return places.at(system.projectFolder, ...client.projectFile.split('/'))
  }
  const files = client.files(places)
  const [first = ''] = files
  return files.find((file) => system.exists(file)) ?? first
}
