import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** What binds one authorization request to its response. Secret. */
export interface AuthorizationSecrets {
  state: string
  codeVerifier: string
  codeChallenge: string
}

/** New ones, 256 bits each. */
export async function createAuthorizationSecrets({
  randomBytes,
}: Pick<Runtime, 'randomBytes'>): Promise<AuthorizationSecrets> {
  const codeVerifier = createCodeVerifier(randomBytes)
  return {
    state: encodeBase64url(randomBytes(32)),
    codeVerifier,
    codeChallenge: await deriveCodeChallenge(codeVerifier),
  }
}

/** What an authorization request asks for. */
export interface AuthorizationRequest {
  endpoint: string
  clientId: string
  redirectUri: string
  scope: string | undefined
  resource: string | undefined
  /** Of the user. They may replace `scope` and `resource`, and nothing that the safety of the sign-in rests on. */
  more: Readonly<Record<string, string>>
}

/**
 * The URL that a person has to open (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2). A query that the
 * endpoint has is kept.
 */
export function authorizationUrl(
  request: AuthorizationRequest,
  { state, codeChallenge }: AuthorizationSecrets,
): string {
  const url = new URL(request.endpoint)
  const parameters = {
    scope: request.scope,
    resource: request.resource,
    ...request.more,
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}
