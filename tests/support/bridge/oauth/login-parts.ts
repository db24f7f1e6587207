import type { CredentialStore } from '../../../../bridge/credentials/credential-store.ts'
import type { Credential, IssuedTokens } from '../../../../bridge/credentials/credential.ts'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import type { LoginPorts } from '../../../../bridge/oauth/login/login.ts'
import { oauthConfig } from './oauth-ports.ts'
import type { OAuthConfig } from '../../../../bridge/oauth/oauth-config.ts'
import type { SignInFlow, TokenSource } from '../../../../bridge/oauth/login-port.ts'
import type { RefreshAnswer } from '../../../../bridge/oauth/tokens/token-response.ts'

/** Returns the configuration of a login at a `TokenServer`. */
export function loginConfig(url: string, changes: Partial<OAuthConfig> = {}): OAuthConfig {
  return oauthConfig(`${url}/mcp`, { signInTimeoutMs: 30_000, allowHttp: true, ...changes })
}

/** Returns a login at a `TokenServer`, as a sign-in leaves it. */
export function loginCredential(
  url: string,
  tokens: IssuedTokens,
  changes: Partial<Credential> = {},
): Credential {
  return {
    generation: 1,
    serverUrl: `${url}/mcp`,
    profile: 'default',
    issuer: url,
    tokenEndpoint: `${url}/token`,
    client: { clientId: 'client', tokenEndpointAuthMethod: 'none', origin: 'dynamic' },
    tokens,
    signedInAt: tokens.issuedAt,
    signInId: 'first',
    ...changes,
  }
}

/** Dependencies of {@link loginPorts}: `person` is the user, and rejects when they decline. */
export interface LoginPortsOptions {
  url: string
  store: CredentialStore
  person?: (signal: AbortSignal) => Promise<void>
  note?: (text: string) => void
}

/** Creates the flows and the token endpoint of a `TokenServer` in their simplest form. */
export function loginPorts({ url, store, person, note }: LoginPortsOptions): LoginPorts {
  const flow: SignInFlow = async (_request, announce, signal) => {
    announce({ kind: 'browser', url: `${url}/authorize?process=${String(process.pid)}` })
    await person?.(signal)
    signal.throwIfAborted()
    const response = await fetch(`${url}/sign-in`, { method: 'POST', signal })
    return loginCredential(url, (await response.json()) as IssuedTokens, { generation: 0 })
  }
  return {
    store,
    flow,
    refresh: (credential, signal) => refresh(credential, signal),
    async revoke(credential) {
      const body = credential.tokens?.refreshToken ?? ''
      return (await fetch(`${url}/revoke`, { method: 'POST', body })).ok
    },
    runtime: systemRuntime,
    note: note ?? (() => undefined),
  }
}

async function refresh(
  { tokenEndpoint, tokens }: Credential,
  signal: AbortSignal | undefined,
): Promise<RefreshAnswer> {
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: tokens?.refreshToken ?? '' })
  const quirks = {}
  let response: Response
  try {
    response = await fetch(tokenEndpoint, { method: 'POST', body, ...(signal ? { signal } : {}) })
  } catch (cause) {
    return { answer: { kind: 'unavailable', retryAfterSeconds: undefined, cause, sent: false }, quirks }
  }
  const answer = (await response.json()) as IssuedTokens & { error?: string }
  if (response.ok) return { answer: { kind: 'issued', tokens: answer }, quirks }
  const { status } = response
  if (status === 429 || status >= 500) {
    const retryAfter = response.headers.get('retry-after')
    const retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter)
    return { answer: { kind: 'unavailable', retryAfterSeconds, cause: undefined, sent: true }, quirks }
  }
  return { answer: { kind: 'refused', error: answer.error ?? '', description: undefined, status }, quirks }
}

/**
 * Makes one call of a client: sends the token, and once more after a refusal. Returns the status of the last
 * response, or the login's outcome.
 */
export async function call(url: string, login: TokenSource): Promise<number | 'sign_in_needed'> {
  const send = async (): Promise<{ status: number; used: { header: string } | undefined }> => {
    const used = await login.authorization()
    const response = await fetch(`${url}/mcp`, {
      headers: used === undefined ? {} : { authorization: used.header },
    })
    await response.arrayBuffer()
    return { status: response.status, used }
  }
  const first = await send()
  if (first.status !== 401) return first.status
  const outcome = await login.refused({ status: 401, used: first.used, challenges: [] })
  if (outcome.kind === 'sign_in_needed') return 'sign_in_needed'
  return (await send()).status
}
