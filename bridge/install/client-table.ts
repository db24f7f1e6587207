import { posix, win32 } from 'node:path'
import { clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { type ConfiguredClient, configShapes } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client, InstallSystem, Scope } from './client.ts'
import { InstallError } from './install-error.ts'

/** Joins a path by the rules of the system's platform. */
function joinOn(system: InstallSystem, ...parts: string[]): string {
  return (system.platform === 'win32' ? win32 : posix).join(...parts)
}

/** Returns a path below the home folder. */
function inHome(system: InstallSystem, ...parts: string[]): string {
  return joinOn(system, system.home, ...parts)
}

/** Returns a path below the settings folder of desktop programs, as Electron determines it. */
function inApplicationData(system: InstallSystem, ...parts: string[]): string {
  if (system.platform === 'win32') return joinOn(system, roaming(system), ...parts)
  if (system.platform === 'darwin') return inHome(system, 'Library', 'Application Support', ...parts)
  return inXdgConfig(system, ...parts)
}

/** Returns a path below `$XDG_CONFIG_HOME`, or else `~/.config`. */
function inXdgConfig(system: InstallSystem, ...parts: string[]): string {
  const folder = system.environment['XDG_CONFIG_HOME']
  return folder ? joinOn(system, folder, ...parts) : inHome(system, '.config', ...parts)
}

/** Returns a path below the folder in a variable, or else below `otherwise` in the home folder. */
function inFolderOf(
  system: InstallSystem,
  variable: string,
  otherwise: readonly string[],
  ...parts: string[]
): string {
  const folder = system.environment[variable]
  return folder ? joinOn(system, folder, ...parts) : inHome(system, ...otherwise, ...parts)
}

/** Returns `%LOCALAPPDATA%` on Windows. */
function localApplicationData(system: InstallSystem): string {
  return system.environment['LOCALAPPDATA'] ?? inHome(system, 'AppData', 'Local')
}

function roaming(system: InstallSystem): string {
  return system.environment['APPDATA'] ?? inHome(system, 'AppData', 'Roaming')
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
    format: 'json',
    files: claudeDesktopFiles,
    isPrivate: false,
    afterwards: () => [
      'Quit Claude Desktop and start it again.',
      'Settings > Developer lists the server and its log.',
    ],
  },
  {
    ...known('claude-code'),
    format: 'json',
    files: (system) => [inFolderOf(system, 'CLAUDE_CONFIG_DIR', [], '.claude.json')],
    projectFile: '.mcp.json',
    isPrivate: true,
    afterwards: (name) => [
      `claude mcp get ${name} shows whether it connects.`,
      'Running sessions do not see it: start a new one.',
    ],
  },
  {
    ...known('cursor'),
    format: 'jsonc',
    files: (system) => [inHome(system, '.cursor', 'mcp.json')],
    projectFile: '.cursor/mcp.json',
    isPrivate: false,
    afterwards: () => ['The MCP page of the settings of Cursor lists the server; switch it on there.'],
  },
  {
    ...known('vscode'),
    format: 'jsonc',
    files: (system) => [inApplicationData(system, 'Code', 'User', 'mcp.json')],
    projectFile: '.vscode/mcp.json',
    isPrivate: false,
    afterwards: (name) => [`Run "MCP: List Servers" in the command palette, choose ${name}, then Start.`],
  },
  {
    ...known('windsurf'),
    format: 'json',
    files: (system) => [inHome(system, '.codeium', 'windsurf', 'mcp_config.json')],
    isPrivate: false,
    afterwards: () => [
      'Refresh the list of MCP servers in Cascade.',
      'Devin Desktop, which Windsurf became, reads another file: drawbridge install devin.',
    ],
  },
  {
    ...known('devin'),
    format: 'jsonc',
    // Not $XDG_CONFIG_HOME: its documentation names only ~/.config.
    files: (system) => [
      system.platform === 'win32'
        ? inApplicationData(system, 'devin', 'mcp_config.json')
        : inHome(system, '.config', 'devin', 'mcp_config.json'),
    ],
    projectFile: '.devin/mcp_config.json',
    isPrivate: false,
    afterwards: () => ['The MCP section of the agent panel lists the server.'],
  },
  {
    ...known('codex'),
    format: 'toml',
    files: (system) => [inFolderOf(system, 'CODEX_HOME', ['.codex'], 'config.toml')],
    projectFile: '.codex/config.toml',
    isPrivate: true,
    afterwards: (name) => [`codex mcp get ${name} shows the entry; /mcp inside Codex shows its tools.`],
  },
  {
    ...known('gemini'),
    format: 'jsonc',
    files: (system) => [inHome(system, '.gemini', 'settings.json')],
    projectFile: '.gemini/settings.json',
    isPrivate: false,
    afterwards: () => [
      'gemini mcp list shows whether it connects, in a folder that Gemini CLI trusts: elsewhere it starts no servers.',
    ],
  },
  {
    ...known('opencode'),
    format: 'jsonc',
    files: (system) => [
      inXdgConfig(system, 'opencode', 'opencode.jsonc'),
      inXdgConfig(system, 'opencode', 'opencode.json'),
    ],
    projectFile: 'opencode.json',
    isPrivate: false,
    afterwards: () => ['opencode mcp list shows whether it connects.'],
  },
  {
    ...known('zed'),
    format: 'jsonc',
    files: (system) => [
      system.platform === 'darwin'
        ? inHome(system, '.config', 'zed', 'settings.json')
        : inApplicationData(system, system.platform === 'win32' ? 'Zed' : 'zed', 'settings.json'),
    ],
    projectFile: '.zed/settings.json',
    isPrivate: false,
    afterwards: () => ['The settings of the Agent Panel list the server; its dot is green once it runs.'],
  },
]

/** Finds a client by id. Throws {@link InstallError} that lists all ids. */
export function findClient(id: string): Client {
  const client = clients.find((row) => row.id === id)
  if (client) return client
  const known = clients.map((row) => row.id).join(', ')
  throw new InstallError('usage', `${JSON.stringify(id)} is not a known client.`, `Known are ${known}.`)
}

/**
 * Recent Windows installers package the application, and Windows gives packaged applications a folder of their own:
 * an entry in `%APPDATA%\Claude` is then never read. Only existing folders show which one it is.
 */
function claudeDesktopFiles(system: InstallSystem): readonly string[] {
  const name = 'claude_desktop_config.json'
  const usual = inApplicationData(system, 'Claude', name)
  if (system.platform !== 'win32') return [usual]
  const local = localApplicationData(system)
  const own = (parent: string, pattern: RegExp, ...below: string[]): string[] =>
    system
      .list(parent)
      .filter((folder) => pattern.test(folder))
      .map((folder) => joinOn(system, parent, folder, ...below))
      .filter((folder) => system.exists(folder))
      .map((folder) => joinOn(system, folder, name))
  return [
    ...own(joinOn(system, local, 'Claude-Data'), /^claude(?:_|$)/i),
    ...own(joinOn(system, local, 'Packages'), /^Claude_/i, 'LocalCache', 'Roaming', 'Claude'),
    usual,
  ]
}

/**
 * Returns the file that a client reads: the first candidate that exists, or else the first candidate. Throws {@link
 * InstallError} if the client has no such scope.
 */
export function clientFile(client: Client, scope: Scope, system: InstallSystem): string {
  if (scope === 'project') {
    if (client.projectFile === undefined) {
      throw new InstallError('usage', `${client.title} has no file for one project.`, 'Leave out --project.')
    }
    return joinOn(system, system.projectFolder, ...client.projectFile.split('/'))
  }
  const files = client.files(system)
  const [first = ''] = files
  return files.find((file) => system.exists(file)) ?? first
}
