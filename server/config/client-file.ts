import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { ConfigError } from './config.ts'
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

// What an entry may have. A member that is spelled wrong could make a confidential client a public one.
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

/** What one entry of a file came to. */
type Reading<Value> = { kind: 'read'; value: Value } | { kind: 'faulty'; fault: string }

/** What a file holds, by client id, and every fault of it. Each fault names the file; no secret is repeated. */
export interface FileReading<Value> {
  entries: ReadonlyMap<string, Value>
  faults: readonly string[]
}

/** What client metadata may hold under `config`. */
export function clientPolicy(
  config: Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris'>,
): ClientMetadataPolicy {
  return {
    privateUseRedirectUris: config.privateUseRedirectUris,
    allowLoopback: isLoopbackHostname(new URL(config.baseUrl).hostname),
  }
}

/**
 * The clients of the file that CLIENTS names: a JSON array of client metadata (RFC 7591 section 2), each with a `client_id`, for a
 * confidential client `client_secret` or `client_secret_sha256`, and `introspects` for a resource server.
 */
export function readClientFile(path: string, policy: ClientMetadataPolicy, now: number): FileReading<Client> {
  return readEntries(path, (entry) => readConfiguredClient(entry, policy, now))
}

/** As {@link readClientFile} where CLIENTS may be unset. Throws {@link ConfigError} with the faults of the file. */
export function readConfiguredClients(
  config: Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris' | 'clients'>,
  now: number,
): ReadonlyMap<string, Client> {
  const { clients: path } = config
  return path === undefined
    ? new Map()
    : faultless('clients', readClientFile(path, clientPolicy(config), now))
}

/**
 * The documents of the file that CLIENT_DOCUMENT_FILE names: a JSON array of client id metadata documents, each under its own
 * `client_id`.
 */
export function readDocumentFile(path: string, policy: ClientMetadataPolicy): FileReading<DocumentClient> {
  return readEntries(path, (entry): Reading<DocumentClient> => {
    const { client_id: url } = entry
    if (typeof url !== 'string' || !isDocumentUrl(url, policy.allowLoopback)) {
      return faulty('client_id must be the https URL of the document, as a browser writes it.')
    }
    const reading = readClientDocument(url, entry, policy)
    return reading.kind === 'client'
      ? { kind: 'read', value: reading.client }
      : { kind: 'faulty', fault: reading.reason }
  })
}

/** As {@link readDocumentFile} where CLIENT_DOCUMENT_FILE may be unset. Throws {@link ConfigError} with the faults of the file. */
export function readDocumentCopies(
  config: Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris' | 'clientDocumentFile'>,
): ReadonlyMap<string, DocumentClient> {
  const { clientDocumentFile: path } = config
  if (path === undefined) return new Map()
  return faultless('clientDocumentFile', readDocumentFile(path, clientPolicy(config)))
}

function faultless<Value>(
  field: string,
  { entries, faults }: FileReading<Value>,
): ReadonlyMap<string, Value> {
  if (faults.length > 0) throw new ConfigError(faults.map((fault) => `${field}: ${fault}`))
  return entries
}

function readEntries<Value extends { id: string }>(
  path: string,
  read: (entry: JsonObject) => Reading<Value>,
): FileReading<Value> {
  const entries = new Map<string, Value>()
  const array = readArray(path)
  if (array.kind === 'faulty') return { entries, faults: [array.fault] }
  const faults = array.value.flatMap((entry, index) => {
    const name = `${path}, entry ${index + 1}`
    if (!isJsonObject(entry)) return [`${name} must be a JSON object.`]
    const reading = read(entry)
    if (reading.kind === 'faulty') return [`${name}: ${reading.fault}`]
    const { value } = reading
    if (entries.has(value.id)) return [`${name}: client_id ${value.id} is there twice.`]
    entries.set(value.id, value)
    return []
  })
  return { entries, faults }
}

function readArray(path: string): Reading<unknown[]> {
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return faulty(file.fault)
  try {
    const value: unknown = JSON.parse(file.text)
    return Array.isArray(value) ? { kind: 'read', value } : faulty(`${path} must hold a JSON array.`)
  } catch {
    // What a parser says repeats the text, and there are secrets in it.
    return faulty(`${path} is not valid JSON.`)
  }
}

function readConfiguredClient(entry: JsonObject, policy: ClientMetadataPolicy, now: number): Reading<Client> {
  const { client_id: id, introspects = false } = entry
  const unknown = Object.keys(entry).filter((name) => !knownMembers.has(name))
  if (unknown.length > 0) return faulty(`${unknown.join(', ')} is not known here.`)
  if (typeof id !== 'string' || !/^[\x21-\x7E]{1,200}$/.test(id)) {
    return faulty('client_id must be 1 to 200 printable characters without blanks.')
  }
  if (typeof introspects !== 'boolean') return faulty('introspects must be true or false.')
  try {
    const described = describe(entry, introspects, policy)
    const proof = readProof(entry, described)
    if (introspects && proof.authMethod === 'none') {
      return faulty('a client that introspects needs a client_secret, or keys.')
    }
    const client: Client = {
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
    return { kind: 'read', value: client }
  } catch (error) {
    if (error instanceof OAuthError) return faulty(error.description)
    throw error
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
  // What is stored is a plain hash, so a secret that can be guessed could be found from it.
  if (typeof secret !== 'string' || secret.length < minSecretCharacters) {
    throw invalidMetadata(`client_secret must be random text of at least ${minSecretCharacters} characters.`)
  }
  return hashSecret(secret)
}

function faulty(fault: string): { kind: 'faulty'; fault: string } {
  return { kind: 'faulty', fault }
}
