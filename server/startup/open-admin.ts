import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createAdminApi } from '../admin/admin-api.ts'
import { AdminToken } from '../admin/admin-token.ts'
import { readConfiguredClients } from '../config/client-file.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { keySourceOf } from '../config/store-address.ts'
import { version } from '../config/version.ts'
import type { KeyRing } from '../core/seal.ts'
import type { Store } from '../core/store.ts'
import type { FetchHandler } from '../http/endpoint.ts'
import { createClientAddress } from '../http/listener/client-address.ts'
import { auditReader } from '../observability/audit-lines.ts'
import type { AuditRing } from '../observability/audit-ring.ts'
import { type Log, reportTo } from '../observability/log.ts'
import { keyFileAt } from '../store/secret-key-file.ts'

/** The file is changed within this process, which serves nothing while it waits for another process to finish changing it. */
const keyFileWaitMs = 100

/** The admin API without its socket. */
export interface AdminApi {
  fetch: FetchHandler
  /** Ends long-running work, before the listener is closed. */
  stop(): void
}

/**
 * Opens the admin API on the store and the key ring of a running server. Reads `tokenFile` and the file of CLIENTS; throws if one
 * of them cannot be used.
 */
export function openAdminApi(
  config: ServerConfig,
  tokenFile: string,
  parts: { store: Store; ring: KeyRing; runtime: Runtime; log: Log; events: AuditRing },
): AdminApi {
  const { runtime, log } = parts
  const keys = keySourceOf(config)
  let isStopped = false
  const fetch = createAdminApi({
    ...parts,
    token: new AdminToken(tokenFile, runtime, reportTo(log)),
    addressOf: createClientAddress(config.trustedProxies),
    keyFile: keys.kind === 'file' ? keyFileAt(keys.path, { waitMs: keyFileWaitMs }) : undefined,
    auditLines: auditReader(config.audit),
    configured: readConfiguredClients(config, runtime.now()),
    providerIssuer: config.providerIssuer,
    isStopped: () => isStopped,
    version,
  })
  return { fetch, stop: () => void (isStopped = true) }
}
