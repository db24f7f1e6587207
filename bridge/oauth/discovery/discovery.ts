import type {
  AuthorizationServerMetadata,
  ProtectedResourceMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { isSafeUrl } from './document.ts'
import { OAuthFailure, type SignInRequest } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { quoteServerText } from '../server-text.ts'
import { NetworkError } from '../../http/http-client.ts'
import { type FoundResource, findProtectedResource } from './protected-resource.ts'
import { findAuthorizationServer } from './authorization-server.ts'
import type { OAuthPorts } from '../server-exchange.ts'

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

/** More than anybody names in earnest; each may be asked at several places. */
const maxServers = 5

/** Where to sign in, and what for. */
export interface DiscoveredServer {
  metadata: AuthorizationServerMetadata
  /** The `resource` parameter, to the letter; undefined when none is sent. */
  resource: string | undefined
  /** `scopes_supported` of the protected resource. */
  resourceScopes: readonly string[] | undefined
  /** Nothing said where the endpoints are: they are those of MCP 2025-03-26. */
  isAssumed: boolean
}

/**
 * Finds the authorization server of the configured server. Of several it is the one that was used before, if it is still
 * named, else the first of the first five that can be used. Without protected resource metadata it is the origin of the server itself, as it
 * was in MCP 2025-03-26, and there is no `resource`.
 *
 * Rejects with {@link OAuthFailure} `no_metadata`, `bad_metadata`, `resource_mismatch`, `issuer_mismatch` (never passed over
 * for the next server), `no_pkce`, `no_registration` or `unavailable`, or with `NetworkError`.
 */
export async function discover(
  request: SignInRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<DiscoveredServer> {
  const found = await findProtectedResource(request.resourceMetadata, config, ports, signal)
  const issuers = found.metadata?.authorization_servers ?? []
  const { metadata, isAssumed } =
    issuers.length > 0
      ? await firstUsable(inOrder(issuers, request.previous?.issuer), config, ports, signal)
      : await atOrigin(request, found, config, ports, signal)
  return {
    metadata,
    isAssumed,
    resource: config.sendResource ? (config.resource ?? found.metadata?.resource) : undefined,
    resourceScopes: found.metadata?.scopes_supported,
  }
}

interface ChosenServer {
  metadata: AuthorizationServerMetadata
  isAssumed: boolean
}

function inOrder(issuers: readonly string[], previous: string | undefined): readonly string[] {
  if (previous === undefined || !issuers.includes(previous)) return issuers
  return [previous, ...issuers.filter((issuer) => issuer !== previous)]
}

async function firstUsable(
  issuers: readonly string[],
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<ChosenServer> {
  let first: unknown
  for (const issuer of [...new Set(issuers)].slice(0, maxServers)) {
    try {
      return { metadata: await usable(issuer, config, ports, signal), isAssumed: false }
    } catch (error) {
      if (signal.aborted || !isPassedOver(error)) throw error
      first ??= error
    }
  }
  throw first
}

async function usable(
  issuer: string,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<AuthorizationServerMetadata> {
  const { allowHttp, serverUrl } = config
  const name = quoteServerText(issuer)
  if (!isSafeUrl(issuer, serverUrl, allowHttp)) {
    throw new OAuthFailure('bad_metadata', `The authorization server ${name} is not safe: it is not https.`, {
      issuer,
    })
  }
  const { metadata, fault } = await findAuthorizationServer(issuer, { allowHttp, signal }, ports)
  if (metadata === undefined) {
    throw fault === undefined
      ? new OAuthFailure('no_metadata', `The authorization server ${name} publishes no metadata.`, { issuer })
      : new OAuthFailure('bad_metadata', `The authorization server ${name} cannot be used: ${fault}.`, {
          issuer,
        })
  }
  const failure = whyUnusable(metadata, config)
  if (failure !== undefined) throw failure
  return metadata
}

/** What fits one server only. A mix-up fits none: whoever tries it does not get another chance. */
function isPassedOver(error: unknown): boolean {
  if (error instanceof OAuthFailure) return error.fault !== 'issuer_mismatch'
  return error instanceof NetworkError
}

/** The server is its own authorization server, with metadata or, where nothing is of a later revision, without. */
async function atOrigin(
  request: SignInRequest,
  found: FoundResource,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<ChosenServer> {
  const { origin } = new URL(config.serverUrl)
  const options = { allowHttp: config.allowHttp, signal, otherwise: `${origin}/` }
  const { metadata, fault } = await findAuthorizationServer(origin, options, ports)
  if (metadata !== undefined) {
    const failure = whyUnusable(metadata, config)
    if (failure !== undefined) throw failure
    return { metadata, isAssumed: false }
  }
  const isLater = found.metadata !== undefined || request.resourceMetadata !== undefined
  const seen = found.fault ?? fault
  if (seen !== undefined || isLater || config.grant !== 'authorization_code') {
    throw nothingFound(origin, seen, found.metadata)
  }
  return { metadata: assumedMetadata(origin), isAssumed: true }
}

/** MCP 2025-03-26 authorization, section 2.3.3. Nothing tells whether PKCE is checked there: it is used all the same. */
function assumedMetadata(origin: string): AuthorizationServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  }
}

function nothingFound(
  origin: string,
  fault: string | undefined,
  resource: ProtectedResourceMetadata | undefined,
): OAuthFailure {
  if (fault !== undefined)
    return new OAuthFailure('bad_metadata', `${origin} cannot be signed in at: ${fault}.`)
  const missing = resource === undefined ? 'OAuth metadata' : 'authorization server'
  return new OAuthFailure('no_metadata', `${origin} names no ${missing}.`)
}
