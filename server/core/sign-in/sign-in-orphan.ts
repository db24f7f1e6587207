import { type SignInPorts, storePending } from './pending-sign-in.ts'
import { createBrowserBinding } from './browser-seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from '../session/session-provider.ts'

/** Signs the session out if `keep` rejects. That is not retried: the store, which would remember it, has just failed. */
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

/** Ends the session of an abandoned sign-in, at once or by the outbox. If the store fails too, it ends by the provider's rules. */
export async function endUnusedSession(session: ProviderSession, ports: SignInPorts): Promise<void> {
  const { store, provider, runtime } = ports
  try {
    await provider.signOut(session)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (error.failure === 'disabled') return
    // Stored as a sign-in whose second step was cancelled, of a browser that does not exist.
    const binding = createBrowserBinding(runtime.randomBytes)
    const id = await storePending('unused session', { payload: {}, session, binding, seconds: 1 }, ports)
    await store.removeSecondFactor(id, true, runtime.now())
  }
}
