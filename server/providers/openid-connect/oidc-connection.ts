import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type {
  ClientAuth,
  Configuration,
  CustomFetch,
  ServerMetadata,
  TokenEndpointResponse,
} from 'openid-client'
import { ProviderError } from '../../core/session/session-provider.ts'
import { callTimeoutMs, fetchFromProvider } from '../provider-response.ts'
import { plainFailure, readOidcFailure } from './oidc-failure.ts'

const freshSeconds = 3600
const retryPauseSeconds = 60
// While the provider was never reached: each logout notice and each call would request the metadata again.
const firstRetryPauseSeconds = 2

// Discovery may come first in a refresh: both together must end within the refresh's lease.
const discoveryTimeoutSeconds = 5

export interface OidcClientConfig {
  /** Must equal the `issuer` of the provider's metadata exactly. https, or http on a loopback host. */
  issuer: string
  clientId: string
  /** Undefined for a public client: PKCE alone protects the code. */
  clientSecret: string | undefined
}

/** The provider as described by its metadata, ready for calls. */
export interface OidcConnection {
  library: typeof import('openid-client')
  /** Checks an ID token in a response, except for its signature. */
  configuration: Configuration
  /** For a refresh: leaves the ID token unchecked, under another name. */
  refreshConfiguration: Configuration
  metadata: ServerMetadata
  /** For requests that the library does not support. Sets no time-out. */
  fetch: CustomFetch
}

/** Returns the connection. Rejects with {@link ProviderError}: `transient`, or `protocol` for unusable metadata. */
export type ConnectToOidc = () => Promise<OidcConnection>

/**
 * Connects by OpenID Connect Discovery, once an hour. The previous connection is used while newer metadata is fetched, and while
 * the provider cannot be reached, which is retried every minute; every two seconds if it was never reached. The first call loads
 * the library.
 */
export function createOidcConnection(
  config: OidcClientConfig,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): ConnectToOidc {
  let known: OidcConnection | undefined
  let dueAt = 0
  let connecting: Promise<OidcConnection> | undefined
  let failed: { error: unknown; until: number } | undefined

  async function connect(): Promise<OidcConnection> {
    try {
      known = await discover(config, runtime)
      dueAt = runtime.now() + freshSeconds
      return known
    } catch (error) {
      dueAt = runtime.now() + retryPauseSeconds
      failed = { error, until: runtime.now() + firstRetryPauseSeconds }
      throw error
    } finally {
      connecting = undefined
    }
  }

  return () => {
    if (known && runtime.now() < dueAt) return Promise.resolve(known)
    if (!known && !connecting && failed && runtime.now() < failed.until) return Promise.reject(failed.error)
    connecting ??= connect()
    if (!known) return connecting
    connecting.catch(() => undefined)
    return Promise.resolve(known)
  }
}

/**
 * Requests the metadata, even if it is cached. Resolves on a status below 500. Does not check whether the metadata changed. Rejects
 * with {@link ProviderError}, also while no metadata was ever usable.
 */
export async function pingOidcProvider(
  { issuer }: OidcClientConfig,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<void> {
  await connect()
  const { status } = await fetchFromProvider(
    new Request(metadataUrl(issuer), { redirect: 'manual' }),
    runtime,
  )
  if (status >= 500) throw new ProviderError('transient', `The OpenID provider answered ${status}.`)
}

/** Returns the metadata URL of `issuer` (OpenID Connect Discovery section 4). */
function metadataUrl(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

async function discover(
  config: OidcClientConfig,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): Promise<OidcConnection> {
  const library = await import('openid-client')
  const fetch = createOidcFetch(runtime)
  const metadata = await fetchMetadata(config, library, fetch)
  if (metadata.issuer !== config.issuer) {
    throw new ProviderError(
      'protocol',
      `The OpenID provider at ${config.issuer} calls itself ${metadata.issuer}. Configure exactly that as its issuer.`,
    )
  }
  const configure = (send: CustomFetch): Configuration => {
    const configuration = new library.Configuration(
      metadata,
      config.clientId,
      // The library uses the host's clock: this makes it use ours.
      { [library.clockSkew]: runtime.now() - Math.floor(Date.now() / 1000) },
      clientAuthentication(config, metadata, library),
    )
    configuration[library.customFetch] = send
    configuration.timeout = callTimeoutMs / 1000
    if (isLoopbackHttp(config.issuer)) library.allowInsecureRequests(configuration)
    return configuration
  }
  return {
    library,
    configuration: configure(fetch),
    refreshConfiguration: configure(setIdTokenAside(fetch)),
    metadata,
    fetch,
  }
}

async function fetchMetadata(
  config: OidcClientConfig,
  library: OidcConnection['library'],
  fetch: CustomFetch,
): Promise<ServerMetadata> {
  // Given the full address, the library leaves comparing issuers to us: it would not compare them exactly.
  const address = metadataUrl(config.issuer)
  try {
    const discovered = await library.discovery(address, config.clientId, undefined, library.None(), {
      [library.customFetch]: fetch,
      timeout: discoveryTimeoutSeconds,
      execute: isLoopbackHttp(config.issuer) ? [library.allowInsecureRequests] : [],
    })
    return discovered.serverMetadata()
  } catch (error) {
    const { failure, message, cause } = plainFailure(await readOidcFailure(error), 'discovery')
    // The request that needed discovery was not sent.
    throw new ProviderError(failure, message, { cause })
  }
}

function isLoopbackHttp(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer)
  return protocol === 'http:' && isLoopbackHostname(hostname)
}

/**
 * Returns `client_secret_basic` unless the metadata offers `client_secret_post` instead (RFC 6749 section 2.3.1). Metadata without
 * the member means Basic (OpenID Connect Discovery section 3).
 */
function clientAuthentication(
  config: OidcClientConfig,
  metadata: ServerMetadata,
  library: OidcConnection['library'],
): ClientAuth {
  const { clientId, clientSecret } = config
  if (clientSecret === undefined) return library.None()
  const offered = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (!offered.includes('client_secret_basic') && offered.includes('client_secret_post')) {
    return library.ClientSecretPost(clientSecret)
  }
  const credentials = `${formEncode(clientId)}:${formEncode(clientSecret)}`
  return (_metadata, _client, _body, headers) => {
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

// Form encoding as RFC 6749 requires it, but of as few characters as possible: many providers never decode it, and secrets of
// letters, digits and `-._~` then read the same both ways.
function formEncode(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+')
}

/**
 * Creates the `fetch` for the OpenID Connect library: follows no redirect. The caller's signal is the time-out.
 *
 * @internal
 */
export function createOidcFetch(runtime: Pick<Runtime, 'fetch'>): CustomFetch {
  return (url, { body, headers, method, signal }) => {
    const request = new Request(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body && { body: body as Exclude<RequestInit['body'], undefined> }),
    })
    return fetchFromProvider(request, runtime, signal)
  }
}

/** The member under which {@link setIdTokenAside} passes on an ID token. */
const asideName = 'unchecked_id_token'

/**
 * Renames the ID token of every successful response, so that the library does not check it. For a refresh: the library discards the
 * whole response if it rejects the ID token, for example because our clock is ahead, and with it the only valid refresh token.
 * Responses that are not JSON objects pass unchanged.
 */
function setIdTokenAside(fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, options)
    const answer = response.ok ? parseJsonObject(await response.clone().text()) : undefined
    if (answer?.['id_token'] === undefined) return response
    const { id_token: idToken, ...rest } = answer
    const renamed: JsonObject = { ...rest, [asideName]: idToken }
    return new Response(JSON.stringify(renamed), { status: response.status, headers: response.headers })
  }
}

/** Returns the renamed ID token, if any. None of it has been checked. */
export function uncheckedIdToken(answer: TokenEndpointResponse): string | undefined {
  const idToken: unknown = answer[asideName]
  return typeof idToken === 'string' ? idToken : undefined
}
