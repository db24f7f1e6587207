import { randomUUID } from 'node:crypto'
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js'
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { redirectUri } from './plain-client.ts'

/** The stored state of an MCP client application for one server, in memory. Both lines of the SDK accept it. */
export class MemoryOAuthProvider implements OAuthClientProvider {
  readonly redirectUrl = redirectUri
  readonly clientMetadata: OAuthClientMetadata
  /** URLs the SDK wanted to send the browser to, oldest first. */
  readonly authorizationUrls: URL[] = []
  /** Token responses, oldest first. */
  readonly savedTokens: OAuthTokens[] = []
  readonly #state = randomUUID()
  #information: OAuthClientInformationMixed | undefined
  #verifier = ''
  #discovery: OAuthDiscoveryState | undefined

  constructor(metadata: Partial<OAuthClientMetadata> = {}) {
    this.clientMetadata = {
      client_name: 'SDK client',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    }
  }

  state(): string {
    return this.#state
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.#information
  }

  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.#information = information
  }

  tokens(): OAuthTokens | undefined {
    return this.savedTokens.at(-1)
  }

  saveTokens(tokens: OAuthTokens): void {
    this.savedTokens.push(tokens)
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrls.push(url)
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery
  }
}
