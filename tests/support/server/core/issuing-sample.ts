import type { DeviceAuthorizationPorts } from '../../../../server/core/authorization/device-authorization.ts'
import type { Store } from '../../../../server/core/store.ts'
import { RefreshLimit, type RefreshTokenPorts } from '../../../../server/core/tokens/refresh-token.ts'
import { ScopeCatalogue } from '../../../../server/core/tokens/scope.ts'
import { openMemoryStore } from '../../../../server/store/sqlite/sqlite.ts'
import { createFakeRuntime, type FakeRuntime } from '../fake-runtime.ts'
import { grantSeconds, start, sealerSample } from './grant-sample.ts'
import { resource } from './sign-in-sample.ts'

/** What issues codes and tokens at {@link start}, on an empty store, and the grants that it reported as ended. */
export interface IssuingSample {
  runtime: FakeRuntime
  store: Store
  ports: DeviceAuthorizationPorts & RefreshTokenPorts
  ended: [grantId: string, reason: string][]
}

export function issuingSample(): IssuingSample {
  const runtime = createFakeRuntime(start)
  const store = openMemoryStore()
  const ended: IssuingSample['ended'] = []
  const ports = {
    store,
    sealer: sealerSample(),
    runtime,
    providerIssuer: 'https://provider.example/auth/v1',
    sessionTtlSeconds: grantSeconds,
    scopes: new ScopeCatalogue(),
    accessTokenTtlSeconds: 3600,
    refreshLimit: new RefreshLimit(3600),
    reportGrantEnd: ({ id }: { id: string }, reason: string): void => void ended.push([id, reason]),
    issuer: 'https://mcp.example.com',
    resource,
  }
  return { runtime, store, ports, ended }
}
