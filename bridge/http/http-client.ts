import type { Readable } from 'node:stream'

/** One request. Header names are written as they are given here. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'HEAD'
  /** Absolute, http or https. */
  url: string
  headers: Readonly<Record<string, string>>
  body?: Uint8Array | string
  /** Ends the call, and the body of its response too. */
  signal?: AbortSignal
  /** Until the headers of the response are there; what the client was created with when left out, 0 for no limit. */
  headersTimeoutMs?: number
  /** Silence that is allowed within the body; what the client was created with when left out, 0 for no limit. */
  bodyTimeoutMs?: number
}

/** A response whose body has not been read yet. Redirects are never followed. */
export interface HttpResponse {
  status: number
  /** By names in lower case. Of headers that came twice the values are joined by `, `, except `set-cookie`. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Its raw bytes. Has to be read to the end or destroyed; fails with {@link NetworkError}. */
  readonly body: Readable
}

/** What sends requests. Connections are kept open and shared. */
export interface HttpClient {
  /** Rejects with {@link NetworkError} when no response arrives; any status is a response. */
  send(request: HttpRequest): Promise<HttpResponse>
  /** Ends all connections at once. */
  close(): void
}

/** What went wrong below HTTP. `aborted` is the caller's own doing. */
export type NetworkFault =
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'tls'
  | 'proxy'
  | 'connect_timeout'
  | 'headers_timeout'
  | 'body_timeout'
  | 'reset'
  | 'protocol'
  | 'aborted'

/** No response, or none that arrived whole. The message names the origin and the cause, never a path, query or header. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly fault: NetworkFault
  /** Scheme, host and port that were asked. */
  readonly origin: string
  /** Whether the request may have reached the server: only a request that did not is always safe to send again. */
  readonly sent: boolean
  /** What to do, where the cause says more than the fault does. `{url}` stands for the server's. */
  readonly nextStep: string | undefined

  constructor(
    fault: NetworkFault,
    origin: string,
    message: string,
    options: { sent: boolean; cause?: unknown; nextStep?: string | undefined },
  ) {
    super(message, { cause: options.cause })
    this.fault = fault
    this.origin = origin
    this.sent = options.sent
    this.nextStep = options.nextStep
  }
}
