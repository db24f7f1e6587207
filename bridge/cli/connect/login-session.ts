import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { BridgeConfig } from '../../config/config.ts'
import type { CredentialStore } from '../../credentials/credential-store.ts'
import type { HttpClient } from '../../http/http-client.ts'
import type { Login } from '../../oauth/login-port.ts'

/** A login, and where it is kept. */
interface LoginSession {
  login: Login
  store: CredentialStore
}

/** What a login needs from outside. */
export interface LoginPorts {
  http: HttpClient
  runtime: Runtime
  /** Told once where the key of the logins is kept, and at a sign-in what it is good for beyond the server. */
  announce(line: string): void
  /** Of what goes on, for a person who debugs. */
  note(text: string): void
}

/**
 * Loads and connects everything that a stored login needs. Nothing of it is loaded before: a server without sign-in does
 * not wait for it. What talks to authorization servers is loaded when it is used.
 */
export async function openLogin(
  { oauth, credentials }: Pick<BridgeConfig, 'oauth' | 'credentials'>,
  { http, runtime, announce, note }: LoginPorts,
): Promise<LoginSession> {
  const [{ createCredentialStore }, { createLogin }] = await Promise.all([
    import('../../credentials/sealed-store.ts'),
    import('../../oauth/login/login.ts'),
  ])
  const store = createCredentialStore(credentials, { runtime, announce })
  const ports = { http, runtime }
  const login = createLogin(oauth, {
    store,
    async flow(request, announceSignIn, signal) {
      const { createSignInFlow } = await import('../../oauth/grants/sign-in-flow.ts')
      return createSignInFlow(oauth, ports, announce)(request, announceSignIn, signal)
    },
    async refresh(credential, signal) {
      const { refreshTokens } = await import('../../oauth/tokens/token-request.ts')
      return refreshTokens(credential, oauth, ports, signal)
    },
    async revoke(credential) {
      const { giveBack } = await import('../../oauth/login/sign-out.ts')
      return giveBack(credential, oauth, ports)
    },
    runtime,
    note,
  })
  return { login, store }
}
