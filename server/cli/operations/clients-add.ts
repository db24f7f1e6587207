import { readFileSync } from 'node:fs'
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
import {
  type Client,
  type ClientAuthMethod,
  deviceGrantType,
  serviceGrantType,
} from '../../core/clients/client.ts'
import { toolScope } from '../../core/tokens/scope.ts'
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
  service: optionalText('a service with this name, which acts for itself by client_credentials', '<name>'),
  scope: optionalText('what a service may do besides calling tools, separated by blanks', '<scopes>'),
  tools: optionalText(
    'the tools that a service may call, comma-separated, such as list_*,get_note (default: all)',
    '<tools>',
  ),
  jwks: optionalText(
    'a file with the public keys of a service, which then signs instead of sending a secret',
    '<file>',
  ),
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
      'clients add --service "Nightly report" --scope "notes:read" --tools "list_*"',
    ],
    settings: ['store', 'privateUseRedirectUris'],
    text: ({ client_id: id, client_secret: secret }) =>
      secret === undefined ? `client_id: ${id}` : `client_id: ${id}\nclient_secret: ${secret}`,
    notes: ({ client_secret: secret }) => (secret === undefined ? [] : ['The secret is not shown again.']),
  },
  async handle(options, { config, runtime, store }: CommandPorts) {
    requireFitting(options)
    const authMethod = authMethodOf(options)
    const secret = newSecret(authMethod, runtime)
    const client: Client = {
      ...describe(options, clientPolicy(config)),
      id: `mcpc_${encodeBase64url(runtime.randomBytes(16))}`,
      kind: options.service === undefined ? 'configured' : 'service',
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

type Options = z.output<typeof input>

const ofUsers = ['name', 'redirectUri', 'grantTypes', 'secret', 'introspects'] as const
const ofServices = ['scope', 'tools', 'jwks'] as const

/** Refuses flags of a service for another client, and the other way round. */
function requireFitting(options: Options): void {
  const isService = options.service !== undefined
  const wrong = (isService ? ofUsers : ofServices).find((name) => {
    const value = options[name]
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
  })
  if (wrong === undefined) return
  const problem = isService
    ? 'is for clients of users: a service has its name by --service, and gets a secret anyway.'
    : 'is for a service. Add --service NAME.'
  throw new OperatorRefusal(
    400,
    `--${wrong.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${problem}`,
  )
}

function authMethodOf({ service, jwks, secret, introspects }: Options): ClientAuthMethod {
  if (service !== undefined && jwks !== undefined) return 'private_key_jwt'
  return secret || introspects || service !== undefined ? 'client_secret_basic' : 'none'
}

/** A service has no redirect URI; its metadata is checked as a device's. */
function describeService(
  { service, scope = '', tools, jwks }: Options,
  policy: ClientMetadataPolicy,
): DescribedClient & Pick<Client, 'tools'> {
  const patterns = tools?.split(',').map((pattern) => pattern.trim())
  if (patterns?.includes('')) throw new OperatorRefusal(400, '--tools has an empty pattern.')
  const scopes = new Set([toolScope, ...scope.split(' ').filter((name) => name !== '')])
  const read = readMetadata(
    {
      client_name: service,
      grant_types: [deviceGrantType],
      scope: [...scopes].join(' '),
      ...(jwks !== undefined && { jwks: readJwks(jwks) }),
    },
    policy,
  )
  return { ...read, grantTypes: [serviceGrantType], ...(patterns && { tools: patterns }) }
}

function readJwks(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new OperatorRefusal(
      400,
      `--jwks: ${(error as Error).message}.`,
      'It is a JSON object with the array keys.',
    )
  }
}

function describe(options: Options, policy: ClientMetadataPolicy): DescribedClient {
  if (options.service !== undefined) return describeService(options, policy)
  const { name, redirectUri: redirectUris, grantTypes, introspects } = options
  if (introspects && redirectUris.length === 0 && grantTypes === undefined) {
    return { ...introspectsOnly, name, keys: undefined }
  }
  return readMetadata(
    {
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: grantTypes?.split(',').map((type) => type.trim()),
    },
    policy,
  )
}

function readMetadata(metadata: JsonObject, policy: ClientMetadataPolicy): DescribedClient {
  try {
    return readClientMetadata(metadata, policy)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new OperatorRefusal(400, error.description, 'Its flags: drawbridge-server clients add --help')
  }
}
