import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { NetworkError } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyError, readBody } from '../http/read-body.ts'
import { isNestedDeeply, readMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { RemoteError } from './remote-leg.ts'

/** What a server said with a status that is no 2xx. */
export interface RefusedPost {
  status: number
  /** The body as it is; empty when it could not be read. */
  bytes: Buffer
  /** The response that it holds for exactly this request. */
  answer: WireMessage | undefined
  /** The JSON-RPC error that it holds, under the id of the request whatever id it names. */
  error: WireMessage | undefined
}

const mostBytes = 1024 * 1024

/** Reads the body of a refusal. A body that is too large or breaks off counts as empty: the status says enough. */
export async function readRefusedPost(response: HttpResponse, message: WireMessage): Promise<RefusedPost> {
  const bytes = await readBody(response, mostBytes).catch((error: unknown) => {
    const isOurs = error instanceof NetworkError && error.fault === 'aborted'
    if (!isOurs && (error instanceof NetworkError || error instanceof BodyError)) return Buffer.alloc(0)
    throw error
  })
  const said = { status: response.status, bytes, answer: undefined, error: undefined }
  if (message.envelope.kind !== 'request') return said
  const { id } = message.envelope
  const answer = { ...readMessage(bytes), status: response.status }
  if (answer.envelope.kind === 'response' && answer.envelope.isError && answer.envelope.id === id)
    return { ...said, answer, error: answer }
  return { ...said, error: errorIn(answer, id) }
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

/** The error for a status that is no 2xx and that the requester did not deal with. */
export function refusedPostError({ status, error }: RefusedPost): RemoteError {
  const known = { status, ...(error !== undefined && { response: error }) }
  if (status === 403) return new RemoteError('forbidden', 'The server does not allow this request.', known)
  if (status === 413) return new RemoteError('too_large', 'The message is too large for the server.', known)
  if (status >= 500) return new RemoteError('unavailable', `The server failed with HTTP ${status}.`, known)
  const isMissing = status === 404 || status === 405 || status === 410
  if (isMissing && error === undefined)
    return new RemoteError('not_found', `There is no MCP endpoint at this address (HTTP ${status}).`, known)
  return new RemoteError('refused', `The server refused the request with HTTP ${status}.`, known)
}
