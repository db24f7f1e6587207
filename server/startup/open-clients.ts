import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { clientPolicy, readConfiguredClients } from '../config/client-file.ts'
import { limitFetches } from '../core/clients/client-fetch.ts'
import { createClientFinder } from '../core/clients/client-finder.ts'
import { createClientKeySource, type FetchClientKeys } from '../core/clients/client-keys.ts'
import type { ClientMetadataPolicy } from '../core/clients/client-metadata.ts'
import type { ClientFinder, ClientStore } from '../core/clients/client.ts'
import { createGuardedFetch } from '../fetch/guarded-fetch.ts'
import { providers } from '../config/provider.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { asTyped } from './program-name.ts'
import { version } from '../config/version.ts'

const trialStep =
  'Wait a minute, then connect again. If this computer cannot reach that host, stop the server and start it with `drawbridge-server --client-documents off`, then remove the server in the app and add it again: the app then registers itself.'

export interface Clients {
  finder: ClientFinder
  fetchKeys: FetchClientKeys
  policy: ClientMetadataPolicy
}

/**
 * Opens all sources of clients under `config`. Reads the operator's file once; throws `ConfigError` with its faults. Fetches
 * documents and keys over its own sockets, never by the runtime's `fetch`.
 */
export function openClients(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now'>,
  store: ClientStore,
  report: (event: string, fields?: Record<string, unknown>) => void,
): Clients {
  const policy = clientPolicy(config)
  const { clientDocuments: hosts } = config
  const guarded = createGuardedFetch({
    userAgent: `drawbridge-server/${version}`,
    allowLoopback: policy.allowLoopback,
    ownUrl: config.baseUrl,
  })
  const fetch = limitFetches(guarded, runtime)
  // In a trial, the user who signs in is the operator.
  const operatorStep = providers[config.provider].isTrial ? asTyped(trialStep) : undefined
  return {
    policy,
    finder: createClientFinder({
      configured: readConfiguredClients(config, runtime.now()),
      store,
      runtime,
      documents: hosts ? { store, fetch, policy, report, hosts, operatorStep } : undefined,
    }),
    fetchKeys: createClientKeySource({ fetch, runtime }),
  }
}
