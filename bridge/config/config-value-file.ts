import { createPrivateKey, type KeyObject } from 'node:crypto'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { HeaderEntry, ValueSource } from './config-value.ts'
import type { StaticClient } from '../oauth/oauth-config.ts'

/** Reads a file with at least one PEM certificate. */
export function parseCertificateFile(text: string, source: ValueSource): string {
  const content = readFile(text, source)
  if (!content.includes('-----BEGIN CERTIFICATE-----')) {
    throw new TypeError('expected a file with certificates in PEM form')
  }
  return content
}

const keyAlgorithms: Readonly<Record<string, string>> = {
  rsa: 'RS256',
  ed25519: 'EdDSA',
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** RFC 7518 section 3.3. */
const minModulusLength = 2048

/** Reads a file with a PEM private key, and determines its algorithm. */
export function parsePrivateKeyFile(
  text: string,
  source: ValueSource,
): { key: KeyObject; algorithm: string } {
  const content = readFile(text, source)
  try {
    const key = createPrivateKey(content)
    const { namedCurve, modulusLength = minModulusLength } = key.asymmetricKeyDetails ?? {}
    const algorithm = keyAlgorithms[namedCurve ?? key.asymmetricKeyType ?? '']
    if (algorithm !== undefined && modulusLength >= minModulusLength) return { key, algorithm }
  } catch {
    // Its message may quote the key.
  }
  throw new TypeError(
    'expected a file with an RSA (2048 bits or more), EC or Ed25519 private key in PEM form, without a passphrase',
  )
}

/** Parses a client as JSON or `@FILE`: `client_id`, optionally `client_secret` and the `issuer` where it is registered. */
export function parseStaticClient(text: string, source: ValueSource): StaticClient {
  const client = jsonOrFile(text, source)
  const { client_id: clientId, client_secret: clientSecret, issuer } = client
  const { token_endpoint_auth_method: method } = client
  if (typeof clientId !== 'string' || clientId === '') throw new TypeError('expected JSON with a client_id')
  if (clientSecret !== undefined && typeof clientSecret !== 'string') {
    throw new TypeError('expected a client_secret that is a text')
  }
  if (issuer !== undefined && (typeof issuer !== 'string' || !/^https?:\/\//.test(issuer))) {
    throw new TypeError('expected an issuer that is a URL')
  }
  return {
    clientId,
    ...(clientSecret !== undefined && clientSecret !== '' && { clientSecret }),
    ...(issuer !== undefined && { issuer }),
    ...(typeof method === 'string' && { tokenEndpointAuthMethod: method }),
  }
}

const metadataTexts: ReadonlySet<string> = new Set([
  'token_endpoint_auth_method',
  'client_name',
  'scope',
  'application_type',
])

const metadataLists: ReadonlySet<string> = new Set([
  'redirect_uris',
  'grant_types',
  'response_types',
  'contacts',
])

/** Parses client metadata (RFC 7591 section 2) as JSON or `@FILE`. Checks only which members are texts, and which lists. */
export function parseClientMetadata(text: string, source: ValueSource): ClientMetadata {
  const metadata = jsonOrFile(text, source)
  for (const [name, value] of Object.entries(metadata)) {
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string')
    if (metadataLists.has(name) && !isList) throw new TypeError(`expected ${name} to be a list of texts`)
    if (metadataTexts.has(name) && typeof value !== 'string')
      throw new TypeError(`expected ${name} to be a text`)
  }
  return metadata
}

function jsonOrFile(text: string, source: ValueSource): JsonObject {
  const json = text.startsWith('@') ? readFile(text.slice(1), source) : text
  const value = parseJsonObject(json)
  if (!value) throw new TypeError('expected a JSON object, or @FILE with one')
  return expandJson(value, source) as JsonObject
}

/** Expands variables after parsing, so that none can add a member. */
function expandJson(value: unknown, source: ValueSource): unknown {
  if (typeof value === 'string') return expandVariables(value, source)
  if (Array.isArray(value)) return value.map((item) => expandJson(item, source))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expandJson(item, source)]))
}

/** Replaces `${NAME}` with the environment variable, which must be set. */
function expandVariables(text: string, { environment, onVariable }: ValueSource): string {
  return text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    const value = environment[name]
    if (value === undefined) throw new TypeError(`expected the variable ${name} to be set`)
    onVariable?.(name)
    return value
  })
}

/** Reads the file of a setting. Throws `TypeError` with the system's error code. */
function readFile(path: string, source: ValueSource): string {
  try {
    return source.readText(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new TypeError(`expected a file that can be read (${code ?? 'it cannot'})`, { cause: error })
  }
}

// The transport sets these itself.
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

/** Parses `Name: value`, with `${VARIABLE}` in the value expanded. */
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

/** Reads a file with one header per line; ignores empty lines and those that begin with `#`. */
export function parseHeaderFile(path: string, source: ValueSource): readonly HeaderEntry[] {
  return readFile(path, source)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))
    .map((line) => parseHeader(line.trim(), source))
}
