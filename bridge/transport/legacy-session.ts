import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { HttpResponse } from '../http/http-client.ts'
import type { RefusedPost } from './refused-post.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** One session of a server; another one is another object, which is how a request knows that its session is over. */
export interface LegacySession {
  /** Undefined at a server without sessions. */
  id: string | undefined
  /** What was agreed on; undefined before `initialize`. */
  revision: string | undefined
  /** Headers of each request in the session. */
  headers: Readonly<Record<string, string>>
  /** Those of a POST: the same object for all of them. */
  postHeaders: Readonly<Record<string, string>>
}

const postHeaders = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
} as const

/** Before `initialize`, and for it. */
export const noSession: LegacySession = { id: undefined, revision: undefined, headers: {}, postHeaders }

/**
 * Whether the id of the session, if the response has one, can go back as it came: headers have no encoding, so that it must be
 * ASCII. MCP 2025-11-25 transports, session management, allows no more than visible characters.
 */
export function hasUsableSessionId({ headers }: HttpResponse): boolean {
  const id = headers['mcp-session-id']
  return typeof id !== 'string' || /^[\t\x20-\x7e]*$/.test(id)
}

/** The session that a server opened with its answer to `initialize`. */
export function openedSession(response: HttpResponse, answer: WireMessage): LegacySession {
  const header = response.headers['mcp-session-id']
  const id = typeof header === 'string' && header !== '' ? header : undefined
  const result = parseJsonObject(answer.text)?.['result']
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined
  // What is no token of HTTP could not be sent back.
  const revision = typeof version === 'string' && /^[\w.-]{1,64}$/.test(version) ? version : undefined
  const headers = {
    ...(id !== undefined && { [mcpHeader.sessionId]: id }),
    ...(revision !== undefined && { [mcpHeader.protocolVersion]: revision }),
  }
  return { id, revision, headers, postHeaders: { ...postHeaders, ...headers } }
}

/**
 * Whether the server does not know the session any more: 404, or a 400 that speaks of the session, as some servers have it.
 * A 404 that is the answer to an unknown method is none.
 */
export function isSessionLost(refused: RefusedPost, used: LegacySession): boolean {
  if (used.id === undefined) return false
  if (refused.status === 400) return /session/i.test(refused.bytes.toString('latin1'))
  return refused.status === 404 && !isUnknownMethod(refused.answer)
}

function isUnknownMethod(answer: WireMessage | undefined): boolean {
  const error = answer && parseJsonObject(answer.text)?.['error']
  return isJsonObject(error) && error['code'] === jsonRpcCode.methodNotFound
}
