import {
  bridgeCommand,
  claudeCodeCommand,
  codexCommand,
  geminiCommand,
  inspectorCommand,
  opencodeCommand,
  shellWord,
} from './add-command.ts'
import { bridgeText, type ConfiguredClient, configShapes, remoteText } from './config-shape.ts'
import { bridgeNeeds } from '../published.ts'
import { type LinkedClient, linkedClients } from './install-link.ts'
import type { NamedServer } from './server-name.ts'

/** One way to add a server to a client. `text` is the link to open, the command to run or the text to paste. */
export interface ClientWay {
  /**
   * `link`: one click opens the client. `command`: run in a terminal. `entry`: JSON for a configuration file.
   * `settings`: the address for a form of the client.
   */
  kind: 'link' | 'command' | 'entry' | 'settings'
  /** The usual path of the file, or the path through the settings. Names to type are in backticks. */
  place?: string
  text: (server: NamedServer) => string
  /** The user's next step. Commands are in backticks. */
  next: (server: NamedServer) => string
}

/** An MCP client, with the ways to add a server to it. */
export interface ClientRow {
  name: string
  /** Shortest first; none for a client that can only have the bridge installed. */
  ways: readonly ClientWay[]
  /** Runs on its vendor's servers: it cannot reach an address on this computer or in a private network. */
  isHosted?: true
  /** Signs in only if connecting requires it; otherwise it cannot use tools that require a sign-in. */
  needsChallenge?: true
}

/** Id of a client, as in `drawbridge install <id>` where the bridge supports it. */
export type ClientId = ConfiguredClient | LinkedClient | 'claude' | 'chatgpt' | 'inspector' | 'stdio'

/**
 * Every client that Drawbridge names: on the connect page, in this order, in the extension's popup, in `install` and
 * in the docs.
 */
export const clientTable: Readonly<Record<ClientId, ClientRow>> = {
  claude: {
    name: 'Claude',
    isHosted: true,
    ways: [
      settings(
        'Settings > Connectors > Add custom connector',
        'Paste this address, add it, choose Connect and sign in.',
      ),
    ],
  },
  chatgpt: {
    name: 'ChatGPT',
    isHosted: true,
    ways: [
      settings(
        'Settings > Apps > Advanced settings',
        'Turn on Developer mode and choose Create app. Paste this address as the MCP server URL, choose OAuth and sign in.',
      ),
    ],
  },
  cursor: {
    name: linkedClients.cursor.name,
    ways: [
      link('cursor'),
      entry('`~/.cursor/mcp.json`', 'cursor', 'Open the MCP page of the settings and sign in there.'),
    ],
  },
  vscode: {
    name: linkedClients.vscode.name,
    ways: [
      link('vscode'),
      entry(
        '`mcp.json`, which the command “MCP: Open User Configuration” opens',
        'vscode',
        'Run “MCP: List Servers”, choose it, then Start and sign in.',
      ),
    ],
  },
  'vscode-insiders': { name: linkedClients['vscode-insiders'].name, ways: [link('vscode-insiders')] },
  goose: { name: linkedClients.goose.name, ways: [link('goose')] },
  lmstudio: { name: linkedClients.lmstudio.name, ways: [link('lmstudio')] },
  'claude-code': {
    name: 'Claude Code',
    ways: [
      command(
        claudeCodeCommand,
        ({ name }) => `Then run \`claude mcp login ${shellWord(name)}\` and sign in.`,
      ),
    ],
  },
  codex: {
    name: 'Codex',
    ways: [command(codexCommand, () => 'A browser opens: sign in there.')],
  },
  gemini: {
    name: 'Gemini CLI',
    ways: [
      command(geminiCommand, ({ name }) => `Then start Gemini CLI, type \`/mcp auth ${name}\` and sign in.`),
    ],
  },
  opencode: {
    name: 'opencode',
    needsChallenge: true,
    ways: [
      command(
        opencodeCommand,
        ({ name }) => `Then run \`opencode mcp auth ${shellWord(name)}\` and sign in.`,
      ),
    ],
  },
  zed: {
    name: 'Zed',
    ways: [
      entry(
        '`settings.json`, which the command “zed: open settings file” opens',
        'zed',
        'Zed asks you to sign in.',
      ),
    ],
  },
  windsurf: {
    name: 'Windsurf',
    ways: [
      entry(
        '`~/.codeium/windsurf/mcp_config.json`',
        'windsurf',
        'Refresh the list of MCP servers in Cascade and sign in.',
      ),
    ],
  },
  devin: { name: 'Devin Desktop', ways: [] },
  inspector: {
    name: 'MCP Inspector',
    ways: [command(inspectorCommand, () => 'Open the address that it prints, connect and sign in.')],
  },
  'claude-desktop': {
    name: 'Claude Desktop',
    ways: [
      {
        kind: 'entry',
        place: '`claude_desktop_config.json`, which Settings > Developer > Edit Config opens',
        text: (server) => bridgeText(configShapes['claude-desktop'], server),
        next: () => `Quit Claude Desktop and start it again. A browser opens: sign in there. ${bridgeNeeds}`,
      },
    ],
  },
  stdio: {
    name: 'Other stdio clients',
    ways: [
      {
        ...command(
          bridgeCommand,
          () => `A browser opens when the client starts it: sign in there. ${bridgeNeeds}`,
        ),
        place: 'the command of an MCP server',
      },
    ],
  },
}

function link(client: LinkedClient): ClientWay {
  return {
    kind: 'link',
    text: linkedClients[client].link,
    next: () => 'Confirm it in the client, then sign in.',
  }
}

function command(text: ClientWay['text'], next: ClientWay['next']): ClientWay {
  return { kind: 'command', text, next }
}

function entry(place: string, client: ConfiguredClient, next: string): ClientWay {
  return {
    kind: 'entry',
    place,
    text: (server) => remoteText(configShapes[client], server),
    next: () => next,
  }
}

function settings(place: string, next: string): ClientWay {
  return { kind: 'settings', place, text: ({ url }) => url, next: () => next }
}
