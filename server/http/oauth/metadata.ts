import type {
  AuthorizationServerMetadata,
  ProtectedResourceMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { assertionAlgorithms } from '../../core/clients/client-assertion.ts'
import { clientAuthMethods, grantTypes, serviceGrantType } from '../../core/clients/client.ts'
import type { ScopeCatalogue } from '../../core/tokens/scope.ts'
import { everyone } from '../middleware/cors.ts'
import type { Languages } from '../../texts/languages.ts'
import type { PageLinks } from '../pages/layout.ts'
import type { PublicUrls } from '../public-urls.ts'
import type { Endpoint } from '../endpoint.ts'
import { json } from '../response.ts'
import type { TextResponse } from '@drawbridge/shared/text-response.ts'

export interface MetadataOptions {
  scopes: ScopeCatalogue
  resourceName: string
  registration: boolean
  /** A client id may be the URL of a metadata document. */
  clientDocuments: boolean
  /** Returns whether there is a service now. */
  hasServices: () => Promise<boolean>
  /** There is a key set, for an upstream. */
  signsAssertions: boolean
  links: PageLinks
  languages: Languages
}

/** Serves both discovery documents, at every path that real clients request; any other well-known path is 404. */
export function createMetadataEndpoints(urls: PublicUrls, options: MetadataOptions): Endpoint[] {
  const { scopes, links } = options
  const { privacyUrl, termsUrl, supportUrl } = links
  const protectedResource: ProtectedResourceMetadata = {
    resource: urls.resource,
    authorization_servers: [urls.issuer],
    scopes_supported: [...scopes.resource],
    bearer_methods_supported: ['header'],
    resource_name: options.resourceName,
    ...(supportUrl !== undefined && { resource_documentation: supportUrl }),
    ...(privacyUrl !== undefined && { resource_policy_uri: privacyUrl }),
    ...(termsUrl !== undefined && { resource_tos_uri: termsUrl }),
  }
  const authorizationServer = authorizationServerMetadata(urls, options)
  const types = [...grantTypes, serviceGrantType]
  const withService = { ...authorizationServer, grant_types_supported: types }
  const current = async (): Promise<object> =>
    (await options.hasServices()) ? withService : authorizationServer
  return [
    ...['oauth-authorization-server', 'openid-configuration'].flatMap((name) =>
      documentEndpoints(name, urls.basePath, current),
    ),
    ...documentEndpoints('oauth-protected-resource', urls.basePath, () => protectedResource),
  ]
}

/** Builds the metadata of RFC 8414 section 2. Clients with metadata documents use `none`, which is therefore always listed. */
function authorizationServerMetadata(
  urls: PublicUrls,
  { scopes, registration, clientDocuments, signsAssertions, links, languages }: MetadataOptions,
): AuthorizationServerMetadata {
  const { privacyUrl, termsUrl, supportUrl } = links
  const endpoint = (name: string): string => `${urls.issuer}/oauth/${name}`
  const algorithms = [...assertionAlgorithms]
  return {
    issuer: urls.issuer,
    authorization_endpoint: endpoint('authorize'),
    token_endpoint: urls.tokenEndpoint,
    ...(registration && { registration_endpoint: endpoint('register') }),
    revocation_endpoint: endpoint('revoke'),
    introspection_endpoint: endpoint('introspect'),
    device_authorization_endpoint: endpoint('device_authorization'),
    ...(signsAssertions && { jwks_uri: endpoint('jwks') }),
    scopes_supported: [...scopes.authorizationServer],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [...grantTypes],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods],
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: clientAuthMethods.filter((method) => method !== 'none'),
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    code_challenge_methods_supported: ['S256'],
    ui_locales_supported: languages.tags,
    prompt_values_supported: ['login', 'consent', 'select_account'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: clientDocuments,
    protected_resources: [urls.resource],
    ...(supportUrl !== undefined && { service_documentation: supportUrl }),
    ...(privacyUrl !== undefined && { op_policy_uri: privacyUrl }),
    ...(termsUrl !== undefined && { op_tos_uri: termsUrl }),
  }
}

function documentEndpoints(
  name: string,
  basePath: string,
  document: () => object | Promise<object>,
): Endpoint[] {
  const get = async (): Promise<TextResponse> =>
    json(await document(), 200, { 'cache-control': 'public, max-age=300' })
  return documentPaths(name, basePath).map((path) => ({ path, methods: { GET: get }, cors: everyone }))
}

/** Returns every path of a well-known document; the standards' own forms, with the path behind the name, come first. */
export function documentPaths(name: string, basePath: string): readonly string[] {
  const paths = new Set([
    `/.well-known/${name}${basePath}`,
    `/.well-known/${name}${basePath}/mcp`,
    `${basePath}/.well-known/${name}`,
    `${basePath}/.well-known/${name}/mcp`,
    `${basePath}/mcp/.well-known/${name}`,
  ])
  return [...paths]
}

/**
 * Serves the operator's texts below `/.well-known/`, by name: proofs of ownership of the host. Served at the origin's root, even if
 * BASE_URL has a path.
 */
export function createWellKnownEndpoints(texts: ReadonlyMap<string, string>): Endpoint[] {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return [...texts].map(([name, text]) => ({
    path: `/.well-known/${name}`,
    cors: everyone,
    methods: { GET: () => ({ status: 200, headers, body: text }) },
  }))
}

/** `/oauth/jwks`: the keys for verifying assertions (RFC 7517 section 5). */
export function createKeySetEndpoint(basePath: string, keySet: () => object): Endpoint {
  const headers = { 'content-type': 'application/jwk-set+json', 'cache-control': keySetCaching }
  return {
    path: `${basePath}/oauth/jwks`,
    cors: everyone,
    methods: { GET: () => json(keySet(), 200, headers) },
  }
}

/** Shorter than a key stays published after the next one began to sign. */
const keySetCaching = 'public, max-age=60'
