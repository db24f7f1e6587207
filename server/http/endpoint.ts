/** The other end of the connection; `address` is its IP address. */
export interface Peer {
  address: string | undefined
}

/** Answers every request. Without `peer` the origin of the request is unknown. */
export type FetchHandler = (request: Request, peer?: Peer) => Promise<Response>

/** What an endpoint gets besides the request. `id` is what people quote to support, and what the log lists. */
export interface RequestContext {
  id: string
  /**
   * IP address of the client in its shortest form; behind trusted proxies, the one they name. Undefined when the caller did not
   * pass one: limits per address do not apply then.
   */
  address: string | undefined
  report: (event: string, fields?: Record<string, unknown>) => void
  /** Names the trace that a message of the request belongs to, on every line that is logged from now on. */
  trace?: (traceparent: unknown) => void
}

/** Answers one request. Throws `OAuthError` for a protocol failure; anything else thrown is answered as 500. */
export type EndpointHandler = (request: Request, context: RequestContext) => Promise<Response> | Response

/** Who may read a response: every page, without credentials; one named origin, with them; or no page at all. */
export type CorsAudience = { kind: 'everyone' } | { kind: 'origin'; origin: string } | { kind: 'nobody' }

/** One row of the endpoint table. */
export interface Endpoint {
  /** Absolute path, including the path of the base URL. */
  path: string
  /** The path ends in `/`, and exactly one non-empty segment must follow it. */
  prefix?: true
  methods: Readonly<Record<string, EndpointHandler>>
  /** Takes every other method; without it they are answered 405. */
  otherMethods?: EndpointHandler
  /** Which pages may read the responses; `none` for what people open in a browser. */
  cors: 'none' | ((request: Request) => CorsAudience)
  /** Liveness probes come by address: the Host header is not checked. */
  anyHost?: boolean
}

/** What Hono carries along with each request. */
export interface HttpEnv {
  Bindings: { peer: Peer | undefined }
  Variables: {
    context: RequestContext
    /** The row that the path belongs to; undefined for unknown paths. */
    endpoint: Endpoint | undefined
    audience: CorsAudience
  }
}
