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
import { bridgeTexts, clientTexts, type TextedClient } from './client-texts.ts'
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
  /** The key of both texts in tables of other languages, for the first way of a client unless it is a link. */
  texts?: TextedClient
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
  claude: { name: 'Claude', isHosted: true, ways: [settings('claude')] },
  chatgpt: { name: 'ChatGPT', isHosted: true, ways: [settings('chatgpt')] },
  cursor: {
    name: linkedClients.cursor.name,
    ways: [
      link('cursor'),
      entry('cursor', {
        place: '`~/.cursor/mcp.json` (on Windows `%USERPROFILE%\\.cursor\\mcp.json`)',
        next: () => 'Open the MCP page of the settings and sign in there.',
      }),
    ],
  },
  vscode: {
    name: linkedClients.vscode.name,
    ways: [
      link('vscode'),
      entry('vscode', {
        place: '`mcp.json`, which the command “MCP: Open User Configuration” opens',
        next: () => 'Run “MCP: List Servers”, choose it, then Start and sign in.',
      }),
    ],
  },
  'vscode-insiders': { name: linkedClients['vscode-insiders'].name, ways: [link('vscode-insiders')] },
  goose: { name: linkedClients.goose.name, ways: [link('goose')] },
  lmstudio: { name: linkedClients.lmstudio.name, ways: [link('lmstudio')] },
  'claude-code': { name: 'Claude Code', ways: [command('claude-code', claudeCodeCommand)] },
  codex: { name: 'Codex', ways: [command('codex', codexCommand)] },
  gemini: { name: 'Gemini CLI', ways: [command('gemini', geminiCommand)] },
  opencode: { name: 'opencode', needsChallenge: true, ways: [command('opencode', opencodeCommand)] },
  zed: { name: 'Zed', ways: [entry('zed', textsOf('zed'))] },
  windsurf: { name: 'Windsurf', ways: [entry('windsurf', textsOf('windsurf'))] },
  devin: { name: 'Devin Desktop', ways: [] },
  inspector: { name: 'MCP Inspector', ways: [command('inspector', inspectorCommand)] },
  'claude-desktop': {
    name: 'Claude Desktop',
    ways: [
      {
        kind: 'entry',
        text: (server) => bridgeText(configShapes['claude-desktop'], server),
        ...textsOf('claude-desktop'),
      },
    ],
  },
  stdio: { name: clientTexts.stdio.name, ways: [command('stdio', bridgeCommand)] },
}

type WayTexts = Pick<ClientWay, 'place' | 'texts' | 'next'>

function textsOf(client: TextedClient): WayTexts {
  const { next, place }: { next: string; place?: string } = clientTexts[client]
  return {
    ...(place !== undefined && { place }),
    texts: client,
    next: ({ name }) =>
      next.replace('{name}', () => shellWord(name)).replace('{bridge}', bridgeTexts[bridgeNeeds]),
  }
}

function link(client: LinkedClient): ClientWay {
  return {
    kind: 'link',
    text: linkedClients[client].link,
    next: () => 'Confirm it in the client, then sign in.',
  }
}

function command(client: TextedClient, text: ClientWay['text']): ClientWay {
  return { kind: 'command', text, ...textsOf(client) }
}

function entry(client: ConfiguredClient, texts: WayTexts): ClientWay {
  return { kind: 'entry', text: (server) => remoteText(configShapes[client], server), ...texts }
}

function settings(client: TextedClient): ClientWay {
  return { kind: 'settings', text: ({ url }) => url, ...textsOf(client) }
}
