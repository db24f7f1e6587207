import { decodeBase64Lenient, decodeUtf8, encodeBase64url, encodeUtf8 } from '../base64url.ts'

/**
 * The header form of a value for `Mcp-Name` and `Mcp-Param-*` (MCP 2026-07-28 transports): printable ASCII
 * without edge spaces stays as it is, anything else becomes `=?base64?<base64 of UTF-8>?=`; so does text that
 * already looks like that, or it would be decoded at the other end.
 */
export function encodeMcpHeaderValue(value: string): string {
  if (/^(?:[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?)?$/.test(value) && !looksEncoded(value)) return value
  const base64 = encodeBase64url(encodeUtf8(value)).replaceAll('-', '+').replaceAll('_', '/')
  return `=?base64?${base64.padEnd(Math.ceil(base64.length / 4) * 4, '=')}?=`
}

/** Decodes a header value; `undefined` if it is marked as encoded but is not base64 of UTF-8. */
export function decodeMcpHeaderValue(text: string): string | undefined {
  if (!looksEncoded(text)) return text
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(text) ?? []
  const bytes = base64 === undefined || base64.length % 4 !== 0 ? undefined : decodeBase64Lenient(base64)
  return bytes === undefined ? undefined : decodeUtf8(bytes)
}

function looksEncoded(text: string): boolean {
  return text.startsWith('=?base64?') && text.endsWith('?=') && text.length >= '=?base64??='.length
}
