import { bridgePackage } from './add-command.ts'
import type { NamedServer } from './server-name.ts'

/** How a client starts a server that is a program. */
export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

type Entry = Record<string, unknown>

/** The part of a client's configuration that lists its servers. */
export interface ConfigShape {
  /** Keys on the way to the list of servers. */
  keys: readonly string[]
  /** The entry of a server that the client starts as a program. */
  programEntry: (launch: Launch) => Entry
  /** The entry of a server that the client calls at a URL. */
  remoteEntry: (url: string) => Entry
}

/** Claude Desktop calls no URL from its file, but keeps to the shape that others took over. */
export const claudeDesktopShape: ConfigShape = {
  keys: ['mcpServers'],
  programEntry: startedBy,
  remoteEntry: (url) => ({ url }),
}

/** Cursor and LM Studio, which follows it. */
export const cursorShape: ConfigShape = {
  keys: ['mcpServers'],
  programEntry: (launch) => ({ type: 'stdio', ...startedBy(launch) }),
  remoteEntry: (url) => ({ url }),
}

/** VS Code, all its editions. */
export const vsCodeShape: ConfigShape = {
  keys: ['servers'],
  programEntry: (launch) => ({ type: 'stdio', ...startedBy(launch) }),
  remoteEntry: (url) => ({ type: 'http', url }),
}

/** The clients whose configuration file has a known shape. */
export type ConfiguredClient =
  | 'claude-desktop'
  | 'claude-code'
  | 'cursor'
  | 'vscode'
  | 'windsurf'
  | 'devin'
  | 'codex'
  | 'gemini'
  | 'opencode'
  | 'zed'

/** The {@link ConfigShape} of each of them. Who needs one shape imports that one: the popup of the extension is small. */
export const configShapes: Readonly<Record<ConfiguredClient, ConfigShape>> = {
  'claude-desktop': claudeDesktopShape,
  'claude-code': {
    keys: ['mcpServers'],
    programEntry: (launch) => ({ type: 'stdio', ...startedBy(launch) }),
    remoteEntry: (url) => ({ type: 'http', url }),
  },
  cursor: cursorShape,
  vscode: vsCodeShape,
  windsurf: {
    keys: ['mcpServers'],
    programEntry: startedBy,
    remoteEntry: (url) => ({ serverUrl: url }),
  },
  devin: { keys: ['mcpServers'], programEntry: startedBy, remoteEntry: (url) => ({ url }) },
  codex: { keys: ['mcp_servers'], programEntry: startedBy, remoteEntry: (url) => ({ url }) },
  gemini: {
    keys: ['mcpServers'],
    programEntry: startedBy,
    remoteEntry: (url) => ({ type: 'http', url }),
  },
  opencode: {
    keys: ['mcp'],
    programEntry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      ...(Object.keys(env).length > 0 && { environment: env }),
    }),
    remoteEntry: (url) => ({ type: 'remote', url }),
  },
  zed: {
    keys: ['context_servers'],
    // Versions of 2025 refuse an entry without its source; later ones do not look at it.
    programEntry: (launch) => ({ source: 'custom', ...startedBy(launch) }),
    remoteEntry: (url) => ({ url }),
  },
}

/** What an otherwise empty configuration file of that shape holds with one server in it. */
export function configText({ keys }: Pick<ConfigShape, 'keys'>, name: string, entry: Entry): string {
  let value: Entry = { [name]: entry }
  for (const key of keys.toReversed()) value = { [key]: value }
  return JSON.stringify(value, undefined, 2)
}

/** {@link configText} of a server that the client calls at its URL. */
export function remoteText(shape: ConfigShape, { name, url }: NamedServer): string {
  return configText(shape, name, shape.remoteEntry(url))
}

/** {@link configText} of a server that the client reaches through the bridge. */
export function bridgeText(shape: ConfigShape, { name, url }: NamedServer): string {
  const launch = { command: 'npx', args: ['-y', bridgePackage, url], env: {} }
  return configText(shape, name, shape.programEntry(launch))
}

function startedBy({ command, args, env }: Launch): Entry {
  return { command, args: [...args], ...(Object.keys(env).length > 0 && { env: { ...env } }) }
}
