import type { StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import type { ProviderSession } from './session-provider.ts'

/** Prefix of a re-sealing command's lease owner: a server that starts in the meantime leaves its leases alone. */
export const resealOwnerPrefix = 'keys-rotate-'

export interface IssuedSession extends ProviderSession {
  issuer: string
}

/** Seals `session` for storage; the seal covers its row and version. */
export function sealProviderSession(
  session: IssuedSession,
  row: { grantId: string; version: number; issuedAt: number },
  sealer: Sealer,
): StoredProviderSession {
  const { expiresAt, ...sealed } = session
  return {
    ...row,
    expiresAt,
    sealed: sealer.seal(JSON.stringify(sealed), context(row)),
  }
}

/** Undefined when no key opens it, or it is of another row or version. Does not check the issuer: {@link openSessionOf} does. */
export function openProviderSession(
  stored: StoredProviderSession,
  sealer: Sealer,
): IssuedSession | undefined {
  const opened = sealer.open(stored.sealed, context(stored))
  if (opened === undefined) return undefined
  return { ...(JSON.parse(opened) as Omit<IssuedSession, 'expiresAt'>), expiresAt: stored.expiresAt }
}

export type SessionOpening =
  | { kind: 'opened'; session: ProviderSession }
  | { kind: 'unreadable' } // no key of the ring opens it
  | { kind: 'foreign' } // another provider issued it: this one must not see it, and would refuse it for good

/** Opens `stored` for use at the provider `issuer`. */
export function openSessionOf(issuer: string, stored: StoredProviderSession, sealer: Sealer): SessionOpening {
  const opened = openProviderSession(stored, sealer)
  if (!opened) return { kind: 'unreadable' }
  const { issuer: sealedIssuer, ...session } = opened
  return sealedIssuer === issuer ? { kind: 'opened', session } : { kind: 'foreign' }
}

function context(row: { grantId: string; version: number }): string {
  return `provider session ${row.grantId} ${row.version}`
}
