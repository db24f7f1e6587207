import type {
  AuthorizationServerMetadata,
  ProtectedResourceMetadata,
} from '@drawbridge/shared/oauth-metadata.ts'
import { clientAuthMethods, grantTypes } from '../core/client.ts'
import { authorizationServerScopes, resourceScopes } from '../core/scope.ts'
import { everyone } from './cors.ts'
import type { Endpoint } from './endpoint.ts'

/** URLs that metadata, challenges and tokens share. Each is built once, so that they are the same string everywhere. */
export interface PublicUrls {
  /** Base URL without trailing slash: the issuer. */
  issuer: string
  /** Path of the base URL, without trailing slash; empty at the root. */
  basePath: string
  resource: string
  resourceMetadata: string
}

/** The {@link PublicUrls} of a base URL. */
export function publicUrls(baseUrl: string): PublicUrls {
  const issuer = baseUrl.replace(/\/+$/, '')
  const { origin, pathname } = new URL(issuer)
  const basePath = pathname.replace(/\/+$/, '')
  return {
    issuer,
    basePath,
    resource: `${issuer}/mcp`,
    // Path-inserted form (RFC 9728 section 3.1).
    resourceMetadata: `${origin}/.well-known/oauth-protected-resource${basePath}/mcp`,
  }
}

/** Both discovery documents under every path that clients in the field ask for; any other well-known path is 404. */
export function createMetadataEndpoints(urls: PublicUrls, resourceName: string): Endpoint[] {
  const authorizationServer: AuthorizationServerMetadata = {
    issuer: urls.issuer,
    authorization_endpoint: `${urls.issuer}/oauth/authorize`,
    token_endpoint: `${urls.issuer}/oauth/token`,
    registration_endpoint: `${urls.issuer}/oauth/register`,
    scopes_supported: [...authorizationServerScopes],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [...grantTypes],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
  const protectedResource: ProtectedResourceMetadata = {
    resource: urls.resource,
    authorization_servers: [urls.issuer],
    scopes_supported: [...resourceScopes],
    bearer_methods_supported: ['header'],
    resource_name: resourceName,
  }
  return [
    ...['oauth-authorization-server', 'openid-configuration'].flatMap((name) =>
      documentEndpoints(name, urls.basePath, authorizationServer),
    ),
    ...documentEndpoints('oauth-protected-resource', urls.basePath, protectedResource),
  ]
}

function documentEndpoints(name: string, basePath: string, document: object): Endpoint[] {
  const body = JSON.stringify(document)
  const get = (): Response =>
    new Response(body, {
      headers: { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' },
    })
  const paths = new Set([
    `/.well-known/${name}${basePath}`,
    `/.well-known/${name}${basePath}/mcp`,
    `${basePath}/.well-known/${name}`,
    `${basePath}/.well-known/${name}/mcp`,
    `${basePath}/mcp/.well-known/${name}`,
  ])
  return [...paths].map((path) => ({ path, methods: { GET: get }, cors: everyone }))
}
