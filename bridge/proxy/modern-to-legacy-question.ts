import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcId } from '@drawbridge/shared/json-rpc.ts'
import { metaOf } from './message-meta.ts'

/** One entry of `inputRequests`, and where its answer goes. */
export interface Question {
  /** Of the request of the server; undefined for one that came with -32042, which nobody waits for. */
  id: JsonRpcId | undefined
  request: { method: string; params?: JsonObject }
}

/** A request of a 2025 server as an input request: without what 2026-07-28 has no use for (`elicitationId`, `task`, progress). */
export function toInputRequest(method: string, params: JsonObject | undefined): Question['request'] {
  if (params === undefined) return { method }
  const { elicitationId: _, task: __, _meta: ___, ...rest } = params
  const { progressToken: ____, ...meta } = metaOf(params)
  return { method, params: Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest }
}

/** The questions in the data of -32042 (MCP 2025-11-25 elicitation, URL mode); empty if there are none. */
export function urlQuestions(data: unknown): Question[] {
  const elicitations = isJsonObject(data) ? data['elicitations'] : undefined
  if (!Array.isArray(elicitations)) return []
  return elicitations.filter(isUrlElicitation).map(({ message, url }) => ({
    id: undefined,
    request: { method: 'elicitation/create', params: { mode: 'url', message, url } },
  }))
}

function isUrlElicitation(value: unknown): value is { message: string; url: string } {
  return isJsonObject(value) && typeof value['message'] === 'string' && typeof value['url'] === 'string'
}
