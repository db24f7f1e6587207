import type {
  AuthorizationServerMetadata,
  ProtectedResourceMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { NetworkError } from '../http/http-client.ts'
import { findProtectedResource, type FoundResource } from './discovery-resource.ts'
import { findAuthorizationServer } from './discovery-server.ts'
import { isSafeUrl } from './discovery-url.ts'
import { whyUnusable } from './discovery-usable.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import type { OAuthPorts } from './server-exchange.ts'
import { quoteServerText } from './server-text.ts'
import type { SignInRequest } from './sign-in-request.ts'

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
