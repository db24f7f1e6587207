/** The bridge's identity at an authorization server. */
export interface ClientIdentity {
  clientId: string
  clientSecret?: string | undefined
  /** `private_key_jwt` uses the configured key: no key is ever stored. */
  tokenEndpointAuthMethod: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /** Configured, a client ID metadata document, or dynamic registration. */
  origin: 'static' | 'metadata_document' | 'dynamic'
  /** Epoch seconds; undefined: never. */
  secretExpiresAt?: number | undefined
  /** The registered redirect URIs. */
  redirectUris?: readonly string[] | undefined
}

/** Tokens as issued. */
export interface IssuedTokens {
  accessToken: string
  refreshToken?: string | undefined
  /** Epoch seconds; undefined when the server did not say. */
  expiresAt?: number | undefined
  /** Epoch seconds. */
  issuedAt: number
  /** The granted scope; undefined when neither request nor response named one. */
  scope?: string | undefined
  idToken?: string | undefined
}

/** Known quirks of an issuer, remembered so that they are not discovered again. */
export interface IssuerQuirks {
  /** Rejects `resource` at the token endpoint (Entra AADSTS9010010). */
  refusesResource?: boolean
  /** Requires `scope` in refresh requests (Entra AADSTS90009). */
  wantsScopeAtRefresh?: boolean
  /** Rejected the client ID metadata document at this URL, but accepted a registration. */
  refusesDocument?: string | undefined
}

/** One login, bound to its issuer: no part of it is ever sent to another one (MCP 2026-07-28 authorization, C5). */
export interface Credential {
  /** Increases by one with every write. Two processes with the same number hold the same tokens. */
  generation: number
  /** As entered by the user. */
  serverUrl: string
  profile: string
  issuer: string
  /** The issuer whose metadata names this one instead, where the person accepted that. */
  acceptedAt?: string | undefined
  tokenEndpoint: string
  revocationEndpoint?: string | undefined
  /** The exact `resource` parameter from the protected resource metadata; undefined when none is sent. */
  resource?: string | undefined
  client: ClientIdentity
  /** Undefined after a definite refusal; the client stays registered. */
  tokens?: IssuedTokens | undefined
  /** Set while a refresh request may be in flight: SHA-256 of its refresh token, and the time (epoch seconds). */
  pendingRefresh?: { refreshHash: string; at: number } | undefined
  /** Why the user has to sign in again; undefined while the tokens are believed to work. */
  signInNeeded?: string | undefined
  quirks?: IssuerQuirks | undefined
  /** Origin of a sign-in page that did not confirm the issuer, where the user was warned and signed in nevertheless. */
  acceptedPage?: string | undefined
  /** Epoch seconds. */
  signedInAt: number
  /** Random; unchanged until the next sign-in. Set when a new login is stored. */
  signInId?: string | undefined
}
