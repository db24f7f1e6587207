import type { AuthorizationServerMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { isSafeUrl } from './discovery-url.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { quoteServerText } from './server-text.ts'

/** `grant_type` of RFC 8628 section 3.4. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

const grantEndpoint = {
  authorization_code: 'authorization_endpoint',
  device_code: 'device_authorization_endpoint',
  client_credentials: undefined,
} as const satisfies Record<OAuthConfig['grant'], keyof AuthorizationServerMetadata | undefined>

/**
 * The grant that is asked for at this server: the one of the configuration, or the device grant in place of the browser that
 * cannot be opened, where the server has it (RFC 8628 section 4).
 */
export function grantAt(metadata: AuthorizationServerMetadata, config: OAuthConfig): OAuthConfig['grant'] {
  const { issuer, device_authorization_endpoint: endpoint, grant_types_supported: grants } = metadata
  if (config.grant !== 'authorization_code' || !config.prefersDevice || endpoint === undefined)
    return config.grant
  const isListed = grants === undefined || grants.includes(deviceGrantType)
  return isListed && isSafeUrl(endpoint, issuer, config.allowHttp) ? 'device_code' : config.grant
}

/**
 * Why nobody can sign in at a server with this configuration: an endpoint that is missing or not safe to send secrets to
 * (`bad_metadata`), no S256 (`no_pkce`; MCP 2026-07-28 authorization: a client must refuse then), no way to become a client
 * (`no_registration`). Undefined when one can.
 */
export function whyUnusable(
  metadata: AuthorizationServerMetadata,
  config: OAuthConfig,
): OAuthFailure | undefined {
  const { issuer } = metadata
  const name = quoteServerText(issuer)
  const grant = grantAt(metadata, config)
  const endpoints = ['token_endpoint', grantEndpoint[grant]] as const
  for (const endpoint of endpoints) {
    if (endpoint === undefined) continue
    const url = metadata[endpoint]
    if (url === undefined) {
      return new OAuthFailure('bad_metadata', `The authorization server ${name} has no ${endpoint}.`, {
        issuer,
      })
    }
    if (!isSafeUrl(url, issuer, config.allowHttp)) {
      return new OAuthFailure('bad_metadata', `The ${endpoint} of ${name} is not safe: it is not https.`, {
        issuer,
      })
    }
  }
  const needsPkce = grant === 'authorization_code'
  if (needsPkce && metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    return new OAuthFailure('no_pkce', `The authorization server ${name} does not list PKCE with S256.`, {
      issuer,
    })
  }
  const isClient = config.staticClient !== undefined || takesDocument(metadata, config)
  return isClient || registrationEndpoint(metadata, config) ? undefined : noRegistration(metadata)
}

/** Whether the client ID metadata document of the user is what the server wants. */
export function takesDocument(
  { client_id_metadata_document_supported: isSupported }: AuthorizationServerMetadata,
  { clientMetadataUrl }: OAuthConfig,
): boolean {
  return isSupported === true && clientMetadataUrl !== undefined
}

/** {@link OAuthFailure} `no_registration`: the bridge cannot become a client there by itself. */
export function noRegistration(metadata: AuthorizationServerMetadata): OAuthFailure {
  const remedy =
    metadata.client_id_metadata_document_supported === true
      ? 'Give it a client with --static-oauth-client-info, or a document with --client-metadata-url.'
      : 'Give it a client with --static-oauth-client-info.'
  return new OAuthFailure(
    'no_registration',
    `The authorization server ${quoteServerText(metadata.issuer)} does not register clients. ${remedy}`,
    { issuer: metadata.issuer },
  )
}

/** Where clients register themselves (RFC 7591); one that is not safe counts as none. */
export function registrationEndpoint(
  metadata: AuthorizationServerMetadata,
  config: OAuthConfig,
): string | undefined {
  const url = metadata.registration_endpoint
  return url !== undefined && isSafeUrl(url, metadata.issuer, config.allowHttp) ? url : undefined
}
