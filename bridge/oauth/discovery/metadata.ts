import {
  type AuthorizationServerMetadata,
  type ParsedMetadata,
  type ProtectedResourceMetadata,
  authorizationServerMetadataUrls,
  isSameIssuer,
  parseAuthorizationServerMetadata,
  parseProtectedResourceMetadata,
  protectedResourceMetadataUrls,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Credential } from '../../credentials/credential.ts'
import { isBrowserChallenge } from '../../http/browser-wall.ts'
import { OAuthFailure } from '../login-port.ts'
import { type OAuthContext, type ServerResponse, busyFailure, requestJson } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { coversServer, isSafeUrl } from './server-url.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** A metadata document, or the reason why the last candidate was rejected; neither if none exists. */
export interface FoundMetadata<Document> {
  metadata: Document | undefined
  fault: string | undefined
}

/**
 * At the address in the challenge, or else below the server's path, or else at its root (MCP 2026-07-28 authorization,
 * protected resource metadata discovery). Rejects metadata of another server, whose tokens are not meant for this one,
 * unless the user configured the resource.
 */
export async function findProtectedResource(
  challengeUrl: string | undefined,
  context: OAuthContext,
): Promise<FoundMetadata<ProtectedResourceMetadata>> {
  const { config } = context
  const { serverUrl } = config
  const isUsable = challengeUrl !== undefined && isSafeUrl(challengeUrl, serverUrl, config)
  const named = isUsable ? [new URL(challengeUrl).href] : []
  const places = new Set([...named, ...protectedResourceMetadataUrls(serverUrl)])
  const found = await findMetadata('protected resource', places, parseProtectedResourceMetadata, context)
  const resource = found.metadata?.resource
  const isConfigured = config.resource !== undefined
  if (resource === undefined || isConfigured || coversServer(resource, serverUrl)) return found
  throw resourceMismatch(resource, serverUrl)
}

function resourceMismatch(resource: string, serverUrl: string): OAuthFailure {
  const { origin, pathname } = new URL(serverUrl)
  const isOffered = resource.startsWith(`${origin}/`) && isTypeable(resource)
  return new OAuthFailure(
    'resource_mismatch',
    `The metadata of ${origin}${pathname} is for another resource, ${quoteServerText(resource)}.`,
    isOffered ? { nextStep: `Did you mean: drawbridge login ${resource}` } : {},
  )
}

/** Returns whether a URL that a server chose may be part of a command that users copy: it has no shell characters. */
function isTypeable(url: string): boolean {
  return /^[\w:/.~-]{1,200}$/.test(url)
}

/**
 * Finds the metadata of `issuer` (RFC 8414 section 3, OpenID Connect Discovery 1.0 section 4). Rejects with `issuer_mismatch`
 * unless the document names this issuer, or one that the person accepted: a server that may claim another's may receive its
 * codes (RFC 9207 section 1).
 */
export async function findAuthorizationServer(
  issuer: string,
  previous: Credential | undefined,
  context: OAuthContext,
): Promise<FoundMetadata<AuthorizationServerMetadata>> {
  const places = authorizationServerMetadataUrls(issuer)
  const found = await findMetadata('authorization server', places, parseAuthorizationServerMetadata, context)
  const named = found.metadata?.issuer
  if (named === undefined || isSameIssuer(named, issuer)) return found
  const wasAccepted = isSameIssuer(previous?.issuer, named) && isSameIssuer(previous?.acceptedAt, issuer)
  if (wasAccepted || isSameIssuer(named, context.config.acceptIssuer)) return found
  const flag = `--accept-issuer ${isTypeable(named) ? named : 'URL'}`
  throw new OAuthFailure(
    'issuer_mismatch',
    `The metadata of ${quoteServerText(issuer)} names another issuer, ${quoteServerText(named)}.`,
    {
      issuer,
      nextStep: `Tell the operator of the server. Only if you know that both are one service, accept it: drawbridge login {url} ${flag}`,
    },
  )
}

/**
 * Fetches the documents at `places` in turn, until `parse` accepts one. Missing is any response below 500 but JSON with 200:
 * web apps answer every path with a page, and gateways with 401. If there is none, rejects with `unavailable` after a 429
 * or 5xx: a temporary failure must not look like a different kind of server.
 */
export async function findMetadata<Document>(
  kind: string,
  places: Iterable<string>,
  parse: (document: unknown) => ParsedMetadata<Document>,
  context: OAuthContext,
): Promise<FoundMetadata<Document>> {
  let fault: string | undefined
  let failure: OAuthFailure | undefined
  for (const place of places) {
    const response = await fetchDocument(place, context)
    if (response === undefined) continue
    const { origin, pathname } = new URL(place)
    const busy = busyFailure(response, `${origin}${pathname}`, context.runtime.now())
    failure ??= busy
    const parsed = busy === undefined ? parseResponse(response, parse) : undefined
    if (parsed?.kind === 'parsed') return { metadata: parsed.metadata, fault: undefined }
    if (parsed !== undefined) fault = `the ${kind} metadata at ${pathname}: ${parsed.reason}`
  }
  if (failure !== undefined) throw failure
  return { metadata: undefined, fault }
}

const maxRedirects = 3

/** Resolves with a response of status 200, 429 or 5xx, or of a bot protection, or with undefined for any other. */
async function fetchDocument(url: string, context: OAuthContext): Promise<ServerResponse | undefined> {
  let place = url
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const headers = { accept: 'application/json' }
    const response = await requestJson({ method: 'GET', url: place, headers }, context)
    const { status } = response
    if (status === 200 || status === 429 || status >= 500 || isBrowserChallenge(response)) return response
    const { location } = response.headers
    const isRedirect = [301, 302, 303, 307, 308].includes(status) && typeof location === 'string'
    if (!isRedirect || !isUrl(location, place)) return undefined
    const next = new URL(location, place).href
    if (!isSafeUrl(next, place, context.config)) return undefined
    place = next
  }
  return undefined
}

function parseResponse<Document>(
  { json, headers }: ServerResponse,
  parse: (document: unknown) => ParsedMetadata<Document>,
): ParsedMetadata<Document> | undefined {
  if (json !== undefined) return parse(json)
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(String(headers['content-type'] ?? ''))
  return isJson ? { kind: 'invalid', reason: 'it is not valid JSON, or is larger than 256 KB' } : undefined
}
