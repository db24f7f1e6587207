import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { SecondFactorStore } from './pending-sign-in.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from '../session/session-provider.ts'
import { sealProviderSession } from '../session/session-seal.ts'

/**
 * Returns what `keep` does. If `keep` rejects, `session` is unused, so it is signed out at the provider before the
 * error is rethrown. A failing sign-out is not retried: the store, which would remember it, has just failed.
 */
export async function keepOrSignOut<T>(
  session: ProviderSession,
  provider: Pick<SessionProvider, 'signOut'>,
  keep: () => Promise<T>,
): Promise<T> {
  try {
    return await keep()
  } catch (error) {
    await provider.signOut(session).catch(() => undefined)
    throw error
  }
}

export interface UnusedSessionPorts {
  store: Pick<SecondFactorStore, 'addSecondFactor' | 'removeSecondFactor'>
  provider: Pick<SessionProvider, 'signOut' | 'issuer'>
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
}

/**
 * Ends the session of an abandoned sign-in: at once at the provider, or by the sign-out outbox if the provider does not respond.
 * Does nothing at a provider that does not support it. Rejects if the store fails as well; then the session ends by the provider's
 * own rules.
 */
export async function endUnusedSession(session: ProviderSession, ports: UnusedSessionPorts): Promise<void> {
  const { store, provider, sealer, runtime } = ports
  try {
    await provider.signOut(session)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (error.failure === 'disabled') return
    const now = runtime.now()
    const id = encodeBase64url(runtime.randomBytes(16))
    const row = { grantId: id, version: 1, issuedAt: now }
    // Stored as a sign-in whose second step was cancelled; no browser has its id.
    await store.addSecondFactor({
      id,
      bindingHash: hashSecret(encodeBase64url(runtime.randomBytes(32))),
      sealed: sealer.seal('{}', `drawbridge unused session ${id}`),
      session: sealProviderSession({ ...session, issuer: provider.issuer }, row, sealer),
      expiresAt: now + 1,
    })
    await store.removeSecondFactor(id, true, now)
  }
}
