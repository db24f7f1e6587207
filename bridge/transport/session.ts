import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { HttpResponse } from '../http/http-client.ts'
import type { RefusedPost } from './failed-response.ts'

/** One session of a server. A new session is a new object: that is how a request knows that its session is over. */
export interface Session {
  /** Undefined at a server without sessions. */
  id: string | undefined
  /** Headers of each request in the session. */
  headers: Readonly<Record<string, string>>
}

/** Before `initialize`, and for it. */
export const noSession: Session = { id: undefined, headers: {} }

/**
 * Returns whether the session id of the response, if it has one, can go back as it came: headers have no encoding, so it must be ASCII
 * (MCP 2025-11-25 transports, session management, allows no more than visible characters).
 */
export function hasUsableSessionId({ headers }: HttpResponse): boolean {
  const id = headers['mcp-session-id']
  return typeof id !== 'string' || /^[\t\x20-\x7e]*$/.test(id)
}

/** The session that a server opened with its answer to `initialize`. */
export function openedSession(response: HttpResponse, answer: WireMessage | undefined): Session {
  const header = response.headers['mcp-session-id']
  const id = typeof header === 'string' && header !== '' ? header : undefined
  const result = answer && parseJsonObject(answer.text)?.['result']
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined
  // Reject values that are not valid HTTP tokens: they could not be sent back.
  const revision = typeof version === 'string' && /^[\w.-]{1,64}$/.test(version) ? version : undefined
  const headers = {
    ...(id !== undefined && { [mcpHeader.sessionId]: id }),
    ...(revision !== undefined && { [mcpHeader.protocolVersion]: revision }),
  }
  return { id, headers }
}

/**
 * Returns whether the server does not know the session any more: 404, or a 400 that speaks of the session, as some servers have it.
 * A 404 that is the answer to an unknown method is none.
 */
export function isSessionLost(refused: RefusedPost, used: Session): boolean {
  if (used.id === undefined) return false
  if (refused.status === 400) return /session/i.test(refused.text)
  return refused.status === 404 && !isUnknownMethod(refused.answer)
}

function isUnknownMethod(answer: WireMessage | undefined): boolean {
  const error = answer && parseJsonObject(answer.text)?.['error']
  return isJsonObject(error) && error['code'] === jsonRpcCode.methodNotFound
}
