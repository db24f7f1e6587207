import type { StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import type { ProviderSession } from './session-provider.ts'

/** Prefix of the lease owner of a re-sealing command: a server that starts meanwhile leaves its leases alone. */
export const resealOwnerPrefix = 'keys-rotate-'

/** A session with the issuer of the provider it is of; undefined when it was sealed before that was written down. */
export interface IssuedSession extends ProviderSession {
  issuer: string | undefined
}

/** The stored form of `session`; the row and version it is sealed for are part of the seal. */
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

/**
 * Inverse of {@link sealProviderSession}; undefined when no key of the ring opens it, or it is of another row or version.
 * Not checked: whose session it is. What is to be sent to a provider comes from {@link openSessionOf}.
 */
export function openProviderSession(
  stored: StoredProviderSession,
  sealer: Sealer,
): IssuedSession | undefined {
  const opened = sealer.open(stored.sealed, context(stored))
  if (opened === undefined) return undefined
  const members = JSON.parse(opened) as Omit<ProviderSession, 'expiresAt'> & { issuer?: string }
  return { ...members, issuer: members.issuer, expiresAt: stored.expiresAt }
}

/** What opening a session for one provider came to. */
export type SessionOpening =
  | { kind: 'opened'; session: ProviderSession }
  | { kind: 'unreadable' } // no key of the ring opens it
  | { kind: 'foreign' } // another provider issued it: this one must not see it, and would refuse it for good

/** Opens `stored` for use at the provider `issuer`. One that was sealed without an issuer is taken for its own. */
export function openSessionOf(issuer: string, stored: StoredProviderSession, sealer: Sealer): SessionOpening {
  const opened = openProviderSession(stored, sealer)
  if (!opened) return { kind: 'unreadable' }
  const { issuer: sealedIssuer, ...session } = opened
  if (sealedIssuer !== undefined && sealedIssuer !== issuer) return { kind: 'foreign' }
  return { kind: 'opened', session }
}

function context(row: { grantId: string; version: number }): string {
  return `provider session ${row.grantId} ${row.version}`
}
