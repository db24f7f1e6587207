import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ClientIdentity, Credential, IssuerQuirks } from '../../credentials/credential.ts'
import {
  type DiscoveredServer,
  noRegistration,
  registrationEndpoint,
  takesDocument,
} from '../discovery/discovery.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig, StaticClient } from '../oauth-config.ts'
import { register } from './registration.ts'
import { registrationScope } from './scope-choice.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { quoteServerText } from '../server-text.ts'

/** What a client is needed for. */
interface ClientNeed {
  server: DiscoveredServer
  previous: Credential | undefined
  /** Of the authorization code grant. */
  redirectUri: string | undefined
  scope: string | undefined
}

/** How the bridge is known at a server. */
export interface ChosenClient {
  client: ClientIdentity
  /**
   * Registers a client in its place: when the server turns out to have forgotten an earlier registration, or to refuse the
   * document. Undefined where that is no way.
   */
  replace: (() => Promise<ReplacedClient>) | undefined
}

/** A client that was registered in place of another one, and what that says of the issuer. */
export interface ReplacedClient {
  client: ClientIdentity
  quirks: IssuerQuirks
}

type Method = ClientIdentity['tokenEndpointAuthMethod']

/**
 * Chooses what the bridge calls itself: the configured client, else the client ID metadata document where the server takes
 * one and has not refused it before, else the registration of before if it was made at this issuer for this redirect URI, else a new registration (MCP
 * 2026-07-28 authorization, client registration approaches). Nothing of one issuer is ever used at another. Rejects with
 * {@link OAuthFailure}: those of {@link configuredClient} and of {@link register}.
 */
export async function chooseClient(
  need: ClientNeed,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<ChosenClient> {
  const { server } = need
  const { metadata } = server
  if (config.staticClient !== undefined) {
    return { client: configuredClient(config, need), replace: undefined }
  }
  const endpoint = registrationEndpoint(metadata, config)
  const registerAnew = async (): Promise<ClientIdentity> => {
    const { grant } = config
    if (endpoint === undefined || grant === 'client_credentials') throw noRegistration(metadata)
    const { isAssumed } = server
    const scope = registrationScope(need.scope, server, config)
    const { redirectUri } = need
    const asked = { endpoint, metadata, grant, redirectUri, scope, isAssumed }
    return await register(asked, config, ports, signal)
  }
  const { clientMetadataUrl: url } = config
  const isWanted = url !== undefined && takesDocument(metadata, config)
  if (isWanted && (endpoint === undefined || !isRefused(url, need))) {
    const replace = async (): Promise<ReplacedClient> => ({
      client: await registerAnew(),
      quirks: { refusesDocument: url },
    })
    const client = documentClient(url, config, server)
    return { client, replace: endpoint === undefined ? undefined : replace }
  }
  const known = registeredBefore(need, ports.runtime.now())
  if (known !== undefined) {
    return { client: known, replace: async () => ({ client: await registerAnew(), quirks: {} }) }
  }
  return { client: await registerAnew(), replace: undefined }
}

/**
 * The configured client. Throws {@link OAuthFailure}: `no_registration` when none is, `issuer_changed` when it belongs to
 * another issuer.
 */
export function configuredClient(
  config: OAuthConfig,
  { server: { metadata }, previous }: Pick<ClientNeed, 'server' | 'previous'>,
): ClientIdentity {
  const { staticClient, privateKey } = config
  if (staticClient === undefined) throw noRegistration(metadata)
  refuseElsewhere(staticClient, config.tokenEndpoint, previous, metadata.issuer)
  const { clientId, clientSecret, tokenEndpointAuthMethod: wanted } = staticClient
  const listed = metadata.token_endpoint_auth_methods_supported
  return {
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    tokenEndpointAuthMethod: configuredMethod(wanted, {
      hasSecret: clientSecret !== undefined,
      hasKey: privateKey !== undefined,
      listed,
    }),
    origin: 'static',
  }
}

function configuredMethod(
  wanted: string | undefined,
  { hasSecret, hasKey, listed }: { hasSecret: boolean; hasKey: boolean; listed: string[] | undefined },
): Method {
  if (wanted === 'none') return wanted
  // RFC 8414 section 2: basic is what a server takes that lists nothing.
  const possible: Method[] = [
    ...(hasKey ? (['private_key_jwt'] as const) : []),
    ...(hasSecret ? (['client_secret_basic', 'client_secret_post'] as const) : []),
  ]
  const taken = possible.find((method) => listed?.includes(method))
  return possible.find((method) => method === wanted) ?? taken ?? possible[0] ?? 'none'
}

function isRefused(url: string, { previous, server }: ClientNeed): boolean {
  return previous?.issuer === server.metadata.issuer && previous.quirks?.refusesDocument === url
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
 * A client that was set up by hand belongs to the issuer it was set up at, and whoever may change what a server names must
 * not get its secret (MCP 2026-07-28 authorization, C5). The issuer is the one of the configuration, also by its token
 * endpoint, else the one that the stored login is of.
 */
function refuseElsewhere(
  { clientId, issuer: configured }: StaticClient,
  tokenEndpoint: string | undefined,
  previous: Credential | undefined,
  issuer: string,
): void {
  const isKnown = previous?.client.origin === 'static' && previous.client.clientId === clientId
  const own = configured ?? tokenEndpoint ?? (isKnown ? previous.issuer : undefined)
  if (own === undefined || own === issuer) return
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
  if (previous === undefined || previous.issuer !== server.metadata.issuer) return undefined
  const { client, signInNeeded } = previous
  if (client.origin !== 'dynamic') return undefined
  if (signInNeeded === 'invalid_client' || signInNeeded === 'unauthorized_client') return undefined
  if (client.secretExpiresAt !== undefined && client.secretExpiresAt <= now) return undefined
  const registered = client.redirectUris ?? []
  // A client of the one grant is not allowed the other.
  const fits = redirectUri === undefined ? registered.length === 0 : matchRedirectUri(registered, redirectUri)
  return fits ? client : undefined
}
