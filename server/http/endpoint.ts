import type { CorsAudience } from './middleware/cors.ts'

/** What an endpoint gets beside the request. `id` is what a person quotes to support, and what the log knows. */
export interface RequestContext {
  id: string
  /**
   * IP address of the client in its shortest form; behind trusted proxies the one that they name. Undefined when whoever
   * called did not say: limits per address then do not hold.
   */
  address: string | undefined
  report: (event: string, fields?: Record<string, unknown>) => void
}

/** Answers one request. Throws `OAuthError` for a protocol failure; anything else thrown is answered as 500. */
export type EndpointHandler = (request: Request, context: RequestContext) => Promise<Response> | Response

/** One row of the endpoint table. */
export interface Endpoint {
  /** Absolute path, the path of the base URL included. */
  path: string
  /** The path ends in `/`, and exactly one segment that is not empty must follow it. */
  prefix?: true
  methods: Readonly<Record<string, EndpointHandler>>
  /** Takes every other method; without it they are answered 405. */
  otherMethods?: EndpointHandler
  /** Which pages may read the answers; `none` for what people open in a browser. */
  cors: 'none' | ((request: Request) => CorsAudience)
  /** Liveness probes come by address: no Host rule for them. */
  anyHost?: boolean
}
