import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  addressed,
  errorIn,
  type JsonRpcResponse,
  parseJsonRpcMessage,
  readMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { parseWwwAuthenticate } from '@drawbridge/shared/oauth/www-authenticate.ts'
import { BodyError, NetworkError, readBody, type HttpResponse, type Refusal } from '../http/http-client.ts'
import { browserWall, isBrowserChallenge } from '../http/browser-wall.ts'
import { retryAfterSeconds } from '@drawbridge/shared/retry-after.ts'
import { TransportError } from './transport.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** The body of a response other than 2xx. */
export interface RefusedPost {
  status: number
  /** The body unchanged; empty if it could not be read. */
  text: string
  /** The response in it to exactly this request. */
  answer: WireMessage | undefined
  /** The JSON-RPC error in it, under the id of the request, even if it names another id. */
  error: WireMessage | undefined
}

const maxRefusalBytes = 1024 * 1024

/** Reads the body of a refusal. A body that is too large or breaks off counts as empty: the status is enough. */
export async function readRefusedPost(response: HttpResponse, message?: WireMessage): Promise<RefusedPost> {
  const bytes = await readBody(response, maxRefusalBytes).catch((error: unknown) => {
    const isOurs = error instanceof NetworkError && error.fault === 'aborted'
    if (!isOurs && (error instanceof NetworkError || error instanceof BodyError)) return Buffer.alloc(0)
    throw error
  })
  const { status } = response
  const refused = { status, text: bytes.toString('latin1'), answer: undefined, error: undefined }
  if (message?.envelope.kind !== 'request') return refused
  const { id } = message.envelope
  const answer = { ...addressed(readMessage(bytes), new Set([id])), status }
  if (answer.envelope.kind === 'response' && answer.envelope.isError && answer.envelope.id === id)
    return { ...refused, answer, error: answer }
  return { ...refused, error: errorIn(answer, id) }
}

/** Returns the error for a status other than 2xx. */
export function refusedPostError({ status, error }: Pick<RefusedPost, 'status' | 'error'>): TransportError {
  const known = { status, response: error }
  if (status === 403) return new TransportError('forbidden', 'The server does not allow this request.', known)
  if (status === 413)
    return new TransportError('too_large', 'The message is too large for the server.', known)
  if (status >= 500) return new TransportError('unavailable', `The server failed with HTTP ${status}.`, known)
  const isMissing = status === 404 || status === 405 || status === 410
  if (isMissing && error === undefined)
    return new TransportError(
      'not_found',
      `There is no MCP endpoint at this address (HTTP ${status}).`,
      known,
    )
  return new TransportError('refused', `The server refused the request with HTTP ${status}.`, known)
}

/** Returns the error for a challenge that only a browser passes, from a service in front of the server. */
export function wallOf(response: HttpResponse): TransportError | undefined {
  const what = browserWall(response)
  if (what === undefined) return undefined
  return new TransportError('blocked', `${what.charAt(0).toUpperCase()}${what.slice(1)}.`, {
    status: response.status,
  })
}

/** Returns whether the server accepted the request. Some browser challenges come with 202. */
export function isSuccess(response: HttpResponse): boolean {
  return response.status < 300 && !isBrowserChallenge(response)
}

/** Returns whether only a different token helps. */
export function isTokenRefusal(response: HttpResponse): boolean {
  if (response.status === 401) return true
  if (response.status !== 403) return false
  return challengesOf(response).some((challenge) => challenge.params.get('error') === 'insufficient_scope')
}

/** Parses the header `WWW-Authenticate` of a response; empty without one. */
export function challengesOf(response: HttpResponse): Refusal['challenges'] {
  const header = response.headers['www-authenticate']
  return parseWwwAuthenticate(Array.isArray(header) ? header.join(', ') : (header ?? ''))
}

/** Returns the error for a server that is down, busy or redirects; undefined if the response is about the message. */
export function absenceOf(response: HttpResponse, url: string, now: number): TransportError | undefined {
  const { status } = response
  const wall = wallOf(response)
  if (wall !== undefined) return wall
  if (status >= 300 && status < 400 && status !== 304) return movedError(response, url)
  if (status !== 429 && status !== 502 && status !== 503 && status !== 504) return undefined
  const known = { status, retryAfterSeconds: retryAfterSeconds(response.headers, now) }
  return status === 429
    ? new TransportError('rate_limited', 'The server gets too many requests.', known)
    : new TransportError('unavailable', `The server is not available (HTTP ${status}).`, known)
}

/** Longer addresses are not shown: no user could type them. */
const maxLocationLength = 300

/** A redirect that is not followed: token and message are for the configured origin only. */
function movedError(response: HttpResponse, url: string): TransportError {
  const { status, headers, url: base } = response
  const { location } = headers
  const isTarget = typeof location === 'string' && isUrl(location, base)
  const target = isTarget ? new URL(location, base) : undefined
  const isWeb = target?.protocol === 'https:' || target?.protocol === 'http:'
  const where = isWeb ? `${target.origin}${target.pathname}`.slice(0, maxLocationLength) : 'another address'
  // A redirect to itself: its address does not help.
  const isUseful = isWeb && where !== `${new URL(url).origin}${new URL(url).pathname}`
  const advice = isUseful ? ' If that is the endpoint, and no page to sign in at, give it as the URL.' : ''
  return new TransportError('refused', `The server says that the endpoint has moved to ${where}.${advice}`, {
    status,
  })
}

/** Returns the JSON-RPC error in the body of a 4xx; undefined for any other failure. */
export function errorResponse(failure: unknown): JsonRpcResponse | undefined {
  if (!(failure instanceof TransportError) || failure.response === undefined) return undefined
  // 401 and 403 lead to a sign-in, whatever their body says.
  if (failure.fault !== 'refused' && failure.fault !== 'not_found') return undefined
  const parsed = parseJsonRpcMessage(parseJsonObject(failure.response.text))
  return parsed.kind === 'response' && 'error' in parsed.message ? parsed.message : undefined
}
