import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import { endpointBesideToken, noRegistration, takesDocument } from '../discovery/server-use.ts'
import { isSameOrigin } from '../discovery/server-url.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { register } from './registration.ts'
import { registrationScope } from './scope-choice.ts'

/** Requirements for a client. */
interface ClientNeed {
  server: DiscoveredServer
  previous: Credential | undefined
  /** Set for the authorization code grant. */
  redirectUri: string | undefined
  scope: string | undefined
}

/** The client that the bridge uses at a server. */
export interface ChosenClient {
  client: ClientIdentity
  /** Registers another when the server has forgotten or refuses this one. Undefined where that is not possible. */
  replace: (() => Promise<ClientIdentity>) | undefined
}

/**
 * The configured client; the client ID metadata document where the server accepts one and has not refused it before; the
 * earlier registration if it was made at this issuer for this redirect URI; a new registration (MCP 2026-07-28
 * authorization, client registration approaches). Never uses a client of one issuer at another.
 */
export async function chooseClient(need: ClientNeed, context: OAuthContext): Promise<ChosenClient> {
  const { config, runtime } = context
  const { server, previous, redirectUri } = need
  const { metadata, isAssumed } = server
  if (config.staticClient !== undefined) {
    return { client: configuredClient(config, need), replace: undefined }
  }
  const endpoint = endpointBesideToken(metadata, 'registration_endpoint', config)
  const registerNew = async (): Promise<ClientIdentity> => {
    const { grant } = config
    if (endpoint === undefined || grant === 'client_credentials') throw noRegistration(metadata)
    const scope = registrationScope(need.scope, server, config)
    return await register({ endpoint, metadata, grant, redirectUri, scope, isAssumed }, context)
  }
  const { clientMetadataUrl: url } = config
  if (url !== undefined && takesDocument(metadata, config)) {
    const client = documentClient(url, config, server)
    if (endpoint === undefined) return { client, replace: undefined }
    const isRefused =
      isSameIssuer(previous?.issuer, metadata.issuer) && previous?.quirks?.refusesDocument === url
    if (!isRefused) return { client, replace: registerNew }
  }
  const known = registeredBefore(need, runtime.now())
  if (known !== undefined) return { client: known, replace: registerNew }
  return { client: await registerNew(), replace: undefined }
}

/** Throws {@link OAuthFailure} `no_registration` when none is configured, or `issuer_changed`. */
export function configuredClient(
  config: OAuthConfig,
  { server: { metadata }, previous }: Pick<ClientNeed, 'server' | 'previous'>,
): ClientIdentity {
  const { staticClient, privateKey } = config
  if (staticClient === undefined) throw noRegistration(metadata)
  refuseElsewhere(staticClient, previous, metadata.issuer)
  const { clientId, clientSecret, tokenEndpointAuthMethod: wanted } = staticClient
  const possible = [
    ...(privateKey === undefined ? [] : (['private_key_jwt'] as const)),
    ...(clientSecret === undefined ? [] : (['client_secret_basic', 'client_secret_post'] as const)),
    'none' as const,
  ]
  // RFC 8414 section 2: a server that lists no methods accepts basic.
  const listed = metadata.token_endpoint_auth_methods_supported
  const usual = possible.find((method) => method !== 'none' && listed?.includes(method)) ?? possible[0]
  const tokenEndpointAuthMethod = possible.find((method) => method === wanted) ?? usual ?? 'none'
  return { clientId, clientSecret, tokenEndpointAuthMethod, origin: 'static' }
}

function documentClient(url: string, config: OAuthConfig, { metadata }: DiscoveredServer): ClientIdentity {
  const takesKey = metadata.token_endpoint_auth_methods_supported?.includes('private_key_jwt') === true
  return {
    clientId: url,
    tokenEndpointAuthMethod: config.privateKey !== undefined && takesKey ? 'private_key_jwt' : 'none',
    origin: 'metadata_document',
  }
}

/**
 * Rejects a configured client at any issuer but its own, which is the configured one or the stored login's: an attacker
 * who can change what a server names must not get its secret (MCP 2026-07-28 authorization, C5).
 */
function refuseElsewhere(
  { clientId, issuer: configured }: NonNullable<OAuthConfig['staticClient']>,
  previous: Credential | undefined,
  issuer: string,
): void {
  const isKnown = previous?.client.origin === 'static' && previous.client.clientId === clientId
  const own = configured ?? (isKnown ? previous.issuer : undefined)
  if (own === undefined || isSameIssuer(own, issuer)) return
  throw new OAuthFailure(
    'issuer_changed',
    `The configured client belongs to ${quoteServerText(own)}, and the server now names ${quoteServerText(issuer)}.`,
    { issuer },
  )
}

function registeredBefore(
  { previous, server, redirectUri }: ClientNeed,
  now: number,
): ClientIdentity | undefined {
  if (previous === undefined || !isSameIssuer(previous.issuer, server.metadata.issuer)) return undefined
  const { client, signInNeeded, tokenEndpoint } = previous
  if (client.origin !== 'dynamic') return undefined
  // The client was registered on the origin of the token endpoint at the time and is used on no other.
  if (!isSameOrigin(tokenEndpoint, server.metadata.token_endpoint)) return undefined
  if (signInNeeded === 'invalid_client' || signInNeeded === 'unauthorized_client') return undefined
  if (client.secretExpiresAt !== undefined && client.secretExpiresAt <= now) return undefined
  const registered = client.redirectUris ?? []
  // A client registered for one grant may not be allowed to use the other.
  const fits = redirectUri === undefined ? registered.length === 0 : matchRedirectUri(registered, redirectUri)
  return fits ? client : undefined
}
