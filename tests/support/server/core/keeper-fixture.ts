import type { StoredProviderSession } from '../../../../server/core/session/grant.ts'
import { createSealer, fixedKeyRing, type Sealer } from '../../../../server/core/seal.ts'
import { SessionKeeper } from '../../../../server/core/session/session-keeper.ts'
import type { SessionKeeperPorts } from '../../../../server/core/session/session-refresh.ts'
import type { KeptSession } from '../../../../server/core/session/served-session.ts'
import { openProviderSession } from '../../../../server/core/session/session-seal.ts'
import { StoreUnavailableError } from '../../../../server/core/store-unavailable.ts'
import type { Store } from '../../../../server/core/store.ts'
import { openMemoryStore } from '../../../../server/store/sqlite/sqlite.ts'
import { createFakeRuntime, type FakeRuntime } from '../fake-runtime.ts'
import { start, addSealedGrant } from './grant-sample.ts'
import {
  createRotatingProvider,
  providerIssuer,
  type RotatingProvider,
  type RotationRule,
} from './rotating-provider.ts'

/** One store, one provider session, and any number of keepers. */
export interface KeeperFixture {
  runtime: FakeRuntime
  store: Store
  provider: RotatingProvider
  sealer: Sealer
  /** Events of all keepers, in order. */
  reports: string[]
  keeper(owner: string, overrides?: Partial<SessionKeeperPorts>): SessionKeeper
  /** Creates a grant whose provider session was issued now. */
  connect(grantId?: string): Promise<StoredProviderSession>
  /** Returns the stored session of a live grant. */
  stored(grantId?: string): Promise<StoredProviderSession>
  /** Does what `/mcp` does: reads the stored session, then keeps it alive. */
  keep(keeper: SessionKeeper, grantId?: string): Promise<KeptSession>
  storedRefreshToken(): Promise<string | undefined>
  /** Returns why the grant ended; undefined while it is live. */
  endReason(): Promise<string | undefined>
}

export const grantId = 'grant a'

/** Creates a fixture at {@link start}, without a grant. */
export function createKeeperFixture(rule?: RotationRule): KeeperFixture {
  const runtime = createFakeRuntime(start)
  const store = openMemoryStore()
  const provider = createRotatingProvider(runtime, rule)
  const sealer = createSealer(fixedKeyRing([sampleKey('k', 1)]), runtime.randomBytes)
  const reports: string[] = []
  const fixture: KeeperFixture = {
    runtime,
    store,
    provider,
    sealer,
    reports,
    keeper: (owner, overrides = {}) =>
      new SessionKeeper({
        store,
        provider,
        providerIssuer,
        sealer,
        runtime,
        owner,
        checkSeconds: undefined,
        report: (event) => void reports.push(event),
        ...overrides,
      }),
    connect(id = grantId) {
      const grant = { id, createdAt: runtime.now() }
      return addSealedGrant(store, sealer, id, { grant, ...provider.signedIn(), issuer: providerIssuer })
    },
    async stored(id = grantId) {
      const session = await store.findProviderSession(id)
      if (!session) throw new Error('The grant has ended.')
      return session
    },
    keep: async (keeper, id = grantId) => keeper.keep(await fixture.stored(id)),
    storedRefreshToken: async () => openProviderSession(await fixture.stored(), sealer)?.refreshToken,
    endReason: async () => (await store.findRefreshToken(`refresh ${grantId} 1`))?.endReason,
  }
  return fixture
}

/** Returns a key whose bytes are all `fill`. */
export function sampleKey(kid: string, fill: number): { kid: string; key: Uint8Array } {
  return { kid, key: new Uint8Array(32).fill(fill) }
}

export function storeIsDown(): Promise<never> {
  return Promise.reject(new StoreUnavailableError('The store is down.', { cause: new Error('down') }))
}

/** Stands for a step that never happens because the process died first. */
export function never(): Promise<never> {
  return new Promise(() => {})
}
