import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { clientPolicy, readConfiguredClients, readDocumentCopies } from '../config/client-file.ts'
import { limitFetches } from '../core/clients/client-fetch-limit.ts'
import { createClientFinder } from '../core/clients/client-finder.ts'
import { createClientKeySource, type FetchClientKeys } from '../core/clients/client-keys.ts'
import type { ClientMetadataPolicy } from '../core/clients/client-metadata.ts'
import type { ClientFinder, ClientStore } from '../core/clients/client.ts'
import { createGuardedFetch } from '../fetch/guarded-fetch.ts'
import type { ServerConfig } from '../config/setting.ts'
import { asTyped } from './program-name.ts'
import { version } from '../config/version.ts'

const trialStep =
  'Wait a minute, then connect again. If this computer cannot reach that host, start the server with drawbridge-server --client-documents off first: the app then registers itself.'

/** Clients of every kind, and what they may say about themselves. */
export interface Clients {
  finder: ClientFinder
  fetchKeys: FetchClientKeys
  policy: ClientMetadataPolicy
}

/**
 * Everything by which clients become known under `config`. The operator's files are read here, once; throws `ConfigError`
 * with their faults. Documents and keys are fetched by sockets of their own, never by the runtime's `fetch`.
 */
export function openClients(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now'>,
  store: ClientStore,
  report: (event: string, fields?: Record<string, unknown>) => void,
): Clients {
  const policy = clientPolicy(config)
  const { clientDocumentHosts: hosts } = config
  const guarded = createGuardedFetch({
    userAgent: `drawbridge-server/${version}`,
    allowLoopback: policy.allowLoopback,
    ownUrl: config.baseUrl,
  })
  const fetch = limitFetches(guarded, runtime)
  const copies = readDocumentCopies(config)
  // In a trial whoever signs in is the operator: nobody else can be told.
  const operatorStep = config.provider === 'embedded' ? asTyped(trialStep) : undefined
  return {
    policy,
    finder: createClientFinder({
      configured: readConfiguredClients(config, runtime.now()),
      store,
      runtime,
      documents: config.clientDocuments
        ? { store, fetch, policy, copies, report, hosts, operatorStep }
        : undefined,
    }),
    fetchKeys: createClientKeySource({ fetch, runtime }),
  }
}
