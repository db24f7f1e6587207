import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isNestedDeeply, readMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { NetworkError } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyError, readBody } from '../http/read-body.ts'
import { lostError, TransportError } from './transport.ts'

/** 64 MB: as much as a line of stdio may have. */
export const maxMessageBytes: number = 64 * 1024 * 1024

/** The whole body. Rejects with `NetworkError` when it does not arrive whole and with {@link TransportError} `too_large`. */
export async function collectBody(
  response: HttpResponse,
  received: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  try {
    return await readBody(response, maxMessageBytes, received)
  } catch (error) {
    if (error instanceof NetworkError) throw error
    throw error instanceof BodyError ? tooLargeError(error) : lostError(error)
  }
}

export function tooLargeError(cause: unknown): TransportError {
  return new TransportError('too_large', 'An answer of the server is larger than 64 MB.', { cause })
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

/** The media type in lower case, without parameters; empty if there is none. */
export function contentType({ headers }: HttpResponse): string {
  const header = headers['content-type']
  return (typeof header === 'string' ? (header.split(';', 1)[0] ?? '') : '').trim().toLowerCase()
}

/** Whether a response has events as its body. */
export function isEventStream(response: HttpResponse): boolean {
  return contentType(response) === 'text/event-stream'
}

/** The body of a response other than 2xx. */
export interface RefusedPost {
  status: number
  /** The body as it is; empty when it could not be read. */
  text: string
  /** The response that it holds for exactly this request. */
  answer: WireMessage | undefined
  /** The JSON-RPC error that it holds, under the id of the request, even if it names another. */
  error: WireMessage | undefined
}

const maxRefusalBytes = 1024 * 1024

/** Reads the body of a refusal. A body that is too large or breaks off counts as empty: the status says enough. */
export async function readRefusedPost(response: HttpResponse, message: WireMessage): Promise<RefusedPost> {
  const bytes = await readBody(response, maxRefusalBytes).catch((error: unknown) => {
    const isOurs = error instanceof NetworkError && error.fault === 'aborted'
    if (!isOurs && (error instanceof NetworkError || error instanceof BodyError)) return Buffer.alloc(0)
    throw error
  })
  const { status } = response
  const refused = { status, text: bytes.toString('latin1'), answer: undefined, error: undefined }
  if (message.envelope.kind !== 'request') return refused
  const { id } = message.envelope
  const answer = { ...readMessage(bytes), status }
  if (answer.envelope.kind === 'response' && answer.envelope.isError && answer.envelope.id === id)
    return { ...refused, answer, error: answer }
  return { ...refused, error: errorIn(answer, id) }
}

/** Servers that did not read the request name no id in their error, or one of their own. */
function errorIn(body: WireMessage, id: JsonRpcId): WireMessage | undefined {
  if (isNestedDeeply(body)) return undefined
  const error = parseJsonObject(body.text)?.['error']
  if (!isJsonObject(error)) return undefined
  const { code, message, data } = error
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined
  return toWireMessage(jsonRpcError(id, code as number, message, data))
}

/** The error for a status other than 2xx. */
export function refusedPostError({ status, error }: RefusedPost): TransportError {
  const known = { status, ...(error !== undefined && { response: error }) }
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
