import type { AuthorizationServerMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { quoteServerText } from '../server-text.ts'
import { isSafeUrl, isSameOrigin } from './server-url.ts'

/** `grant_type` of RFC 8628 section 3.4. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

const grantEndpoint = {
  authorization_code: 'authorization_endpoint',
  device_code: 'device_authorization_endpoint',
  client_credentials: undefined,
} as const satisfies Record<OAuthConfig['grant'], keyof AuthorizationServerMetadata | undefined>

/**
 * Returns the grant to use at this server: the configured one, or the device grant when no browser can be opened and
 * the server supports it (RFC 8628 section 4).
 */
export function grantAt(metadata: AuthorizationServerMetadata, config: OAuthConfig): OAuthConfig['grant'] {
  if (config.grant !== 'authorization_code' || !config.prefersDevice) return config.grant
  const hasEndpoint = endpointBesideToken(metadata, 'device_authorization_endpoint', config) !== undefined
  const { grant_types_supported: grants } = metadata
  const isSupported = hasEndpoint && (grants === undefined || grants.includes(deviceGrantType))
  return isSupported ? 'device_code' : config.grant
}

/**
 * Returns why this configuration cannot sign in at a server: an endpoint is missing or not safe for secrets, S256 is not
 * supported (MCP 2026-07-28 authorization requires clients to refuse), or no client can be obtained.
 */
export function whyUnusable(
  metadata: AuthorizationServerMetadata,
  config: OAuthConfig,
): OAuthFailure | undefined {
  const { issuer } = metadata
  const name = quoteServerText(issuer)
  const grant = grantAt(metadata, config)
  for (const endpoint of ['token_endpoint', grantEndpoint[grant]] as const) {
    const fault = endpoint && endpointFault(metadata, endpoint, config)
    if (fault) return new OAuthFailure('bad_metadata', `The ${endpoint} of ${name} ${fault}.`, { issuer })
  }
  const needsPkce = grant === 'authorization_code'
  if (needsPkce && metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    const text = `The authorization server ${name} does not list PKCE with S256.`
    return new OAuthFailure('no_pkce', text, { issuer })
  }
  const isClient = config.staticClient !== undefined || takesDocument(metadata, config)
  return isClient || endpointBesideToken(metadata, 'registration_endpoint', config) !== undefined
    ? undefined
    : noRegistration(metadata)
}

/** Returns why an endpoint of a grant cannot be used. */
function endpointFault(
  metadata: AuthorizationServerMetadata,
  name: 'token_endpoint' | 'authorization_endpoint' | 'device_authorization_endpoint',
  config: OAuthConfig,
): string | undefined {
  const url = metadata[name]
  if (url === undefined) return 'is missing'
  if (!isSafeUrl(url, metadata.issuer, config)) return 'is not safe: it is not https'
  return name === 'device_authorization_endpoint' && endpointBesideToken(metadata, name, config) === undefined
    ? 'is not on the host of its token_endpoint. Sign in with a browser: leave --device-code out'
    : undefined
}

/** Returns whether the server accepts the user's client ID metadata document. */
export function takesDocument(
  { client_id_metadata_document_supported: isSupported }: AuthorizationServerMetadata,
  { clientMetadataUrl }: OAuthConfig,
): boolean {
  return isSupported === true && clientMetadataUrl !== undefined
}

/** Creates an {@link OAuthFailure} `no_registration`: the bridge cannot become a client there on its own. */
export function noRegistration(metadata: AuthorizationServerMetadata): OAuthFailure {
  const { issuer, registration_endpoint: registration, token_endpoint: token } = metadata
  const name = quoteServerText(issuer)
  const why =
    registration === undefined || isSameOrigin(registration, token)
      ? `The authorization server ${name} does not register clients.`
      : `The authorization server ${name} registers clients on another host than that of its token_endpoint, which may belong to someone else.`
  const document =
    metadata.client_id_metadata_document_supported === true
      ? ', or a document with --client-metadata-url'
      : ''
  const remedy = `Give it a client with --static-oauth-client-info${document}.`
  return new OAuthFailure('no_registration', `${why} ${remedy}`, { issuer })
}

/**
 * Returns an endpoint that issues clients or device codes, unless it is unsafe or on another origin than the token endpoint:
 * a hostile endpoint combined with an honest server's could issue a client that users trust there, and get its token.
 */
export function endpointBesideToken(
  metadata: AuthorizationServerMetadata,
  name: 'registration_endpoint' | 'device_authorization_endpoint',
  config: OAuthConfig,
): string | undefined {
  const { [name]: url, issuer, token_endpoint: token } = metadata
  return url !== undefined && isSafeUrl(url, issuer, config) && isSameOrigin(url, token) ? url : undefined
}
