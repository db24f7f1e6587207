import {
  jsonRpcCode,
  type JsonRpcError,
  jsonRpcError,
  type JsonRpcErrorObject,
  type JsonRpcId,
  requestIdOf,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { messagesIn } from './incoming.ts'

/** Next step for users when an upstream fails. */
export const nextStep = 'Try again in a minute; if it keeps failing, tell the operator of this server.'

function requestIds(body: unknown): JsonRpcId[] {
  return messagesIn(body).flatMap((message) => requestIdOf(message) ?? [])
}

/** Returns an error for each request of a message or batch, with its id. Never cached. */
export function failureResponse(
  status: number,
  { code, message, data }: JsonRpcErrorObject,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const errorOf = (id: JsonRpcId | null): JsonRpcError => jsonRpcError(id, code, message, data)
  const all = requestIds(body).map(errorOf)
  const answer = Array.isArray(body) && all.length > 0 ? all : (all[0] ?? errorOf(null))
  return Response.json(answer, { status, headers: { 'cache-control': 'no-store', ...headers } })
}

/** Returns an error that is not the client's fault. */
export function internalError(message: string): JsonRpcErrorObject {
  return { code: jsonRpcCode.internalError, message }
}

/** Answers a message in a session that does not exist, or is not the caller's. */
export function sessionNotFound(body: unknown): Response {
  const message = 'Session not found. Send initialize without Mcp-Session-Id to open a new one.'
  return failureResponse(404, { code: transportErrorCode.sessionNotFound, message }, body)
}

/** Answers a user who has reached the limit of open streams. */
export function tooManyStreams(body: unknown): Response {
  const message = 'You have too many streams open. End one, then try again.'
  return failureResponse(429, { code: transportErrorCode.refused, message }, body, { 'retry-after': '5' })
}

/** Answers a message about a task that does not exist, or is not the caller's. */
export function taskNotFound(body: unknown): Response {
  const message = 'There is no such task. Call the tool again to start one.'
  return failureResponse(200, { code: jsonRpcCode.invalidParams, message }, body)
}
