import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { ProviderError } from '../../core/session/session-provider.ts'
import { plainFailure, readOidcFailure } from './failure.ts'
import { createOidcFetch } from './fetch.ts'
import { setIdTokenAside } from './unchecked-id-token.ts'

const freshSeconds = 3600
const retryPauseSeconds = 60

// Discovery may come first in a refresh: both together have to end within the lease that the refresh runs under.
const discoveryTimeoutSeconds = 5
const callTimeoutSeconds = 8

/** Who we are at which provider. */
export interface OidcClientConfig {
  /** Must equal the `issuer` of the provider's metadata to the letter. https, or http on a loopback host. */
  issuer: string
  clientId: string
  /** Without one this is a public client: PKCE alone protects the code. */
  clientSecret: string | undefined
}

/** The provider as its metadata describes it, ready to be called. */
export interface OidcConnection {
  library: typeof import('openid-client')
  /** For calls that yield no ID token. */
  configuration: Configuration
  /** For a refresh: leaves its ID token unchecked, under another name. */
  refreshConfiguration: Configuration
  /** For the redemption of a code: checks the ID token, its signature too. */
  strictConfiguration: Configuration
  metadata: ServerMetadata
  /** For requests that the library does not offer. Has no timeout of its own. */
  fetch: CustomFetch
  callTimeoutMs: number
}

/** Answers the connection. Rejects with {@link ProviderError}: `transient`, or `protocol` for metadata that is not usable. */
export type ConnectToOidc = () => Promise<OidcConnection>

/**
 * Connects by OpenID Connect Discovery, once an hour. Whoever asks while newer metadata is fetched gets what was true
 * before; so does everyone while the provider cannot be asked, which is then tried again every minute. A first failure
 * is not remembered. The library is loaded by the first call.
 */
export function createOidcConnection(
  config: OidcClientConfig,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): ConnectToOidc {
  let known: OidcConnection | undefined
  let dueAt = 0
  let connecting: Promise<OidcConnection> | undefined

  async function connect(): Promise<OidcConnection> {
    try {
      known = await discover(config, runtime)
      dueAt = runtime.now() + freshSeconds
      return known
    } catch (error) {
      dueAt = runtime.now() + retryPauseSeconds
      throw error
    } finally {
      connecting = undefined
    }
  }

  return () => {
    if (known && runtime.now() < dueAt) return Promise.resolve(known)
    connecting ??= connect()
    if (!known) return connecting
    connecting.catch(() => undefined)
    return Promise.resolve(known)
  }
}

/**
 * Asks for the metadata once more, whatever is known. Resolves when the provider answers with a status below 500. Not
 * looked at: whether the metadata changed. Rejects with {@link ProviderError}, also while none was ever usable.
 */
export async function pingOidcProvider(
  { issuer }: OidcClientConfig,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<void> {
  await connect()
  const signal = AbortSignal.timeout(callTimeoutSeconds * 1000)
  let status: number
  try {
    const response = await runtime.fetch(new Request(metadataUrl(issuer), { redirect: 'manual' }), { signal })
    ;({ status } = response)
    await response.body?.cancel()
  } catch (cause) {
    throw new ProviderError('transient', 'The OpenID provider cannot be reached.', { cause })
  }
  if (status >= 500) throw new ProviderError('transient', `The OpenID provider answered ${status}.`)
}

/** Where the metadata of `issuer` is (OpenID Connect Discovery section 4). */
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
      // The library reads the clock of the host: this makes it read ours.
      { [library.clockSkew]: runtime.now() - Math.floor(Date.now() / 1000) },
      clientAuthentication(config, metadata, library),
    )
    configuration[library.customFetch] = send
    configuration.timeout = callTimeoutSeconds
    if (isLoopbackHttp(config.issuer)) library.allowInsecureRequests(configuration)
    return configuration
  }
  const strictConfiguration = configure(fetch)
  library.enableNonRepudiationChecks(strictConfiguration)
  return {
    library,
    configuration: configure(fetch),
    refreshConfiguration: configure(setIdTokenAside(fetch)),
    strictConfiguration,
    metadata,
    fetch,
    callTimeoutMs: callTimeoutSeconds * 1000,
  }
}

async function fetchMetadata(
  config: OidcClientConfig,
  library: OidcConnection['library'],
  fetch: CustomFetch,
): Promise<ServerMetadata> {
  // Given the whole address, the library leaves comparing the issuers to us: it would not compare them to the letter.
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
 * `client_secret_basic` unless the metadata offers `client_secret_post` instead (RFC 6749 section 2.3.1). Metadata that
 * says nothing means Basic (OpenID Connect Discovery section 3).
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

// Form encoding as RFC 6749 wants it, but of as few characters as it allows: many providers never decode it, and for
// the letters, digits and `-._~` that secrets are made of both then read the same.
function formEncode(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+')
}
