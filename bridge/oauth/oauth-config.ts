import type { KeyObject } from 'node:crypto'
import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'

/** A client that the user configured. */
export interface StaticClient {
  clientId: string
  clientSecret?: string
  /** The exact issuer that it is registered at. Undefined: the first issuer it is used at. */
  issuer?: string
  /** Undefined: chosen from the server's metadata and the secret. */
  tokenEndpointAuthMethod?: string
}

/** OAuth settings. Times in milliseconds. */
export interface OAuthConfig {
  /** Exactly as the user entered it; metadata has to cover it. */
  serverUrl: string
  profile: string
  grant: 'authorization_code' | 'device_code' | 'client_credentials'
  /** No browser can be opened here, so the device grant is preferred where the server supports it. */
  prefersDevice: boolean
  /** Replaces the value in the protected resource metadata; `sendResource` false omits the parameter everywhere. */
  resource: string | undefined
  sendResource: boolean
  /** An issuer that the metadata, or the response to a sign-in, may name instead of the expected one. */
  acceptIssuer: string | undefined
  staticClient: StaticClient | undefined
  /** The key for `private_key_jwt`, and its algorithm. */
  privateKey: { key: KeyObject; algorithm: string } | undefined
  /** URL of our client ID metadata document: https, with a path. */
  clientMetadataUrl: string | undefined
  /** The name to register with, which the login page shows. */
  clientName: string
  /** Overrides members of the registration. */
  clientMetadata: ClientMetadata
  /** Scopes to request regardless of the server; undefined: the server's. */
  scope: string | undefined
  /** Additional parameters of the authorization request, besides the protocol's own. */
  authorizeParameters: Readonly<Record<string, string>>
  /** The address that the browser returns to; port undefined: any free port. `isFixed`: the user chose it. */
  callback: { host: string; port: number | undefined; path: string; isFixed?: boolean }
  /** Send the ID token instead of the access token. */
  useIdToken: boolean
  /** Limits the time a user has to sign in. */
  signInTimeoutMs: number
  allowHttp: boolean
}
