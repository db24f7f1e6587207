import { z } from 'zod'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
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
import { type DocumentReading, members, readDocument } from '../core/document.ts'
import { hashSecret } from '../core/seal.ts'
import type { ServerConfig } from './setting-table.ts'
import { readDocumentFile } from './document-file.ts'

const minSecretCharacters = 16

const idFault = 'must be 1 to 200 printable characters without spaces.'
const anything = z.unknown().optional()

/** The members of an entry besides its metadata (RFC 7591 section 2), which the registration of clients reads. */
const clientEntry = members({
  client_id: z.string(idFault).regex(/^[\x21-\x7E]{1,200}$/, idFault),
  introspects: z.boolean('must be true or false.').default(false),
  ...Object.fromEntries(
    [
      'application_type',
      'client_name',
      'client_secret',
      'client_secret_sha256',
      'client_uri',
      'contacts',
      'grant_types',
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
    ].map((name) => [name, anything]),
  ),
})

/** Returns the rules for client metadata under `config`. */
export function clientPolicy(
  config: Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris'>,
): ClientMetadataPolicy {
  return {
    privateUseRedirectUris: config.privateUseRedirectUris,
    allowLoopback: isLoopbackHostname(new URL(config.baseUrl).hostname),
  }
}

type FileConfig = Pick<ServerConfig, 'baseUrl' | 'privateUseRedirectUris' | 'clients'>

type Clients = ReadonlyMap<string, Client>

/**
 * The clients of the file that CLIENTS names: a JSON array of client metadata (RFC 7591 section 2), each with a `client_id`, for a
 * confidential client `client_secret` or `client_secret_sha256`, and `introspects` for a resource server. No fault repeats a secret.
 */
export function readClientFile(config: FileConfig, now: number): DocumentReading<Clients> {
  const clients = new Map<string, Client>()
  if (config.clients === undefined) return { kind: 'read', value: clients }
  const policy = clientPolicy(config)
  const entry = clientEntry.transform((given, context) => {
    try {
      if (clients.has(given.client_id)) context.addIssue(`: client_id ${given.client_id} appears twice.`)
      clients.set(given.client_id, readConfiguredClient(given, policy, now))
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      context.addIssue(`: ${error.message}`)
    }
  })
  const schema = z.array(entry, 'must be an array.').transform((): Clients => clients)
  return readDocumentFile(config.clients, (document) => readDocument(schema, document))
}

/** As {@link readClientFile}. Throws {@link ConfigError} with the faults of the file. */
export function readConfiguredClients(config: FileConfig, now: number): Clients {
  const reading = readClientFile(config, now)
  if (reading.kind === 'read') return reading.value
  throw new ConfigError(reading.faults.map((fault) => `clients: ${fault}`))
}

function readConfiguredClient(
  entry: z.output<typeof clientEntry>,
  policy: ClientMetadataPolicy,
  now: number,
): Client {
  const { client_id: id, introspects } = entry
  const described = describe(entry, introspects, policy)
  const proof = readProof(entry, described)
  if (introspects && proof.authMethod === 'none') {
    throw invalidMetadata('a client that introspects needs a client_secret, or keys.')
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
