import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { ServingContext } from '@drawbridge/shared/trace-context.ts'

/** The other end of the connection; `address` is its IP address. */
export interface RemoteSocket {
  address: string | undefined
}

/** Responds to every request. Without `peer` the origin of the request is unknown. */
export type FetchHandler = (request: Request, peer?: RemoteSocket) => Promise<Response>

/** Context of a request. Users quote its `id` to support, and the log has it. */
export interface RequestContext extends ServingContext {
  /**
   * IP address of the client in its shortest form; behind trusted proxies, the one they name. Undefined when the caller did not
   * pass one: limits per address do not apply then.
   */
  address: string | undefined
  /** Says which client and sign-in the request belongs to, for the record of attempts to connect. Undefined: to none. */
  attempt?: (of: { clientId?: string | undefined; signIn?: string | undefined } | undefined) => void
  /** Called once, when the response is decided; `endpoint` as in `RequestObserver`. */
  answered?: (endpoint: string, status: number) => void
}

/** Responds to one request. Throws `OAuthError` for a protocol failure; any other error becomes a 500. */
export type EndpointHandler = (request: Request, context: RequestContext) => Promise<Reply> | Reply

/** Pages that may read a response: every page, without credentials; one origin, with them; or none. */
export type CorsAudience = { kind: 'everyone' } | { kind: 'origin'; origin: string } | { kind: 'none' }

/** Returns the endpoint with each of its handlers replaced by `around(handler)`. */
export function wrapHandlers(
  endpoint: Endpoint,
  around: (handler: EndpointHandler) => EndpointHandler,
): Endpoint {
  const { methods, otherMethods } = endpoint
  return {
    ...endpoint,
    methods: Object.fromEntries(Object.entries(methods).map(([name, handler]) => [name, around(handler)])),
    ...(otherMethods && { otherMethods: around(otherMethods) }),
  }
}

export interface Endpoint {
  /** Absolute path, including the path of the base URL. */
  path: string
  /** The path ends in `/`, and exactly one non-empty segment must follow it. */
  prefix?: true
  methods: Readonly<Record<string, EndpointHandler>>
  /** Handles every other method; without it they get 405. */
  otherMethods?: EndpointHandler
  /** Pages that may read the responses; `none` for pages opened in a browser. */
  cors: 'none' | ((request: Request) => CorsAudience)
  /** Further headers that it reads besides those of MCP clients, in lower case: pages that may read its responses may send them. */
  readsHeaders?: readonly string[]
  /** Liveness probes use the address: the Host header is not checked. */
  anyHost?: boolean
}
