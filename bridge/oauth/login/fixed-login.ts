import { type Login, OAuthFailure } from '../login-port.ts'

/** Creates a login for a configured token. Nothing is stored, renewed or revoked, and the user cannot sign in. */
export function createFixedLogin(token: string, how: 'environment' | 'header' = 'environment'): Login {
  const authorization = { header: `Bearer ${token}` }
  return {
    authorization: async () => authorization,
    refused: async () => ({ kind: 'sign_in_needed' }),
    signIn() {
      const failure = new OAuthFailure(
        'sign_in_needed',
        'The server rejects the configured token. Remove it to sign in instead.',
      )
      const failed: Promise<never> = Promise.reject(failure)
      // Callers may ignore either promise.
      failed.catch(() => undefined)
      return { prompt: failed, done: failed, onPrompt: () => undefined, cancel: () => undefined }
    },
    signOut: async () => ({ found: false, readable: true, revoked: undefined }),
    state: async () => ({ kind: 'configured', how }),
    settle: async () => undefined,
  }
}
