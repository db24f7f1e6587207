import { OAuthError, type OAuthErrorCode } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Client, ClientFinder } from '../clients/client.ts'
import { requireOurResource } from '../tokens/resource.ts'
import { requireScopeText, type ScopeCatalogue } from '../tokens/scope.ts'

/** An authorization request that passed every check. */
export interface AuthorizationRequest {
  clientId: string
  redirectUri: string
  state: string | undefined
  scope: string
  resource: string
  codeChallenge: string
}

export interface AuthorizationRequestPorts {
  clients: ClientFinder
  resource: string
  scopes: ScopeCatalogue
}

/** Why the browser must not be redirected; shown as an error page (RFC 6749 section 4.1.2.1). */
type UnsafeRequestReason =
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

const maxStateLength = 4096

/**
 * Checks the parameters of an authorization request (OAuth 2.1 section 4.1.1, RFC 7636, RFC 8707).
 *
 * Until client and redirect URI are proven to belong together every fault is `unsafe`: redirecting would make us an open
 * redirector. Unknown parameters are ignored, and parameters without a value count as omitted (RFC 6749 section 3.1).
 *
 * Unknown scopes are left out of the grant (RFC 6749 section 3.3). Of OpenID Connect, `login_hint` and `ui_locales` are for the
 * pages, only `prompt=none` is refused, since users always sign in and consent, and the rest is ignored. Request objects by
 * value, by reference or pushed are refused: the response would be for another request than the one in the URL. Rejects with
 * `ClientUnavailableError`.
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

  try {
    checkParameters(received, parameters, client, resource)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // The error's description contains only permitted characters (RFC 6749 section 4.1.2.1).
    const { code, description } = error
    return { kind: 'refused', client, redirectUri, state: echoableState(received), error: code, description }
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

// Does not echo a repeated or overlong state: which value the client expects is unknown.
function echoableState(parameters: URLSearchParams): string | undefined {
  const [state, ...others] = parameters.getAll('state')
  return others.length === 0 && state !== undefined && state.length <= maxStateLength
    ? state || undefined
    : undefined
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

/** Enforces one rule after the other, once client and redirect URI are validated. The first broken one throws. */
function checkParameters(
  received: URLSearchParams,
  parameters: URLSearchParams,
  client: Client,
  resource: string,
): void {
  requireOnce(received)
  const get = (name: string): string | undefined => parameters.get(name) ?? undefined
  const {
    response_type: type = '',
    response_mode: mode = 'query',
    code_challenge: challenge = '',
  } = Object.fromEntries(parameters)
  refuseIf(parameters.has('request'), 'request_not_supported', 'Request objects are not supported.')
  refuseIf(parameters.has('request_uri'), 'request_uri_not_supported', 'request_uri is not supported.')
  refuseIf(type === '', 'invalid_request', 'response_type is missing; use "code".')
  refuseIf(type !== 'code', 'unsupported_response_type', 'The only supported response_type is "code".')
  refuseIf(
    !client.grantTypes.includes('authorization_code'),
    'unauthorized_client',
    'This client is not registered for the grant type authorization_code.',
  )
  refuseIf(mode !== 'query', 'invalid_request', 'The only supported response_mode is "query".')
  refuseIf(challenge === '', 'invalid_request', 'code_challenge is missing; PKCE with S256 is required.')
  refuseIf(get('code_challenge_method') !== 'S256', 'invalid_request', 'code_challenge_method must be S256.')
  refuseIf(
    !isCodeChallenge(challenge),
    'invalid_request',
    'code_challenge is not the base64url form of a SHA-256 hash.',
  )
  requireOurResource(parameters.getAll('resource'), resource)
  requireScopeText(get('scope'))
  refuseIf(
    get('prompt')?.split(' ').includes('none') === true,
    'login_required',
    'Signing in needs the user; prompt=none cannot succeed.',
  )
  refuseIf(
    (get('state') ?? '').length > maxStateLength,
    'invalid_request',
    `state is longer than ${maxStateLength} characters.`,
  )
}

function refuseIf(isBroken: boolean, code: OAuthErrorCode, description: string): void {
  if (isBroken) throw new OAuthError(code, description)
}

/**
 * Throws `invalid_request` for a parameter given twice, except `repeatable`. RFC 6749 section 3.1 forbids it; RFC 8707 section 2
 * allows several `resource`.
 */
export function requireOnce(parameters: URLSearchParams, repeatable: string = 'resource'): void {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    const shown = JSON.stringify(name.slice(0, 100))
    refuseIf(
      seen.has(name) && name !== repeatable,
      'invalid_request',
      `The parameter ${shown} is given more than once.`,
    )
    seen.add(name)
  }
}
