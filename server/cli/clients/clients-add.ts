import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
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
  CommandFailure,
  type CommandInput,
  type CommandOptions,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'
import { printFacts } from '../terminal.ts'
import { withStore } from '../with-store.ts'

type AddOptions = Pick<CommandOptions, 'name' | 'redirectUri' | 'grantTypes' | 'secret' | 'introspects'>

/**
 * Adds a client to the store; running servers accept it from the next request on. Prints its id, and its secret only this once:
 * the store keeps a hash.
 */
export async function addClient(input: CommandInput, options: AddOptions): Promise<ExitCode> {
  const config = readConfig(input, ['store'])
  const { runtime } = input
  const { secret: wantsSecret = false, introspects = false } = options
  if (config.store.kind === 'memory') {
    throw new CommandFailure(
      'A store in memory is in the process of its server: no command can add to it.',
      'Put the client in a file and name it with --clients: docs/clients.md has one.',
      { code: exitCode.usage },
    )
  }
  const authMethod = wantsSecret || introspects ? 'client_secret_basic' : 'none'
  const secret = newSecret(authMethod, runtime)
  const client: Client = {
    ...describe(options, clientPolicy(config)),
    id: `mcpc_${encodeBase64url(runtime.randomBytes(16))}`,
    kind: 'configured',
    authMethod,
    secretHash: secret && hashSecret(secret),
    managementHash: undefined,
    document: undefined,
    introspects,
    createdAt: runtime.now(),
    expiresAt: undefined,
  }
  await withStore(config, async (store) => {
    if (store) return store.addClient(client)
    throw new CommandFailure('There is no store yet.', 'drawbridge-server migrate makes it.')
  })
  const lines = [`client_id: ${client.id}`, ...(secret === undefined ? [] : [`client_secret: ${secret}`])]
  printFacts(input, { ok: true, client_id: client.id, client_secret: secret }, lines.join('\n'))
  if (secret !== undefined && !input.json) input.terminal.note('The secret is not shown again.')
  return exitCode.ok
}

function describe(options: AddOptions, policy: ClientMetadataPolicy): DescribedClient {
  const { name, redirectUri: redirectUris = [], grantTypes } = options
  if (options.introspects && redirectUris.length === 0 && grantTypes === undefined) {
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
    throw new CommandFailure(error.description, 'drawbridge-server clients add --help', {
      code: exitCode.usage,
      cause: error,
    })
  }
}
