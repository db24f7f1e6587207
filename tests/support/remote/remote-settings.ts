/** How often a staged fault strikes before everything works again. */
export type Fault =
  /** A login page with status 200. */
  | 'html'
  /** JSON that is no JSON-RPC, status 200. */
  | 'json'
  /** The connection is reset instead of an answer. */
  | 'reset'
  /** Nothing ever comes. */
  | 'hang'
  /** Half an answer, then the connection is reset. */
  | 'cut'
  | 400
  | 401
  | 403
  | 404
  | 405
  /** With `Retry-After` of `retryAfter`. */
  | 429
  | 500
  | 502
  /** With `Retry-After` of `retryAfter`. */
  | 503

/** How the remote behaves. Every member may be changed while it runs. */
export interface RemoteSettings {
  /** Which eras `/mcp` serves. */
  era: 'legacy' | 'modern' | 'both'
  /**
   * Whether a server of `era: 'legacy'` answers `server/discover` with `revisions`, and every other request of 2026-07-28 with
   * -32022 and `revisions`, as servers of the Go SDK with sessions do.
   */
  discoverable: boolean
  /** `sse`: only the transport of 2024-11-05 at `/sse`; `/mcp` answers 404. `both` has the two side by side. */
  transport: 'http' | 'sse' | 'both'
  /** The legacy revisions that `initialize` may settle on, newest first. */
  revisions: string[]
  /** How requests are answered that need no stream. `polled`: an event id, the end, and the response after a resume. */
  reply: 'json' | 'sse' | 'polled'
  /** Whether legacy clients get an `Mcp-Session-Id`. */
  sessions: boolean
  /** The status for a session id that is not known. */
  lostSessionStatus: 404 | 400
  /** Whether GET opens a stream, or answers 405. */
  getStream: boolean
  /** `retry:` of streams; 0 for none. */
  sseRetryMs: number
  /** Every response waits that long, on every path but `/control`. */
  delayMs: number
  /** What the next `faultTimes` POSTs of `/mcp` get instead of an answer. */
  fault: Fault | undefined
  /** How many POSTs `fault` strikes. */
  faultTimes: number
  /** Only requests with that JSON-RPC method count for `fault`; all when undefined. */
  faultMethod: string | undefined
  /** Value of `Retry-After` of 429 and 503, here and at `/token`. */
  retryAfter: string
  /** Cookies that must come back, as a load balancer with sticky sessions sets them. */
  cookies: boolean
  /** A tool whose `x-mcp-header` is wrong is in the list, so that a modern client has to drop it. */
  offendingTool: boolean

  /** Whether `/mcp` wants a bearer token. */
  auth: boolean
  /** The scope that `/mcp` wants, also named in challenges; the tool `admin` wants `mcp:admin` besides. */
  scope: string
  /** `bare`: `Bearer` alone, so that clients use the well-known places; `none`: no header at all. */
  challenge: 'full' | 'bare' | 'none'
  /** Whether there is protected resource metadata. */
  protectedResourceMetadata: boolean
  /** What protected resource metadata calls the resource; the URL of `/mcp` when undefined. */
  resource: string | undefined

  /** What metadata calls the issuer, when it shall be wrong. */
  metadataIssuer: string | undefined
  /** The origin that the login page and device page are said to be on, when it is not the issuer. */
  pageOrigin: string | undefined
  /** Whether metadata lists S256. */
  pkceAdvertised: boolean
  /** `wrong` and `none` are about the authorization response; metadata claims it unless `none`. */
  iss: 'right' | 'wrong' | 'none'
  /** Whether client id metadata documents are advertised and taken. They are not fetched. */
  clientIdMetadataDocuments: boolean
  /** Whether clients may register. */
  registration: boolean
  /** Whether loopback redirect URIs match with any port. */
  anyLoopbackPort: boolean
  /** Whether the device grant is offered. */
  deviceGrant: boolean
  /** What `/authorize` and device codes do: approve at once, wait for `approve()` or `deny()`, or deny at once. */
  approval: 'auto' | 'wait' | 'deny'
  /** How long `/authorize` thinks. */
  authorizeDelayMs: number
  tokenTtlSeconds: number
  /** Whether answers say `expires_in`. */
  expiresIn: boolean
  /** Whether answers have a refresh token. */
  refreshTokens: boolean
  /** Whether a refresh token is replaced at its use. */
  rotation: boolean
  /** How long after its use a refresh token still answers with the same successor. Later use ends the grant. */
  graceSeconds: number
  /** How long the answer of `/token` takes; what is rotated is rotated before. */
  tokenDelayMs: number
  /** What the next `tokenFaultTimes` requests of `/token` get, before anything is spent. */
  tokenFault: Fault | 'temporarily_unavailable' | undefined
  /** How many requests `tokenFault` strikes. */
  tokenFaultTimes: number
  /** Like `tokenFault`, but the request is served first: what is rotated is rotated. */
  tokenAnswerLost: boolean
  /** Whether `/token` accepts `resource`; otherwise it is `invalid_target`, as at Entra. */
  resourceParameter: boolean
  /** Whether a refresh without `scope` is refused, as at Entra. */
  refreshNeedsScope: boolean
  /** Whether `/revoke` exists. */
  revocation: boolean
}

/** A server that is easy to live with. */
export const usualSettings: RemoteSettings = {
  era: 'both',
  discoverable: false,
  transport: 'http',
  revisions: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
  reply: 'json',
  sessions: true,
  lostSessionStatus: 404,
  getStream: true,
  sseRetryMs: 0,
  delayMs: 0,
  fault: undefined,
  faultTimes: 0,
  faultMethod: undefined,
  retryAfter: '1',
  cookies: false,
  offendingTool: false,
  auth: false,
  scope: 'mcp',
  challenge: 'full',
  protectedResourceMetadata: true,
  resource: undefined,
  metadataIssuer: undefined,
  pageOrigin: undefined,
  pkceAdvertised: true,
  iss: 'right',
  clientIdMetadataDocuments: false,
  registration: true,
  anyLoopbackPort: true,
  deviceGrant: true,
  approval: 'auto',
  authorizeDelayMs: 0,
  tokenTtlSeconds: 3600,
  expiresIn: true,
  refreshTokens: true,
  rotation: true,
  graceSeconds: 0,
  tokenDelayMs: 0,
  tokenFault: undefined,
  tokenFaultTimes: 0,
  tokenAnswerLost: false,
  resourceParameter: true,
  refreshNeedsScope: false,
  revocation: true,
}
