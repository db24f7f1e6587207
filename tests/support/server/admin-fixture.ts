import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '../../../server/core/clients/client.ts'
import type { Store } from '../../../server/core/store.ts'
import { createAdminApi } from '../../../server/admin/admin-api.ts'
import { AdminToken } from '../../../server/admin/admin-token.ts'
import type { AdminPorts } from '../../../server/admin/admin-route.ts'
import { parseSecretKeys } from '../../../server/config/store-address.ts'
import { auditReader } from '../../../server/observability/audit-lines.ts'
import { AuditRing } from '../../../server/observability/audit-ring.ts'
import { createLog, reportTo } from '../../../server/observability/log.ts'
import { keyFileAt, openKeyFile } from '../../../server/store/secret-key-file.ts'
import { openMemoryStore } from '../../../server/store/sqlite/sqlite.ts'
import { start } from './core/grant-sample.ts'
import { publicClient } from './core/sign-in-sample.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'

/** The first token of the fixture. */
export const adminToken = 'the-token-of-a-test-of-the-admin-api'

/** Issuer of the users in the fixture's grants. */
export const adminIssuer = 'https://provider'

/** An admin API on a store in memory, with its files in a separate folder. */
export interface AdminFixture {
  store: Store
  runtime: FakeRuntime
  tokenFile: string
  keyFile: string
  /** Sends a request with the token, or with the given `authorization`. */
  ask(method: string, path: string, authorization?: string): Promise<Response>
  /** Returns the log lines of that event. */
  logged(event: string): Record<string, unknown>[]
  close(): Promise<void>
}

/** Opens an admin API. `ports` replace the fixture's defaults. The client `file-client` is configured. */
export function createAdminFixture(ports: Partial<AdminPorts> = {}): AdminFixture {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-admin-'))
  const [tokenFile, keyFile] = [join(folder, 'token'), join(folder, 'keys')]
  writeFileSync(tokenFile, `${adminToken}\n`, { mode: 0o600 })
  writeFileSync(keyFile, `old:${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o600 })
  const runtime = createFakeRuntime(start + 60)
  const store = openMemoryStore()
  const events = new AuditRing(start)
  const lines: string[] = []
  const log = createLog('debug', { write: (line) => void lines.push(line) }, { audit: events })
  const configured = new Map<string, Client>([['file-client', publicClient({ id: 'file-client' })]])
  const fetch = createAdminApi({
    store,
    runtime,
    ring: openKeyFile(keyFile, { parse: parseSecretKeys, now: runtime.now }),
    keyFile: keyFileAt(keyFile, { waitMs: 100 }),
    configured,
    providerIssuer: adminIssuer,
    events,
    auditLines: auditReader(undefined),
    isStopped: () => false,
    version: '0.1.0',
    token: new AdminToken(tokenFile, runtime, reportTo(log)),
    log,
    addressOf: (_request, peer) => peer?.address,
    ...ports,
  })
  return {
    store,
    runtime,
    tokenFile,
    keyFile,
    ask: (method, path, authorization = `Bearer ${adminToken}`) =>
      fetch(
        new Request(`http://127.0.0.1:9465${path}`, {
          method,
          headers: authorization === '' ? {} : { authorization },
        }),
        { address: '192.0.2.5' },
      ),
    logged: (event) =>
      lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((line) => line['event'] === event),
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
