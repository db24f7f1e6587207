import type { ProviderSession, SessionProvider } from './session-provider.ts'

/**
 * Answers what `keep` does. When it rejects, nobody will ever use or end `session`, so it is signed out at the provider
 * before the error goes on. A sign-out that fails is given up: the store, which would remember it, has just failed.
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
