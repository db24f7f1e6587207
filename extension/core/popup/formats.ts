import { claudeCodeCommand, codexCommand, quotedWord } from '@drawbridge/shared/clients/add-command.ts'
import {
  bridgeText,
  claudeDesktopShape,
  configText,
  cursorShape,
  remoteText,
  vsCodeShape,
} from '@drawbridge/shared/clients/config-shape.ts'
import { type LinkedClient, linkedClients } from '@drawbridge/shared/clients/install-link.ts'
import { bridgeWords } from '@drawbridge/shared/published.ts'
import { type NamedServer, serverNameOf } from '@drawbridge/shared/clients/server-name.ts'

/** Formats for copying from a ready session. All but the first three need an MCP server. */
export type CopyFormat =
  | 'token'
  | 'header'
  | 'environment'
  | 'curl'
  | 'bridge'
  | `config-${'claude-code' | 'claude-desktop' | 'cursor' | 'vscode' | 'codex'}`
  | `test-${'claude-code' | 'cursor' | 'vscode'}`

/**
 * Returns the text to copy. Formats called `config-...`, and `test-vscode`, where VS Code prompts for it, never
 * contain the token. Shell lines are quoted for sh, and so for bash and zsh. `baseUrl` belongs to the MCP server,
 * for formats that need one.
 */
export function formatText(
  format: CopyFormat,
  { token, baseUrl = '' }: { token: string; baseUrl: string | undefined },
): string {
  return makers[format](token, `${baseUrl}/mcp`)
}

/**
 * Returns the link that adds the server at a base URL to a client. Never contains the token: the client signs in on
 * its own.
 */
export function clientLink(client: LinkedClient, baseUrl: string): string {
  return linkedClients[client].link(named(`${baseUrl}/mcp`))
}

const makers: Record<CopyFormat, (token: string, url: string) => string> = {
  token: (token) => token,
  header,
  environment: (token) => `export DRAWBRIDGE_TOKEN=${quotedWord(token)}`,
  curl: (token, url) =>
    [
      `curl ${quotedWord(url)}`,
      `-H ${quotedWord(header(token))}`,
      "-H 'Content-Type: application/json'",
      "-H 'Accept: application/json, text/event-stream'",
      `-d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    ].join(' \\\n  '),
  // Through stdin: arguments are visible to everyone on the computer.
  bridge: (token, url) =>
    `printf %s ${quotedWord(token)} | ${bridgeWords.join(' ')} token set ${quotedWord(url)}`,
  'config-claude-code': (_token, url) => claudeCodeCommand(named(url)),
  'config-codex': (_token, url) => codexCommand(named(url)),
  'config-claude-desktop': (_token, url) => bridgeText(claudeDesktopShape, named(url)),
  'config-cursor': (_token, url) => remoteText(cursorShape, named(url)),
  'config-vscode': (_token, url) => remoteText(vsCodeShape, named(url)),
  'test-claude-code': (token, url) =>
    `${claudeCodeCommand(forTest(url))} --header ${quotedWord(header(token))}`,
  'test-cursor': (token, url) => {
    const headers = { Authorization: `Bearer ${token}` }
    return configText(cursorShape, forTest(url).name, {
      ...cursorShape.remoteEntry(url),
      headers,
    })
  },
  'test-vscode': (_token, url) => {
    const id = `${serverNameOf(url)}-token`
    const headers = { Authorization: `Bearer \${input:${id}}` }
    return json({
      inputs: [{ type: 'promptString', id, description: 'Access token', password: true }],
      servers: { [`${serverNameOf(url)}-test`]: { type: 'http', url, headers } },
    })
  },
}

function header(token: string): string {
  return `Authorization: Bearer ${token}`
}

function json(value: object): string {
  return JSON.stringify(value, undefined, 2)
}

function named(url: string): NamedServer {
  return { name: serverNameOf(url), url }
}

/** Names the test entry differently, so that it does not replace the one that signs in. */
function forTest(url: string): NamedServer {
  return { name: `${serverNameOf(url)}-test`, url }
}
