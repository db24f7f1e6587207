import type { CopyFormat } from './popup-view.ts'

/** What a format is made of. */
export interface FormatInput {
  token: string
  /** Base URL of the MCP server. Formats that need one give nothing without it. */
  baseUrl: string | undefined
}

/**
 * The text to copy. Formats called `config-...`, and `test-vscode`, which lets VS Code ask for it, never contain the token.
 * Lines for a shell are quoted for sh, and so for bash and zsh.
 */
export function formatText(format: CopyFormat, { token, baseUrl = '' }: FormatInput): string {
  return makers[format](token, `${baseUrl}/mcp`)
}

const makers: Record<CopyFormat, (token: string, url: string) => string> = {
  token: (token) => token,
  header,
  environment: (token) => `export DRAWBRIDGE_TOKEN=${quote(token)}`,
  curl: (token, url) =>
    [
      `curl ${quote(url)}`,
      `-H ${quote(header(token))}`,
      "-H 'Content-Type: application/json'",
      "-H 'Accept: application/json, text/event-stream'",
      `-d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    ].join(' \\\n  '),
  // By stdin: everybody on the computer can see the arguments of a program.
  bridge: (token, url) => `printf %s ${quote(token)} | npx mcp-drawbridge token set ${quote(url)}`,
  'config-claude-code': (_token, url) => `claude mcp add --transport http ${nameOf(url)} ${quote(url)}`,
  'config-codex': (_token, url) => `codex mcp add ${nameOf(url)} --url ${quote(url)}`,
  'config-claude-desktop': (_token, url) =>
    mcpServers(nameOf(url), { command: 'npx', args: ['-y', 'mcp-drawbridge', url] }),
  'config-cursor': (_token, url) => mcpServers(nameOf(url), { url }),
  'config-vscode': (_token, url) => json({ servers: { [nameOf(url)]: { type: 'http', url } } }),
  'test-claude-code': (token, url) =>
    `claude mcp add --transport http ${nameOf(url)}-test ${quote(url)} --header ${quote(header(token))}`,
  'test-cursor': (token, url) =>
    mcpServers(`${nameOf(url)}-test`, { url, headers: { Authorization: `Bearer ${token}` } }),
  'test-vscode': (_token, url) => {
    const id = `${nameOf(url)}-token`
    const headers = { Authorization: `Bearer \${input:${id}}` }
    return json({
      inputs: [{ type: 'promptString', id, description: 'Access token', password: true }],
      servers: { [`${nameOf(url)}-test`]: { type: 'http', url, headers } },
    })
  },
}

function header(token: string): string {
  return `Authorization: Bearer ${token}`
}

function mcpServers(name: string, entry: object): string {
  return json({ mcpServers: { [name]: entry } })
}

/** One word of a POSIX shell that means exactly this text. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function json(value: object): string {
  return JSON.stringify(value, undefined, 2)
}

/** A name that every client takes, made of the host: `mcp.example.com` becomes `example-com`, as the bridge does it. */
function nameOf(url: string): string {
  const { hostname, port } = new URL(url)
  const labels = hostname.split(/[^a-z\d]+/).filter((label) => label !== '')
  if (labels.length > 2 && /^(?:mcp|www)$/.test(labels[0] ?? '')) labels.shift()
  return [...labels, ...(port === '' ? [] : [port])].join('-').slice(0, 58)
}
