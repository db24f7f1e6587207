import { type Login, OAuthFailure } from '../login-port.ts'

/** A token that came with the configuration: nothing is stored, renewed or revoked, and nobody can sign in. */
export function createFixedLogin(token: string, how: 'environment' | 'header' = 'environment'): Login {
  const authorization = { header: `Bearer ${token}` }
  return {
    authorization: async () => authorization,
    refused: async () => ({ kind: 'sign_in_needed' }),
    signIn() {
      const failure = new OAuthFailure(
        'sign_in_needed',
        'The server refuses the token of the configuration. While there is one, nobody can sign in.',
      )
      const failed: Promise<never> = Promise.reject(failure)
      // Either may be left alone by whoever asked.
      failed.catch(() => undefined)
      return { prompt: failed, done: failed, onPrompt: () => undefined, cancel: () => undefined }
    },
    signOut: async () => ({ found: false, readable: true, revoked: undefined }),
    state: async () => ({ kind: 'configured', how }),
    settle: async () => undefined,
  }
}
