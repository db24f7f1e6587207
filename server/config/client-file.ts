import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import {
  type DocumentClient,
  isDocumentUrl,
  readClientDocument,
} from '../core/clients/client-id-metadata-document.ts'
import {
  type ClientMetadataPolicy,
  type DescribedClient,
  introspectsOnly,
  invalidMetadata,
  readClientMetadata,
  readKeys,
  requireKeys,
} from '../core/clients/client-metadata.ts'
import { readAuthMethod, usesSecret } from '../core/clients/client-registration.ts'
import type { Client, ClientAuthMethod } from '../core/clients/client.ts'
import { hashSecret } from '../core/seal.ts'
import type { ServerConfig } from './setting.ts'
import { readSettingFile } from './setting-file-text.ts'

const minSecretCharacters = 16

// Members that an entry may have. A misspelt one could make a confidential client a public one.
const knownMembers = new Set([
  'application_type',
  'client_id',
  'client_name',
  'client_secret',
  'client_secret_sha256',
  'client_uri',
  'contacts',
  'grant_types',
  'introspects',
  'jwks',
  'jwks_uri',
  'logo_uri',
  'policy_uri',
  'redirect_uris',
  'response_types',
  'scope',
  'software_id',
  'software_version',
  'token_endpoint_auth_method',
  'tos_uri',
])

/** The entries of a file by client id, and its faults. Each fault names the file; no secret is repeated. */
export interface FileReading<Value> {
  entries: ReadonlyMap<string, Value>
  faults: readonly string[]
}

/** What client metadata may contain under `config`. */
export function clientPolicy(
  config: Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris'>,
): ClientMetadataPolicy {
  return {
    privateUseRedirectUris: config.privateUseRedirectUris,
    allowLoopback: isLoopbackHostname(new URL(config.baseUrl).hostname),
  }
}

/** What is wrong with one entry. Unlike an OAuth error its message goes to the operator only. */
class EntryFault extends Error {}

type FileConfig<Field extends 'clients' | 'clientDocumentFile'> = Pick<
  ServerConfig,
  'baseUrl' | 'privateUseRedirectUris' | Field
>

/**
 * The clients of the file that CLIENTS names: a JSON array of client metadata (RFC 7591 section 2), each with a `client_id`, for a
 * confidential client `client_secret` or `client_secret_sha256`, and `introspects` for a resource server.
 */
export function readClientFile(config: FileConfig<'clients'>, now: number): FileReading<Client> {
  const policy = clientPolicy(config)
  return readEntries(config.clients, (entry) => readConfiguredClient(entry, policy, now))
}

/** As {@link readClientFile}. Throws {@link ConfigError} with the faults of the file. */
export function readConfiguredClients(
  config: FileConfig<'clients'>,
  now: number,
): ReadonlyMap<string, Client> {
  return entriesOf('clients', readClientFile(config, now))
}

/**
 * The documents of the file that CLIENT_DOCUMENT_FILE names: a JSON array of client id metadata documents, each under its own
 * `client_id`.
 */
export function readDocumentFile(config: FileConfig<'clientDocumentFile'>): FileReading<DocumentClient> {
  const policy = clientPolicy(config)
  return readEntries(config.clientDocumentFile, (entry) => {
    const { client_id: url } = entry
    if (typeof url !== 'string' || !isDocumentUrl(url, policy.allowLoopback)) {
      throw new EntryFault('client_id must be the https URL of the document, as a browser writes it.')
    }
    const reading = readClientDocument(url, entry, policy)
    if (reading.kind === 'invalid') throw new EntryFault(reading.reason)
    return reading.client
  })
}

/** As {@link readDocumentFile}. Throws {@link ConfigError} with the faults of the file. */
export function readDocumentCopies(
  config: FileConfig<'clientDocumentFile'>,
): ReadonlyMap<string, DocumentClient> {
  return entriesOf('clientDocumentFile', readDocumentFile(config))
}

function entriesOf<Value>(
  field: string,
  { entries, faults }: FileReading<Value>,
): ReadonlyMap<string, Value> {
  if (faults.length > 0) throw new ConfigError(faults.map((fault) => `${field}: ${fault}`))
  return entries
}

function readEntries<Value extends { id: string }>(
  path: string | undefined,
  read: (entry: JsonObject) => Value,
): FileReading<Value> {
  const entries = new Map<string, Value>()
  if (path === undefined) return { entries, faults: [] }
  const array = readArray(path)
  if (typeof array === 'string') return { entries, faults: [array] }
  const faults = array.flatMap((entry, index) => {
    const name = `${path}, entry ${index + 1}`
    if (!isJsonObject(entry)) return [`${name} must be a JSON object.`]
    try {
      const value = read(entry)
      if (entries.has(value.id)) return [`${name}: client_id ${value.id} appears twice.`]
      entries.set(value.id, value)
      return []
    } catch (error) {
      if (error instanceof EntryFault || error instanceof OAuthError) return [`${name}: ${error.message}`]
      throw error
    }
  })
  return { entries, faults }
}

/** The array in a file, or a sentence that says why there is none. */
function readArray(path: string): unknown[] | string {
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return file.fault
  try {
    const value: unknown = JSON.parse(file.text)
    return Array.isArray(value) ? value : `${path} must hold a JSON array.`
  } catch {
    // The message of the parser quotes the text, which contains secrets.
    return `${path} is not valid JSON.`
  }
}

function readConfiguredClient(entry: JsonObject, policy: ClientMetadataPolicy, now: number): Client {
  const { client_id: id, introspects = false } = entry
  const unknown = Object.keys(entry).filter((name) => !knownMembers.has(name))
  if (unknown.length > 0) throw new EntryFault(`${unknown.join(', ')} is not known here.`)
  if (typeof id !== 'string' || !/^[\x21-\x7E]{1,200}$/.test(id)) {
    throw new EntryFault('client_id must be 1 to 200 printable characters without spaces.')
  }
  if (typeof introspects !== 'boolean') throw new EntryFault('introspects must be true or false.')
  const described = describe(entry, introspects, policy)
  const proof = readProof(entry, described)
  if (introspects && proof.authMethod === 'none') {
    throw new EntryFault('a client that introspects needs a client_secret, or keys.')
  }
  return {
    ...described,
    ...proof,
    id,
    kind: 'configured',
    introspects,
    managementHash: undefined,
    document: undefined,
    createdAt: now,
    expiresAt: undefined,
  }
}

function describe(entry: JsonObject, introspects: boolean, policy: ClientMetadataPolicy): DescribedClient {
  const signsIn = entry['redirect_uris'] !== undefined || entry['grant_types'] !== undefined
  if (signsIn || !introspects) return readClientMetadata(entry, policy)
  const name = entry['client_name']
  return {
    ...introspectsOnly,
    name: typeof name === 'string' ? name : undefined,
    keys: readKeys(entry, policy.allowLoopback),
  }
}

function readProof(entry: JsonObject, { keys }: DescribedClient): Pick<Client, 'authMethod' | 'secretHash'> {
  const secretHash = readSecretHash(entry)
  const usual = secretHash === undefined ? (keys ? 'private_key_jwt' : 'none') : 'client_secret_basic'
  const authMethod: ClientAuthMethod = readAuthMethod(entry['token_endpoint_auth_method'] ?? usual)
  if (usesSecret(authMethod) !== (secretHash !== undefined)) {
    throw invalidMetadata(`${authMethod} ${secretHash === undefined ? 'needs a' : 'has no'} client_secret.`)
  }
  requireKeys(authMethod, keys)
  return { authMethod, secretHash }
}

function readSecretHash({
  client_secret: secret,
  client_secret_sha256: hash,
}: JsonObject): string | undefined {
  if (secret !== undefined && hash !== undefined) {
    throw invalidMetadata('Give client_secret or client_secret_sha256, not both.')
  }
  if (hash !== undefined) {
    if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/i.test(hash)) {
      throw invalidMetadata('client_secret_sha256 must be 64 hexadecimal digits.')
    }
    return Buffer.from(hash, 'hex').toString('base64url')
  }
  if (secret === undefined) return undefined
  // Only a plain hash is stored: a short secret could be guessed from it.
  if (typeof secret !== 'string' || secret.length < minSecretCharacters) {
    throw invalidMetadata(`client_secret must be random text of at least ${minSecretCharacters} characters.`)
  }
  return hashSecret(secret)
}
