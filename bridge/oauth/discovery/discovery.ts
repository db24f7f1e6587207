import {
  type AuthorizationServerMetadata,
  type ProtectedResourceMetadata,
  isSameIssuer,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Credential } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { OAuthFailure, type SignInRequest } from '../login-port.ts'
import type { OAuthContext } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { type FoundMetadata, findAuthorizationServer, findProtectedResource } from './metadata.ts'
import { whyUnusable } from './server-use.ts'
import { isSafeUrl } from './server-url.ts'

/** More than any real resource names; each may need several requests. */
const maxServers = 5

/** The authorization server to sign in at, and the resource to request. */
export interface DiscoveredServer {
  metadata: AuthorizationServerMetadata
  /** The exact `resource` parameter; undefined when none is sent. */
  resource: string | undefined
  /** `scopes_supported` of the protected resource. */
  resourceScopes: readonly string[] | undefined
  /** The endpoints are the defaults of MCP 2025-03-26, as no metadata was found. */
  isAssumed: boolean
  /** The issuer as the resource writes it. Its metadata may have another spelling, or name one that the person accepted. */
  askedFor: string
}

type ChosenServer = Pick<DiscoveredServer, 'metadata' | 'isAssumed' | 'askedFor'>

/**
 * Finds the authorization server of the configured server: of several the one used before, or else the first usable one of
 * the first five. Without protected resource metadata it is the server's own origin, as in MCP 2025-03-26, and no `resource`
 * is sent. `issuer_mismatch` is never skipped in favor of the next server.
 */
export async function discover(request: SignInRequest, context: OAuthContext): Promise<DiscoveredServer> {
  const { config } = context
  const found = await findProtectedResource(request.resourceMetadata, context)
  const issuers = found.metadata?.authorization_servers ?? []
  const chosen =
    issuers.length > 0
      ? await firstUsable(inOrder(issuers, request.previous), request, context)
      : await atOrigin(request, found, context)
  return {
    ...chosen,
    resource: config.sendResource ? (config.resource ?? found.metadata?.resource) : undefined,
    resourceScopes: found.metadata?.scopes_supported,
  }
}

function inOrder(issuers: readonly string[], previous: Credential | undefined): readonly string[] {
  const isUsed = (issuer: string): boolean => isSameIssuer(issuer, previous?.acceptedAt ?? previous?.issuer)
  return [...issuers.filter(isUsed), ...issuers.filter((issuer) => !isUsed(issuer))]
}

async function firstUsable(
  issuers: readonly string[],
  request: SignInRequest,
  context: OAuthContext,
): Promise<ChosenServer> {
  let first: unknown
  for (const issuer of [...new Set(issuers)].slice(0, maxServers)) {
    try {
      return await usable(issuer, request, context)
    } catch (error) {
      // A mix-up does not concern one server only: an attacker gets no second chance.
      const isPassedOver =
        error instanceof OAuthFailure ? error.fault !== 'issuer_mismatch' : error instanceof NetworkError
      if (context.signal.aborted || !isPassedOver) throw error
      first ??= error
    }
  }
  throw first
}

async function usable(
  issuer: string,
  { previous }: SignInRequest,
  context: OAuthContext,
): Promise<ChosenServer> {
  const { config } = context
  const name = `The authorization server ${quoteServerText(issuer)}`
  if (!isSafeUrl(issuer, config.serverUrl, config)) {
    throw new OAuthFailure('bad_metadata', `${name} is not safe: it is not https.`, { issuer })
  }
  const { metadata, fault } = await findAuthorizationServer(issuer, previous, context)
  if (metadata !== undefined) return checked(metadata, issuer, context)
  throw fault === undefined
    ? new OAuthFailure('no_metadata', `${name} publishes no metadata.`, { issuer })
    : new OAuthFailure('bad_metadata', `${name} cannot be used: ${fault}.`, { issuer })
}

function checked(
  metadata: AuthorizationServerMetadata,
  issuer: string,
  { config }: OAuthContext,
): ChosenServer {
  const failure = whyUnusable(metadata, config)
  if (failure !== undefined) throw failure
  return { metadata, isAssumed: false, askedFor: issuer }
}

/** Uses the server as its own authorization server; falls back to default endpoints without documents (MCP 2025-03-26). */
async function atOrigin(
  request: SignInRequest,
  resource: FoundMetadata<ProtectedResourceMetadata>,
  context: OAuthContext,
): Promise<ChosenServer> {
  const { config } = context
  const { origin } = new URL(config.serverUrl)
  const { metadata, fault } = await findAuthorizationServer(origin, request.previous, context)
  if (metadata !== undefined) return checked(metadata, origin, context)
  const isLater = resource.metadata !== undefined || request.resourceMetadata !== undefined
  const seen = resource.fault ?? fault
  if (seen !== undefined) {
    throw new OAuthFailure('bad_metadata', `Signing in at ${origin} is not possible: ${seen}.`)
  }
  if (request.otherSchemes !== undefined) throw wantsOtherScheme(origin, request.otherSchemes)
  if (isLater || config.grant !== 'authorization_code') {
    const missing = resource.metadata === undefined ? 'OAuth metadata' : 'authorization server'
    throw new OAuthFailure('no_metadata', `${origin} names no ${missing}.`)
  }
  return { metadata: assumedMetadata(origin), isAssumed: true, askedFor: origin }
}

/** The server says how to authenticate, and it is not OAuth. */
function wantsOtherScheme(origin: string, schemes: readonly string[]): OAuthFailure {
  const [first = ''] = schemes
  const scheme = schemes.find((name) => name === 'basic') ?? first
  return new OAuthFailure(
    'no_metadata',
    `${origin} wants the authentication scheme "${scheme}", not OAuth.`,
    {
      nextStep:
        scheme === 'basic'
          ? 'Write "Authorization: Basic " and the base64 of USER:PASSWORD into a file that only you can read, and add --header-file FILE.'
          : /^(?:negotiate|ntlm|kerberos|digest)$/.test(scheme)
            ? 'The bridge does not speak it: ask the operator of the server for an address that takes a token.'
            : 'Write the header "Authorization: SCHEME CREDENTIALS" into a file that only you can read, and add --header-file FILE.',
    },
  )
}

/** MCP 2025-03-26 authorization, section 2.3.3. PKCE support is unknown there; PKCE is used anyway. */
function assumedMetadata(origin: string): AuthorizationServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  }
}
