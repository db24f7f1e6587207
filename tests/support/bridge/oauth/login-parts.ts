import type { CredentialStore } from '../../../../bridge/credentials/credential-store.ts'
import type { Credential, IssuedTokens } from '../../../../bridge/credentials/credential.ts'
import { systemRuntime as runtime } from '../../../../bridge/config/system-runtime.ts'
import type { LoginPorts } from '../../../../bridge/oauth/login/login.ts'
import type { SignInFlow, TokenSource } from '../../../../bridge/oauth/login-port.ts'
import type { OAuthConfig } from '../../../../bridge/oauth/oauth-config.ts'
import { refreshTokens } from '../../../../bridge/oauth/tokens/token-request.ts'
import { createTestHttp, oauthConfig } from './oauth-ports.ts'
import { loginAt } from './oauth-server.ts'

/** Returns the configuration of a login at an `OAuthServer`. */
export function loginConfig(origin: string, changes: Partial<OAuthConfig> = {}): OAuthConfig {
  return oauthConfig(`${origin}/mcp`, { signInTimeoutMs: 30_000, allowHttp: true, ...changes })
}

/** Returns a login at an `OAuthServer`, as a sign-in leaves it. */
export function loginCredential(
  origin: string,
  tokens: IssuedTokens,
  changes: Partial<Credential> = {},
): Credential {
  return loginAt({ origin }, {}, { tokens, signedInAt: tokens.issuedAt, signInId: 'first', ...changes })
}

/** Dependencies of {@link loginPorts}: `person` is the user, and rejects when they decline. */
export interface LoginPortsOptions {
  origin: string
  store: CredentialStore
  person?: (signal: AbortSignal) => Promise<void>
}

/** Creates the ports of a login at an `OAuthServer`: the real ones, but for a sign-in in its simplest form. */
export function loginPorts({ origin, store, person }: LoginPortsOptions): LoginPorts {
  const http = createTestHttp()
  const config = loginConfig(origin)
  const flow: SignInFlow = async (_request, announce, signal) => {
    announce({ kind: 'browser', url: `${origin}/authorize?process=${String(process.pid)}` })
    await person?.(signal)
    signal.throwIfAborted()
    const response = await fetch(`${origin}/sign-in`, { method: 'POST', signal })
    return loginCredential(origin, (await response.json()) as IssuedTokens, { generation: 0 })
  }
  return {
    store,
    flow,
    refresh: (credential, signal) => refreshTokens(credential, { http, runtime, config, signal }),
    runtime,
    note: () => undefined,
  }
}

/**
 * Makes one call of a client: sends the token, and once more after a refusal. Returns the status of the last
 * response, or the login's outcome.
 */
export async function call(origin: string, login: TokenSource): Promise<number | 'sign_in_needed'> {
  const send = async (): Promise<{ status: number; used: string | undefined }> => {
    const used = await login.authorization()
    const response = await fetch(`${origin}/mcp`, {
      headers: used === undefined ? {} : { authorization: used },
    })
    await response.arrayBuffer()
    return { status: response.status, used }
  }
  const first = await send()
  if (first.status !== 401) return first.status
  const outcome = await login.refused({ status: 401, used: first.used, challenges: [] })
  if (outcome === 'sign_in_needed') return 'sign_in_needed'
  return (await send()).status
}
