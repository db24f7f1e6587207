import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcId } from '../../json-rpc.ts'
import { metaOf } from '../params.ts'

/** One entry of `inputRequests`, and where its answer goes. */
export interface Question {
  /** The id of the server's request; undefined for a question from -32042, which needs no response. */
  id: JsonRpcId | undefined
  request: { method: string; params?: JsonObject }
}

/** An answer of the client to a {@link Question}. */
export interface Answer {
  id: JsonRpcId | undefined
  result: JsonObject
}

/** The questions of one call that the client has not answered. */
export interface Questions {
  size(): number
  add(question: Question): void
  /** All of them, as `inputRequests` has them. */
  asInputRequests(): JsonObject
  /** Takes out what `inputResponses` answers. Other keys, and answers that are no objects, are passed over. */
  answer(inputResponses: JsonObject): Answer[]
  has(id: unknown): boolean
  /** The server has withdrawn a question. */
  withdraw(id: unknown): void
  /** Takes out all; returns the ids of the server's requests. */
  clear(): JsonRpcId[]
}

/** More are not put to a client at once. */
export const maxQuestions = 32

/** Each question gets a name that no other of the same call had. */
export function createQuestions(): Questions {
  const open = new Map<string, Question>()
  let added = 0
  const find = (id: unknown) =>
    id === undefined ? undefined : [...open].find(([, question]) => question.id === id)?.[0]
  return {
    size: () => open.size,
    add(question) {
      added += 1
      open.set(`input-${added}`, question)
    },
    asInputRequests: () => Object.fromEntries([...open].map(([key, { request }]) => [key, request])),
    answer(inputResponses) {
      const answers: Answer[] = []
      for (const [key, { id }] of open) {
        const result = Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined
        if (isJsonObject(result) && open.delete(key)) answers.push({ id, result })
      }
      return answers
    },
    has: (id) => find(id) !== undefined,
    withdraw(id) {
      const key = find(id)
      if (key !== undefined) open.delete(key)
    },
    clear() {
      const ids = [...open.values()].flatMap(({ id }) => (id === undefined ? [] : [id]))
      open.clear()
      return ids
    },
  }
}

/** A request of the server as an input request: without what 2026-07-28 has no use for (`elicitationId`, `task`, progress). */
export function toInputRequest(method: string, params: JsonObject | undefined): Question['request'] {
  if (params === undefined) return { method }
  const { elicitationId: _, task: __, _meta: ___, ...rest } = params
  const { progressToken: ____, ...meta } = metaOf(params)
  return { method, params: Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest }
}

/** The questions in the data of -32042 (MCP 2025-11-25 elicitation, URL mode); empty if there are none, or far too many. */
export function urlQuestions(data: unknown): Question[] {
  const elicitations = isJsonObject(data) ? data['elicitations'] : undefined
  if (!Array.isArray(elicitations) || elicitations.length > maxQuestions) return []
  return elicitations.filter(isUrlElicitation).map(({ message, url }) => ({
    id: undefined,
    request: { method: 'elicitation/create', params: { mode: 'url', message, url } },
  }))
}

function isUrlElicitation(value: unknown): value is { message: string; url: string } {
  return isJsonObject(value) && typeof value['message'] === 'string' && typeof value['url'] === 'string'
}
