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
 * contain the token. Shell lines are quoted for sh, and so for bash and zsh; `onWindows` for PowerShell. `baseUrl` belongs to the MCP
 * server, for formats that need one.
 */
export function formatText(
  format: CopyFormat,
  {
    token,
    baseUrl = '',
    onWindows = false,
  }: { token: string; baseUrl: string | undefined; onWindows?: boolean },
): string {
  const maker = (onWindows && windowsMakers[format]) || makers[format]
  return maker(token, `${baseUrl}/mcp`)
}

/**
 * Returns the link that adds the server at a base URL to a client. Never contains the token: the client signs in on
 * its own.
 */
export function clientLink(client: LinkedClient, baseUrl: string): string {
  return linkedClients[client].link(named(`${baseUrl}/mcp`))
}

type Maker = (token: string, url: string) => string

const listRequest = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
const headersOf = (token: string): string[] => [
  header(token),
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
]

const makers: Record<CopyFormat, Maker> = {
  token: (token) => token,
  header,
  environment: (token) => `export DRAWBRIDGE_TOKEN=${quotedWord(token)}`,
  curl: (token, url) =>
    [
      `curl ${quotedWord(url)}`,
      ...headersOf(token).map((line) => `-H ${quotedWord(line)}`),
      `-d ${quotedWord(listRequest)}`,
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

/** For PowerShell, where `curl` alone may be another program, and version 5 takes the quotes out of arguments: they go through stdin. */
const windowsMakers: Partial<Record<CopyFormat, Maker>> = {
  environment: (token) => `$env:DRAWBRIDGE_TOKEN = ${powerShellWord(token)}`,
  curl: (token, url) =>
    [
      `${powerShellWord(listRequest)} | curl.exe ${powerShellWord(url)}`,
      ...headersOf(token).map((line) => `-H ${powerShellWord(line)}`),
      "-d '@-'",
    ].join(' `\n  '),
  bridge: (token, url) =>
    `${powerShellWord(token)} | ${bridgeWords.join(' ')} token set ${powerShellWord(url)}`,
  'test-claude-code': (token, url) =>
    `${claudeCodeCommand(forTest(url))} --header ${powerShellWord(header(token))}`,
}

/** Quotes a text as one word of PowerShell, which ends a text at typographic quotes too. */
function powerShellWord(text: string): string {
  return `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`
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
