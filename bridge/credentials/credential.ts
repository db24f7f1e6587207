/** How this bridge is known to an authorization server. */
export interface ClientIdentity {
  clientId: string
  clientSecret?: string
  /** `private_key_jwt` takes its key from the configuration: no key is ever stored. */
  tokenEndpointAuthMethod: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /** Where it comes from: configured, a client ID metadata document, or dynamic registration. */
  origin: 'static' | 'metadata_document' | 'dynamic'
  /** Of a dynamic registration (RFC 7592). */
  registrationClientUri?: string
  registrationAccessToken?: string
  /** Epoch seconds; undefined never. */
  secretExpiresAt?: number
  /** What was registered. */
  redirectUris?: readonly string[]
}

/** Tokens as they were issued. */
export interface IssuedTokens {
  accessToken: string
  refreshToken?: string
  /** Epoch seconds; undefined when the server did not say. */
  expiresAt?: number
  /** Epoch seconds. */
  issuedAt: number
  /** What was granted; undefined when neither request nor answer named any. */
  scope?: string
  idToken?: string
}

/** What an issuer was found to want, so that it is not found out again. */
export interface IssuerQuirks {
  /** Refuses `resource` at the token endpoint (Entra AADSTS9010010). */
  refusesResource?: boolean
  /** Wants `scope` in refresh requests (Entra AADSTS90009). */
  wantsScopeAtRefresh?: boolean
  /** Refuses the client ID metadata document of this URL, and took a registration in its place. */
  refusesDocument?: string
}

/**
 * One login: everything that calling one server as one user needs. Bound to its issuer: nothing of it is ever sent to
 * another one (MCP 2026-07-28 authorization, C5).
 */
export interface Credential {
  /** Grows by one with every write. Two holders of the same number hold the same tokens. */
  generation: number
  /** As the user gave it. */
  serverUrl: string
  profile: string
  issuer: string
  tokenEndpoint: string
  revocationEndpoint?: string
  /** The `resource` parameter, verbatim from the protected resource metadata; undefined when none is sent. */
  resource?: string
  client: ClientIdentity
  /** Undefined after everything was refused: the client is still registered. */
  tokens?: IssuedTokens
  /** Set while a refresh request may be on the wire: SHA-256 of its refresh token, and when (epoch seconds). */
  pendingRefresh?: { refreshHash: string; at: number }
  /** Why a person has to sign in again; undefined while the tokens are thought to be good. */
  signInNeeded?: string
  quirks?: IssuerQuirks
  /**
   * Origin of the sign-in page, where it is on another host than the issuer and nothing there confirmed it: the person was told
   * and signed in there all the same.
   */
  acceptedPage?: string
  /** Epoch seconds. */
  signedInAt: number
  /** Random; the same until somebody signs in again. Set by whoever stores a new login. */
  signInId?: string
}
