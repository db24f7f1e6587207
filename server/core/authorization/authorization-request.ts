import { OAuthError, type OAuthErrorCode } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Client, ClientFinder } from '../clients/client.ts'
import { areOurResources } from '../tokens/resource.ts'
import { isScopeText, type ScopeCatalogue, unreadableScope } from '../tokens/scope.ts'

/** An authorization request that passed every check. */
export interface AuthorizationRequest {
  clientId: string
  redirectUri: string
  state: string | undefined
  scope: string
  resource: string
  codeChallenge: string
}

/** Dependencies of checking a request. */
export interface AuthorizationRequestPorts {
  clients: ClientFinder
  resource: string
  scopes: ScopeCatalogue
}

/** Why the browser must not be redirected; shown as an error page (RFC 6749 section 4.1.2.1). */
export type UnsafeRequestReason =
  | 'client_id_missing'
  | 'client_unknown'
  | 'redirect_uri_missing'
  | 'redirect_uri_mismatch'
  | 'parameter_repeated'

/** Result of {@link parseAuthorizationRequest}. */
export type AuthorizationRequestResult =
  | { kind: 'accepted'; request: AuthorizationRequest; client: Client; loginHint: string | undefined }
  | { kind: 'unsafe'; reason: UnsafeRequestReason; client: Client | undefined }
  | {
      kind: 'refused'
      client: Client
      redirectUri: string
      state: string | undefined
      error: OAuthErrorCode
      description: string
    }

interface Refusal {
  error: OAuthErrorCode
  description: string
}

const maxStateLength = 4096

/** Values that a check may use besides the parameters. */
interface Expected {
  client: Client
  resource: string
}

type Check = (parameters: URLSearchParams, expected: Expected) => Refusal | undefined

// Each check enforces one rule; the first refusal wins. All run after client and redirect URI are validated.
const checks: readonly Check[] = [
  refuseRequestObject,
  refuseResponseType,
  refuseGrantType,
  refuseResponseMode,
  refuseMissingPkce,
  refuseForeignResource,
  refuseUnreadableScope,
  refuseSilentPrompt,
  refuseLongState,
]

/**
 * Checks the parameters of an authorization request (OAuth 2.1 section 4.1.1, RFC 7636, RFC 8707).
 *
 * Until client and redirect URI are proven to belong together every fault is `unsafe`: redirecting would make us an open
 * redirector. Unknown parameters are ignored, and parameters without a value count as omitted (RFC 6749 section 3.1).
 *
 * Unknown scopes are left out of the grant, and the token response names the rest (RFC 6749 section 3.3). Of OpenID Connect,
 * `login_hint` is shown in the form; `prompt` needs no handling, since users always choose, sign in and consent, so only `none` is
 * refused; the rest (`max_age`, `nonce`, `claims`, `ui_locales`, `display`) is ignored. Request objects by value, by reference or
 * pushed are refused: the response would be for a different request than the one in the URL.
 *
 * Does not check that the client is who its name says. Rejects with `ClientUnavailableError` if the client cannot be looked up
 * right now.
 */
export async function parseAuthorizationRequest(
  received: URLSearchParams,
  { clients, resource, scopes }: AuthorizationRequestPorts,
): Promise<AuthorizationRequestResult> {
  if (received.getAll('client_id').length > 1 || received.getAll('redirect_uri').length > 1) {
    return { kind: 'unsafe', reason: 'parameter_repeated', client: undefined }
  }
  const parameters = new URLSearchParams([...received].filter(([, value]) => value !== ''))
  const clientId = parameters.get('client_id')
  if (!clientId) return { kind: 'unsafe', reason: 'client_id_missing', client: undefined }
  const client = await clients.findClient(clientId)
  if (!client) return { kind: 'unsafe', reason: 'client_unknown', client: undefined }
  const redirectUri = chooseRedirectUri(parameters.get('redirect_uri'), client)
  if (typeof redirectUri !== 'string') return { kind: 'unsafe', reason: redirectUri.reason, client }

  const refusal = refuseRepeatedParameter(received) ?? firstRefusal(parameters, { client, resource })
  if (refusal) {
    // The error's description contains only permitted characters (RFC 6749 section 4.1.2.1).
    const { code: error, description } = new OAuthError(refusal.error, refusal.description)
    return { kind: 'refused', client, redirectUri, state: echoableState(received), error, description }
  }
  return {
    kind: 'accepted',
    client,
    loginHint: parameters.get('login_hint')?.slice(0, 320),
    request: {
      clientId,
      redirectUri,
      state: parameters.get('state') ?? undefined,
      scope: scopes.grant(parameters.get('scope') ?? undefined),
      resource,
      codeChallenge: parameters.get('code_challenge') ?? '',
    },
  }
}

function firstRefusal(parameters: URLSearchParams, expected: Expected): Refusal | undefined {
  for (const check of checks) {
    const refusal = check(parameters, expected)
    if (refusal) return refusal
  }
  return undefined
}

// Does not echo a repeated or overlong state: which value the client expects is unknown.
function echoableState(parameters: URLSearchParams): string | undefined {
  const [state, ...others] = parameters.getAll('state')
  return others.length === 0 && !refuseLongState(parameters) ? state || undefined : undefined
}

function chooseRedirectUri(
  presented: string | null,
  client: Client,
): string | { reason: UnsafeRequestReason } {
  if (presented === null) {
    const [only, ...others] = client.redirectUris
    return only !== undefined && others.length === 0 ? only : { reason: 'redirect_uri_missing' }
  }
  return matchRedirectUri(client.redirectUris, presented) ? presented : { reason: 'redirect_uri_mismatch' }
}

function refuseRepeatedParameter(parameters: URLSearchParams): Refusal | undefined {
  const repeated = repeatedParameter(parameters)
  return repeated === undefined
    ? undefined
    : {
        error: 'invalid_request',
        description: `The parameter ${JSON.stringify(repeated)} is given more than once.`,
      }
}

/** Returns the name of a parameter that occurs twice. RFC 6749 section 3.1 forbids it; RFC 8707 section 2 allows several `resource`. */
export function repeatedParameter(parameters: URLSearchParams): string | undefined {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    if (seen.has(name) && name !== 'resource') return name.slice(0, 100)
    seen.add(name)
  }
  return undefined
}

function refuseRequestObject(parameters: URLSearchParams): Refusal | undefined {
  if (parameters.has('request')) {
    return { error: 'request_not_supported', description: 'Request objects are not supported.' }
  }
  return parameters.has('request_uri')
    ? { error: 'request_uri_not_supported', description: 'request_uri is not supported.' }
    : undefined
}

function refuseResponseType(parameters: URLSearchParams): Refusal | undefined {
  const responseType = parameters.get('response_type')
  if (responseType === 'code') return undefined
  return responseType === null
    ? { error: 'invalid_request', description: 'response_type is missing; use "code".' }
    : { error: 'unsupported_response_type', description: 'The only supported response_type is "code".' }
}

function refuseGrantType(_parameters: URLSearchParams, { client }: Expected): Refusal | undefined {
  return client.grantTypes.includes('authorization_code')
    ? undefined
    : {
        error: 'unauthorized_client',
        description: 'This client is not registered for the grant type authorization_code.',
      }
}

function refuseResponseMode(parameters: URLSearchParams): Refusal | undefined {
  const mode = parameters.get('response_mode')
  return mode === null || mode === 'query'
    ? undefined
    : { error: 'invalid_request', description: 'The only supported response_mode is "query".' }
}

function refuseMissingPkce(parameters: URLSearchParams): Refusal | undefined {
  const challenge = parameters.get('code_challenge')
  if (challenge === null) {
    return { error: 'invalid_request', description: 'code_challenge is missing; PKCE with S256 is required.' }
  }
  if (parameters.get('code_challenge_method') !== 'S256') {
    return { error: 'invalid_request', description: 'code_challenge_method must be S256.' }
  }
  return isCodeChallenge(challenge)
    ? undefined
    : { error: 'invalid_request', description: 'code_challenge is not the base64url form of a SHA-256 hash.' }
}

function refuseForeignResource(parameters: URLSearchParams, { resource }: Expected): Refusal | undefined {
  return areOurResources(parameters.getAll('resource'), resource)
    ? undefined
    : { error: 'invalid_target', description: `The only resource here is ${resource}` }
}

function refuseUnreadableScope(parameters: URLSearchParams): Refusal | undefined {
  return isScopeText(parameters.get('scope') ?? '') ? undefined : unreadableScope
}

function refuseSilentPrompt(parameters: URLSearchParams): Refusal | undefined {
  return parameters.get('prompt')?.split(' ').includes('none')
    ? { error: 'login_required', description: 'Signing in needs the user; prompt=none cannot succeed.' }
    : undefined
}

function refuseLongState(parameters: URLSearchParams): Refusal | undefined {
  return (parameters.get('state')?.length ?? 0) > maxStateLength
    ? { error: 'invalid_request', description: `state is longer than ${maxStateLength} characters.` }
    : undefined
}
