import { signInParameter } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Endpoint } from './endpoint.ts'

/** URLs that metadata, challenges and tokens share. Each is built once, so that it is the same string everywhere. */
export interface PublicUrls {
  /** Base URL without trailing slash: the issuer. */
  issuer: string
  /** Path of the base URL, without trailing slash; empty at the root. */
  basePath: string
  tokenEndpoint: string
  resource: string
  resourceMetadata: string
  /** The same resource, at an address that always requires sign-in. */
  challenging: string
}

/** Derives the server's addresses from `PUBLIC_URL`. The issuer has no slash at its end. */
export function publicUrls(baseUrl: string): PublicUrls {
  const issuer = baseUrl.replace(/\/+$/, '')
  const { origin, pathname } = new URL(issuer)
  const basePath = pathname.replace(/\/+$/, '')
  return {
    issuer,
    basePath,
    tokenEndpoint: `${issuer}/oauth/token`,
    resource: `${issuer}/mcp`,
    challenging: `${issuer}/mcp?${signInParameter}`,
    // Path-inserted form (RFC 9728 section 3.1).
    resourceMetadata: `${origin}/.well-known/oauth-protected-resource${basePath}/mcp`,
  }
}

/** Paths where clients of MCP 2025-03-26 look for an authorization server without metadata, and the endpoint served there. */
const defaultPaths: Readonly<Record<string, string>> = {
  '/authorize': '/oauth/authorize',
  '/token': '/oauth/token',
  '/register': '/oauth/register',
}

/**
 * Returns `endpoints`, with those of the authorization server also at the default paths of MCP 2025-03-26, at the root of the
 * origin. The Python SDK refreshes there whenever it starts with stored tokens, because it does not store the token endpoint. Adds
 * nothing when there is a `basePath`: the root of the origin then belongs to another app.
 */
export function withDefaultPaths(endpoints: readonly Endpoint[], basePath: string): Endpoint[] {
  if (basePath !== '') return [...endpoints]
  const additional: Endpoint[] = []
  for (const [path, served] of Object.entries(defaultPaths)) {
    const endpoint = endpoints.find((row) => row.path === served)
    if (endpoint) additional.push({ ...endpoint, path })
  }
  return [...endpoints, ...additional]
}

/** Returns every path of the token endpoint; the first one is in the metadata. */
export function tokenPaths(basePath: string): readonly string[] {
  const named = `${basePath}/oauth/token`
  return basePath === '' ? [named, '/token'] : [named]
}
