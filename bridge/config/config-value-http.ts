import { expandVariables, readFile } from './config-value-file.ts'
import type { ValueSource } from './config-value.ts'
import type { CallbackAddress, HeaderEntry } from './setting.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'

// What the transport writes itself: overridden, requests would not be what they say.
const ownHeaders = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
])

/** `Name: value`, with `${VARIABLE}` in the value expanded. */
export function parseHeader(text: string, source: ValueSource): HeaderEntry {
  const [, name = '', value = ''] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):(.*)$/s.exec(text) ?? []
  if (name === '') throw new TypeError("expected 'Name: value'")
  if (ownHeaders.has(name.toLowerCase())) {
    throw new TypeError(`expected another header than ${name}, which the protocol needs`)
  }
  const expanded = expandVariables(value, source).trim()
  if (!/^[\t\x20-\x7E\x80-\xFF]*$/.test(expanded)) {
    throw new TypeError(`expected a value of ${name} without line ends`)
  }
  return [name, expanded]
}

/** The headers of a file, one a line; lines with `#` in front and empty ones are skipped. */
export function parseHeaderFile(path: string, source: ValueSource): readonly HeaderEntry[] {
  return readFile(path, source)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))
    .map((line) => parseHeader(line.trim(), source))
}

/** A redirect URI on this machine, `http://HOST[:PORT]/PATH` (RFC 8252 section 7.3). */
export function parseCallback(text: string): CallbackAddress {
  const match = /^http:\/\/(\[[0-9a-fA-F:]+\]|[^/:?#\s]+)(?::(\d{1,5}))?(\/[^?#\s]*)$/.exec(text)
  const [, host = '', port, path = ''] = match ?? []
  if (!match || !isLoopbackHostname(host)) {
    throw new TypeError('expected a URL of this machine with a path, such as http://localhost:3118/callback')
  }
  return { host: parseCallbackHost(host), port: port === undefined ? undefined : parsePort(port), path }
}

/** A name that always means this machine. */
export function parseCallbackHost(text: string): string {
  if (!isLoopbackHostname(text)) throw new TypeError('expected localhost, 127.0.0.1 or ::1')
  return text.replaceAll(/[[\]]/g, '')
}

/** The path of a redirect URI. */
export function parseCallbackPath(text: string): string {
  if (!/^\/[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*$/.test(text)) {
    throw new TypeError('expected a path that begins with /, such as /oauth/callback')
  }
  return text
}

/** A port that can be listened on. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new TypeError('expected a port from 1 to 65535')
  return port
}
