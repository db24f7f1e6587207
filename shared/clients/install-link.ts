import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import type { NamedServer } from './server-name.ts'

/** The clients that a link opens to add a server, in the order in which they are shown. */
export type LinkedClient = 'cursor' | 'vscode' | 'vscode-insiders' | 'goose' | 'lmstudio'

/** Name and link of each of them, for pages that show nothing else: `clientTable` has every client, these among them. */
export const linkedClients: Readonly<
  Record<LinkedClient, { name: string; link: (server: NamedServer) => string }>
> = {
  cursor: {
    name: 'Cursor',
    link: (server) => base64Link('cursor://anysphere.cursor-deeplink/mcp/install', server),
  },
  vscode: { name: 'VS Code', link: (server) => vsCodeLink('vscode', server) },
  'vscode-insiders': { name: 'VS Code Insiders', link: (server) => vsCodeLink('vscode-insiders', server) },
  goose: { name: 'Goose', link: (server) => gooseLink(server, `The MCP server ${server.name}`) },
  lmstudio: { name: 'LM Studio', link: (server) => base64Link('lmstudio://add_mcp', server) },
}

/**
 * The link that has Cursor or LM Studio add a server: both read the entry as base64 of JSON. The JSON is ASCII, because one of
 * the two may decode it byte by byte.
 */
function base64Link(opener: string, { name, url }: NamedServer): string {
  const config = base64(asciiJson({ url }))
  return `${opener}?name=${encodeURIComponent(name)}&config=${encodeURIComponent(config)}`
}

/**
 * The link that has VS Code add a server: JSON as the whole query. VS Code decodes the query twice, so a percent sign is written
 * as an escape of JSON, which survives any number of times.
 */
function vsCodeLink(scheme: 'vscode' | 'vscode-insiders', { name, url }: NamedServer): string {
  const json = asciiJson({ name, type: 'http', url }).replaceAll('%', String.raw`\u0025`)
  return `${scheme}:mcp/install?${encodeURIComponent(json)}`
}

/** The link that has Goose add a server. Without the type Goose would take it for one of the transport of 2024. */
function gooseLink({ name, url }: NamedServer, description: string): string {
  const parameters = { url, type: 'streamable_http', id: name, name, description, timeout: '300' }
  const query = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `goose://extension?${query.join('&')}`
}

function asciiJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    /[^\0-\x7F]/g,
    (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0'),
  )
}

/** Base64 with padding (RFC 4648 section 4). */
function base64(text: string): string {
  const encoded = encodeBase64url(encodeUtf8(text)).replaceAll('-', '+').replaceAll('_', '/')
  return encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '=')
}
