import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import type { NamedServer } from './server-name.ts'

/** The clients with a link that adds a server, in display order. */
export type LinkedClient = 'cursor' | 'vscode' | 'vscode-insiders' | 'goose' | 'lmstudio'

/** Name and link of each client, for pages that show only these; `clientTable` has all clients. */
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
 * Builds a link for Cursor or LM Studio, which both read the entry as base64 of JSON. The JSON is ASCII, because one
 * of the two may decode it byte by byte.
 */
function base64Link(opener: string, { name, url }: NamedServer): string {
  const config = base64(asciiJson({ url }))
  return `${opener}?name=${encodeURIComponent(name)}&config=${encodeURIComponent(config)}`
}

/**
 * Builds a link for VS Code, with JSON as the whole query. VS Code decodes the query twice, so a percent sign is
 * written as a JSON escape, which survives any number of decodings.
 */
function vsCodeLink(scheme: 'vscode' | 'vscode-insiders', { name, url }: NamedServer): string {
  const json = asciiJson({ name, type: 'http', url }).replaceAll('%', String.raw`\u0025`)
  return `${scheme}:mcp/install?${encodeURIComponent(json)}`
}

/** Builds a link for Goose. Without the type, Goose would assume the transport of 2024. */
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

/** Encodes base64 with padding (RFC 4648 section 4). */
function base64(text: string): string {
  const encoded = encodeBase64url(encodeUtf8(text)).replaceAll('-', '+').replaceAll('_', '/')
  return encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '=')
}
