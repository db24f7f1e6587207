import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'

/** A client that the user brought along. */
export interface StaticClient {
  clientId: string
  clientSecret?: string
  /** Where it is registered, to the letter. Undefined: where it is used first. */
  issuer?: string
  /** Undefined: what the metadata of the server and the secret suggest. */
  tokenEndpointAuthMethod?: string
}

/** How signing in is done. Times in milliseconds. */
export interface OAuthConfig {
  /** Verbatim as the user gave it; what metadata has to cover. */
  serverUrl: string
  profile: string
  grant: 'authorization_code' | 'device_code' | 'client_credentials'
  /** No browser can be opened here: of the authorization code and device grants the second is better, where there is one. */
  prefersDevice: boolean
  /** Instead of what the protected resource metadata says; `sendResource` false leaves the parameter out everywhere. */
  resource: string | undefined
  sendResource: boolean
  staticClient: StaticClient | undefined
  /** PEM of PKCS 8 for `private_key_jwt`, and its algorithm. */
  privateKey: { pem: string; algorithm: string } | undefined
  /** URL of our client ID metadata document: https, with a path. */
  clientMetadataUrl: string | undefined
  /** Put over what is registered. */
  clientMetadata: ClientMetadata
  /** Scopes that are asked for whatever the server says; undefined: what the server says. */
  scope: string | undefined
  /** More parameters of the authorization request. Not those of the protocol. */
  authorizeParameters: Readonly<Record<string, string>>
  /** Only with client credentials: no discovery. */
  tokenEndpoint: string | undefined
  /** Where the browser comes back to; port undefined: a free one. */
  callback: { host: string; port: number | undefined; path: string }
  /** Where the browser is sent after a sign-in that worked; undefined: a page of ours. */
  successUrl: string | undefined
  /** Send the ID token in place of the access token. */
  useIdToken: boolean
  /** How long a person may take. */
  signInTimeoutMs: number
  allowHttp: boolean
}
