import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { Readable } from 'node:stream'

/** One request. Header names are written as they are given here. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'HEAD'
  /** Absolute, http or https. */
  url: string
  headers: Readonly<Record<string, string>>
  body?: Uint8Array | string | undefined
  /** Ends the call, and the body of its response too. */
  signal?: AbortSignal | undefined
  /** Longest pause within the body; 0 for no limit. Default: the client's. */
  bodyTimeoutMs?: number | undefined
}

/** A response whose body has not been read yet. */
export interface HttpResponse {
  /** The URL that was requested. */
  url: string
  status: number
  /** Names are in lower case. Repeated values are joined by `, `, except those of `set-cookie`. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The decoded bytes. Must be read to the end or destroyed; fails with {@link NetworkError}. */
  readonly body: Readable
}

/** Sends requests over connections that are kept open and shared. Follows no redirects. */
export interface HttpClient {
  /** Rejects with {@link NetworkError} when no response arrives; any status is a response. */
  send(request: HttpRequest): Promise<HttpResponse>
  close(): void
}

/** The faults below HTTP. `aborted`: the caller cancelled the request. */
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

/** A missing or incomplete response. The message names the origin and the cause, never a path, query or header. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly fault: NetworkFault
  /** Scheme, host and port of the request. */
  readonly origin: string
  /** The request may have reached the server: only one that did not is always safe to send again. */
  readonly sent: boolean
  /** The next step, if the cause allows a more precise one than the fault. `{url}` stands for the server's URL. */
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
  /** PEM text of additional trusted authorities. */
  ca: string | undefined
  /** Undefined: no proxy. Each may contain user and password. `noProxy` is a list as in NO_PROXY. */
  proxy: { http: string | undefined; https: string | undefined; noProxy: string | undefined } | undefined
  /** Allows plain http to other computers. */
  allowHttp: boolean
  userAgent: string
}

/** A refused request: 401, or 403 with `insufficient_scope`. */
export interface Refusal {
  status: 401 | 403
  /** The `Authorization` header that was sent; undefined when there was none. */
  used: string | undefined
  challenges: readonly AuthenticateChallenge[]
}

/**
 * The next step after a {@link Refusal}. `retry`: send the request again, once, with the token source's current token. `sign_in_needed`: the
 * user has to sign in, or to allow more; asking them is the caller's decision.
 */
export type RefusalOutcome = 'retry' | 'sign_in_needed'

/**
 * The link at which a person signs in. Contains no secret besides the link itself. `askedBy` is the host of the server;
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

/** A body that is too large to be used. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
}

/** 64 MB: as much as a line of stdio may have. */
export const maxMessageBytes: number = 64 * 1024 * 1024

/** Reads the whole body. Beyond `maxBytes` the connection is ended and {@link BodyError} thrown. Waits for `received` before the next chunk. */
export async function readBody(
  response: HttpResponse,
  maxBytes: number,
  received?: (bytes: number) => Promise<void> | undefined,
): Promise<Buffer> {
  const tooLarge = (): BodyError => {
    response.body.destroy()
    return new BodyError(`the answer is larger than ${maxBytes} bytes`)
  }
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += (chunk as Buffer).length
    if (length > maxBytes) throw tooLarge()
    chunks.push(chunk as Buffer)
    await received?.((chunk as Buffer).length)
  }
  return Buffer.concat(chunks, length)
}

/** Reads the body as JSON, whatever its media type says. Undefined for one that is not JSON, or is too large. */
export async function readJson(response: HttpResponse, maxBytes: number): Promise<unknown> {
  try {
    const bytes = await readBody(response, maxBytes)
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof NetworkError) throw error
    return undefined
  }
}

const discardMs = 1000

/** Reads and drops the rest, so that the connection can be reused. Cuts off a body that takes longer than a second. */
export function discard({ body }: Pick<HttpResponse, 'body'>): void {
  if (body.readableEnded || body.destroyed) return
  body.on('error', () => {})
  body.resume()
  const timer = setTimeout(() => body.destroy(), discardMs)
  timer.unref()
  body.once('close', () => clearTimeout(timer))
}
