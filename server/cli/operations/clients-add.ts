import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { z } from 'zod'
import {
  type ClientMetadataPolicy,
  type DescribedClient,
  introspectsOnly,
  readClientMetadata,
} from '../../core/clients/client-metadata.ts'
import { newSecret } from '../../core/clients/client-registration.ts'
import type { Client } from '../../core/clients/client.ts'
import { hashSecret } from '../../core/seal.ts'
import { clientPolicy } from '../../config/client-file.ts'
import {
  flagValues,
  operation,
  OperatorRefusal,
  optionalText,
  switchParameter,
} from '../../core/operator/operation.ts'
import type { CommandPorts } from './command-ports.ts'

const input = z.strictObject({
  name: optionalText('what users see', '<name>'),
  redirectUri: z
    .array(z.string())
    .default([])
    .describe('where users return to; may be repeated')
    .register(flagValues, { value: '<uri...>' }),
  grantTypes: optionalText('comma-separated (default: authorization_code,refresh_token)', '<types>'),
  secret: switchParameter('make a secret, with which the client proves itself'),
  introspects: switchParameter('a resource server that validates tokens (RFC 7662); it gets a secret'),
})

/** Running servers accept the client from the next request on. The store keeps only a hash of its secret. */
export const addClientOperation = operation({
  summary: 'Add a client that does not expire. Prints its id, and its secret this once.',
  input,
  result: z.object({ client_id: z.string(), client_secret: z.string().optional() }),
  command: {
    usage: 'clients add',
    examples: [
      'clients add --name Reports --redirect-uri https://reports.example.com/callback --secret',
      'clients add --name Terminal --grant-types urn:ietf:params:oauth:grant-type:device_code,refresh_token',
      'clients add --name "Notes API" --introspects',
    ],
    settings: ['store', 'privateUseRedirectUris'],
    text: ({ client_id: id, client_secret: secret }) =>
      secret === undefined ? `client_id: ${id}` : `client_id: ${id}\nclient_secret: ${secret}`,
    notes: ({ client_secret: secret }) => (secret === undefined ? [] : ['The secret is not shown again.']),
  },
  async handle(options, { config, runtime, store }: CommandPorts) {
    const authMethod = options.secret || options.introspects ? 'client_secret_basic' : 'none'
    const secret = newSecret(authMethod, runtime)
    const client: Client = {
      ...describe(options, clientPolicy(config)),
      id: `mcpc_${encodeBase64url(runtime.randomBytes(16))}`,
      kind: 'configured',
      authMethod,
      secretHash: secret && hashSecret(secret),
      managementHash: undefined,
      document: undefined,
      introspects: options.introspects,
      createdAt: runtime.now(),
      expiresAt: undefined,
    }
    await store.addClient(client)
    return { client_id: client.id, client_secret: secret }
  },
})

function describe(
  { name, redirectUri: redirectUris, grantTypes, introspects }: z.output<typeof input>,
  policy: ClientMetadataPolicy,
): DescribedClient {
  if (introspects && redirectUris.length === 0 && grantTypes === undefined) {
    return { ...introspectsOnly, name, keys: undefined }
  }
  const metadata: JsonObject = {
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: grantTypes?.split(',').map((type) => type.trim()),
  }
  try {
    return readClientMetadata(metadata, policy)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new OperatorRefusal(400, error.description, 'Its flags: drawbridge-server clients add --help')
  }
}
