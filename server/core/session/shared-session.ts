import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type GrantStore, type StoredProviderSession, userIdOf } from './grant.ts'
import { isLive, readGrants } from './grant-pages.ts'
import type { Sealer } from '../seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { type IssuedSession, openProviderSession, sealProviderSession } from './session-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** A session that is being re-sealed or refreshed is retried right away. */
const maxWrites = 5
/** How long after a final refusal the store may still be waiting for a sign-in that replaced the session. */
const replacementMs = 1500

export interface SharedSessionPorts {
  store: GrantStore
  provider: SessionProvider
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
}

/**
 * Makes all connections of a user share one session, for a provider that keeps one refresh token per user and client.
 *
 * Every grant keeps its own copy. A sign-in replaces the session of every live grant of the user; a refresh by one grant replaces
 * the others' too. Only one grant of a user refreshes at a time: it leases its own session and the session of the user's
 * first grant. A grant that missed a refresh adopts the newest copy instead of asking the provider. The session is signed out with
 * the last grant.
 *
 * Limit: a grant whose code is redeemed after another one refreshed has an older copy until its next refresh, and loses it if the
 * others end before that.
 */
export function shareSessions(ports: SharedSessionPorts): {
  /** Signs no session out that another connection uses. */
  provider: SessionProvider
  /** For the session keeper only. */
  store: GrantStore
  /** Returns whether a live connection uses the session, which would lose it by a refresh for the sign-out. */
  isInUse: (session: ProviderSession) => Promise<boolean>
} {
  const copies = new Copies(ports)
  const { provider, runtime } = ports
  const { issuer } = provider

  async function isInUse({ idToken }: ProviderSession): Promise<boolean> {
    const sub = readJwt(idToken ?? '')?.claims['sub']
    return typeof sub === 'string' && (await copies.liveGrantsOf(userIdOf(sub, issuer))).length > 0
  }
  return {
    isInUse,
    provider: {
      ...provider,
      async signOut(session) {
        if (await isInUse(session))
          throw new ProviderError('disabled', 'Other connections of the user use this session.')
        await provider.signOut(session)
      },
      async socialFinish(given) {
        const step = await provider.socialFinish(given)
        if (step.kind !== 'signed_in') return step
        const { identity, session } = step.signIn
        for (const grantId of await copies.liveGrantsOf(userIdOf(identity.sub, issuer))) {
          await copies.replace(grantId, { ...session, issuer }, runtime.now())
        }
        return step
      },
    },
    store: shareStore(copies, ports),
  }
}

/** The copies of a session that the grants of its user have. */
class Copies {
  readonly #ports: SharedSessionPorts

  constructor(ports: SharedSessionPorts) {
    this.#ports = ports
  }

  async liveGrantsOf(userId: string): Promise<string[]> {
    const ids: string[] = []
    for await (const record of readGrants(this.#ports, { userId })) {
      if (isLive(record, this.#ports.runtime.now())) ids.push(record.grant.id)
    }
    return ids
  }

  async othersOf(grantId: string): Promise<string[]> {
    const record = await this.#ports.store.findGrant(grantId)
    const live = record ? await this.liveGrantsOf(record.grant.user.id) : []
    return live.filter((id) => id !== grantId)
  }

  /** Replaces the session of a grant, unless a newer one is stored. */
  async replace(grantId: string, session: IssuedSession, issuedAt: number): Promise<void> {
    const { store, sealer } = this.#ports
    for (let writes = 0; writes < maxWrites; writes += 1) {
      const stored = await store.findProviderSession(grantId)
      if (!stored || stored.issuedAt > issuedAt) return
      const row = { grantId, version: stored.version + 1, issuedAt }
      if (await store.saveProviderSession(sealProviderSession(session, row, sealer))) return
    }
  }

  async newestOf(grantIds: readonly string[]): Promise<StoredProviderSession | undefined> {
    const found = await Promise.all(grantIds.map((id) => this.#ports.store.findProviderSession(id)))
    return found
      .filter((session) => session !== undefined)
      .toSorted((one, other) => other.issuedAt - one.issuedAt)[0]
  }
}

type Lease = Parameters<GrantStore['leaseProviderSession']>[0]

/** The additional lease of a refresh: on the session of the user's first grant. */
function createLeaderLeases(store: GrantStore) {
  const held = new Map<string, { grantId: string; owner: string }>()
  return {
    async take(leader: string, { grantId, owner, until }: Lease, now: number): Promise<boolean> {
      if (leader === grantId) return true
      const session = await store.findProviderSession(leader)
      if (!session) return false
      // One process may refresh several grants at once: each is a separate owner.
      const lease = { grantId: leader, owner: `${owner} ${grantId}` }
      const result = await store.leaseProviderSession({ ...lease, version: session.version, until }, now)
      if (result.kind === 'leased') held.set(grantId, lease)
      return result.kind === 'leased'
    },
    async giveBack(grantId: string): Promise<void> {
      const lease = held.get(grantId)
      held.delete(grantId)
      if (lease) await store.releaseProviderSession({ ...lease, outcomeKnown: true })
    },
  }
}

function shareStore(copies: Copies, { store, sealer, runtime }: SharedSessionPorts): GrantStore {
  const leaders = createLeaderLeases(store)

  /** Adopts a newer copy for the grant that holds this lease. Returns false if its own is the newest. */
  async function catchUp({ grantId, version }: Lease, others: readonly string[]): Promise<boolean> {
    const own = await store.findProviderSession(grantId)
    if (own?.version !== version) return true
    const newest = await copies.newestOf(others)
    const issued = newest && openProviderSession(newest, sealer)
    if (!newest || !issued || newest.issuedAt <= own.issuedAt) return false
    await copies.replace(grantId, issued, newest.issuedAt)
    return true
  }

  const shared: GrantStore = {
    ...store,
    async leaseProviderSession(lease, now) {
      const { grantId, owner } = lease
      const others = await copies.othersOf(grantId)
      const [leader = grantId] = [grantId, ...others].toSorted()
      if (!(await leaders.take(leader, lease, now))) return { kind: 'held' }
      const result = await store.leaseProviderSession(lease, now)
      if (result.kind === 'leased' && !(await catchUp(lease, others))) return result
      // This grant's lease ended when it caught up; release the rest of both.
      await shared.releaseProviderSession({ grantId, owner, outcomeKnown: true })
      return { kind: 'held' }
    },
    async saveProviderSession(session) {
      const { grantId, issuedAt } = session
      const saved = await store.saveProviderSession(session)
      try {
        // A grant that ended while it refreshed received the token that the others need.
        const isNewest = saved || (await store.findProviderSession(grantId)) === undefined
        const issued = isNewest ? openProviderSession(session, sealer) : undefined
        const others = issued ? await copies.othersOf(grantId) : []
        if (issued) for (const id of others) await copies.replace(id, issued, issuedAt)
        await leaders.giveBack(grantId)
      } catch (error) {
        // The others find the newest copy when they are due.
        if (!(error instanceof StoreUnavailableError)) throw error
      }
      return saved
    },
    async releaseProviderSession(lease) {
      await leaders.giveBack(lease.grantId)
      return store.releaseProviderSession(lease)
    },
    async endRefusedSession(session, reason, now) {
      await runtime.sleep(replacementMs)
      const ended = await store.endRefusedSession(session, reason, now)
      await leaders.giveBack(session.grantId)
      return ended
    },
  }
  return shared
}
