import type { StoredProviderSession } from './grant.ts'
import type { Sealer } from './seal.ts'
import type { ProviderSession } from './session-provider.ts'

/** The stored form of `session`; the row and version it is sealed for are part of the seal. */
export function sealProviderSession(
  session: ProviderSession,
  row: { grantId: string; version: number; issuedAt: number },
  sealer: Sealer,
): StoredProviderSession {
  const { accessToken, refreshToken, expiresAt, idToken } = session
  return {
    ...row,
    expiresAt,
    sealed: sealer.seal(JSON.stringify({ accessToken, refreshToken, idToken }), context(row)),
  }
}

/** Inverse of {@link sealProviderSession}; undefined when no key of the ring opens it, or it is of another row or version. */
export function openProviderSession(
  stored: StoredProviderSession,
  sealer: Sealer,
): ProviderSession | undefined {
  const opened = sealer.open(stored.sealed, context(stored))
  if (opened === undefined) return undefined
  return { ...(JSON.parse(opened) as Omit<ProviderSession, 'expiresAt'>), expiresAt: stored.expiresAt }
}

function context(row: { grantId: string; version: number }): string {
  return `provider session ${row.grantId} ${row.version}`
}
