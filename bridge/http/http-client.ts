import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
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
  /** Silence that is allowed within the body; what the client was created with when left out, 0 for no limit. */
  bodyTimeoutMs?: number
}

/** A response whose body has not been read yet. */
export interface HttpResponse {
  /** The address that gave it. */
  url: string
  status: number
  /** By names in lower case. Of headers that came twice the values are joined by `, `, except `set-cookie`. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Its bytes, decoded. Has to be read to the end or destroyed; fails with {@link NetworkError}. */
  readonly body: Readable
}

/** Sends requests over connections that are kept open and shared. Follows no redirects. */
export interface HttpClient {
  /** Rejects with {@link NetworkError} when no response arrives; any status is a response. */
  send(request: HttpRequest): Promise<HttpResponse>
  close(): void
}

/** The faults below HTTP. `aborted` is the caller's own doing. */
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
  /** The request may have reached the server: only one that did not is always safe to send again. */
  readonly sent: boolean
  /** The next step, where the cause says more than the fault does. `{url}` stands for the server's. */
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

/** How this computer reaches servers. Times in milliseconds, 0 for no limit. */
export interface NetworkConfig {
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  /** Only IPv4 addresses of a host are tried. */
  /** PEM text of authorities trusted in addition to those of the system. */
  ca: string | undefined
  /** Undefined: straight. Each may carry user and password. `noProxy` is a list as in NO_PROXY. */
  proxy: { http: string | undefined; https: string | undefined; noProxy: string | undefined } | undefined
  /** Plain http may go beyond loopback. */
  allowHttp: boolean
  userAgent: string
}

/** The `Authorization` header of one request. */
export interface Authorization {
  header: string
}

/** A request that the server would not serve: 401, or 403 with `insufficient_scope`. */
export interface Refusal {
  status: 401 | 403
  /** The credential that was sent; undefined when there was none. */
  used: Authorization | undefined
  challenges: readonly AuthenticateChallenge[]
}

/** The next step after a {@link Refusal}. */
export type RefusalOutcome =
  /** Send the request again, once, with what the token source answers now. */
  | { kind: 'retry' }
  /** A person has to sign in, or to allow more. Asking them is the caller's decision. */
  | { kind: 'sign_in_needed' }

/**
 * Where a person goes to sign in. Holds no secret beyond what the link itself needs. `askedBy` is the host of the server;
 * `unconfirmed` the host of a page that does not confirm that it belongs to `namedBy`, which sends people there: both names
 * are shown then, and the page is not opened automatically.
 */
export type AuthorizationPrompt = { unconfirmed?: { page: string; namedBy: string } | undefined } & (
  | { kind: 'browser'; url: string }
  | {
      kind: 'device'
      url: string
      completeUrl?: string | undefined
      userCode: string
      expiresAt: number
      askedBy: string
    }
)

/** Returns the media type in lower case, without parameters; empty if there is none. */
export function mediaTypeOf({ headers }: HttpResponse): string {
  const header = headers['content-type']
  return (typeof header === 'string' ? (header.split(';', 1)[0] ?? '') : '').trim().toLowerCase()
}

/** A body that is of no use. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly fault: 'too_large' | 'not_json'

  constructor(fault: 'too_large' | 'not_json', message: string) {
    super(message)
    this.fault = fault
  }
}

/** 64 MB: as much as a line of stdio may have. */
export const maxMessageBytes: number = 64 * 1024 * 1024

/** Reads the whole body. Beyond `maxBytes` the connection is ended and {@link BodyError} `too_large` thrown. */
export async function readBody(response: HttpResponse, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): BodyError => {
    response.body.destroy()
    return new BodyError('too_large', `the answer is larger than ${maxBytes} bytes`)
  }
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += (chunk as Buffer).length
    if (length > maxBytes) throw tooLarge()
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks, length)
}

/** Reads the body as JSON, whatever its media type says. {@link BodyError} `not_json` quotes nothing: it may be a token. */
export async function readJson(response: HttpResponse, maxBytes: number): Promise<unknown> {
  const bytes = await readBody(response, maxBytes)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The cause stays behind: the messages of JSON.parse quote the text.
    throw new BodyError('not_json', 'the answer is no JSON')
  }
}

const discardMs = 1000

/** Reads what is left and drops it, so that the connection can be used again; a body that goes on for a second is cut off. */
export function discard({ body }: Pick<HttpResponse, 'body'>): void {
  if (body.readableEnded || body.destroyed) return
  body.on('error', () => {})
  body.resume()
  const timer = setTimeout(() => body.destroy(), discardMs)
  timer.unref()
  body.once('close', () => clearTimeout(timer))
}
