import { bridgeWords } from '../published.ts'
import type { NamedServer } from './server-name.ts'

/** The command with which a client starts a server. */
export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

type Entry = Record<string, unknown>

/** The server list in a client's configuration. */
export interface ConfigShape {
  /** Keys leading to the server list. */
  keys: readonly string[]
  /** Builds the entry of a server that the client starts as a program. */
  programEntry: (launch: Launch) => Entry
  /** Builds the entry of a server that the client calls at a URL. */
  remoteEntry: (url: string) => Entry
}

/** Claude Desktop does not call URLs from its file, but uses the format that others adopted. */
export const claudeDesktopShape: ConfigShape = {
  keys: ['mcpServers'],
  programEntry: startedBy,
  remoteEntry: (url) => ({ url }),
}

/** Cursor, and LM Studio, which follows it. */
export const cursorShape: ConfigShape = {
  keys: ['mcpServers'],
  programEntry: (launch) => ({ type: 'stdio', ...startedBy(launch) }),
  remoteEntry: (url) => ({ url }),
}

/** All editions of VS Code. */
export const vsCodeShape: ConfigShape = {
  keys: ['servers'],
  programEntry: (launch) => ({ type: 'stdio', ...startedBy(launch) }),
  remoteEntry: (url) => ({ type: 'http', url }),
}

/** The clients with a known configuration format. */
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

/** The {@link ConfigShape} of each client. Import single shapes where size matters, as in the extension's popup. */
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
    // Versions of 2025 reject an entry without `source`; later ones ignore it.
    programEntry: (launch) => ({ source: 'custom', ...startedBy(launch) }),
    remoteEntry: (url) => ({ url }),
  },
}

/** Returns an otherwise empty configuration file with one server. */
export function configText({ keys }: Pick<ConfigShape, 'keys'>, name: string, entry: Entry): string {
  let value: Entry = { [name]: entry }
  for (const key of keys.toReversed()) value = { [key]: value }
  return JSON.stringify(value, undefined, 2)
}

/** Returns {@link configText} for a server that the client calls at its URL. */
export function remoteText(shape: ConfigShape, { name, url }: NamedServer): string {
  return configText(shape, name, shape.remoteEntry(url))
}

/** Returns {@link configText} for a server that the client reaches through the bridge. */
export function bridgeText(shape: ConfigShape, { name, url }: NamedServer): string {
  const [command, ...args] = bridgeWords
  const launch = { command, args: [...args, url], env: {} }
  return configText(shape, name, shape.programEntry(launch))
}

function startedBy({ command, args, env }: Launch): Entry {
  return { command, args: [...args], ...(Object.keys(env).length > 0 && { env: { ...env } }) }
}
