import { encodeBase64url } from '../../../base64url.ts'
import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import type { JsonRpcId } from '../../json-rpc.ts'
import { metaOf } from '../../params.ts'
import { after } from '../deadline.ts'
import { maxInputRequests, maxInputSeconds } from '../input-required.ts'
import type { AdapterRuntime } from '../ports.ts'

/** One entry of `inputRequests`, and the request of the server that it came from. */
export interface InputRequest {
  /** Undefined for an entry from -32042, which needs no response. */
  id: JsonRpcId | undefined
  request: { method: string; params?: JsonObject }
}

/** The client's answer to an {@link InputRequest}. */
export interface InputResponse {
  id: JsonRpcId | undefined
  result: JsonObject
}

/** The input requests of one call that the client has not answered. Each gets a key that no other of the call had. */
export class InputRequests {
  readonly #open = new Map<string, InputRequest>()
  #added = 0

  get size(): number {
    return this.#open.size
  }

  add(inputRequest: InputRequest): void {
    this.#added += 1
    this.#open.set(`input-${this.#added}`, inputRequest)
  }

  /** All of them, in the form of `inputRequests`. */
  toJson(): JsonObject {
    return Object.fromEntries([...this.#open].map(([key, { request }]) => [key, request]))
  }

  /** Removes and returns what `inputResponses` answers. Ignores unknown keys, and answers that are not objects. */
  answer(inputResponses: JsonObject): InputResponse[] {
    const answers: InputResponse[] = []
    for (const [key, { id }] of this.#open) {
      const result = Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined
      if (isJsonObject(result) && this.#open.delete(key)) answers.push({ id, result })
    }
    return answers
  }

  has(id: unknown): boolean {
    return this.#keyOf(id) !== undefined
  }

  /** Removes the request with this id: the server has cancelled it. */
  remove(id: unknown): void {
    const key = this.#keyOf(id)
    if (key !== undefined) this.#open.delete(key)
  }

  /** Removes all, and returns the ids of the server's requests. */
  clear(): JsonRpcId[] {
    const ids = [...this.#open.values()].flatMap(({ id }) => (id === undefined ? [] : [id]))
    this.#open.clear()
    return ids
  }

  #keyOf(id: unknown): string | undefined {
    if (id === undefined) return undefined
    return [...this.#open].find(([, inputRequest]) => inputRequest.id === id)?.[0]
  }
}

/** A request of the server as an input request, without what 2026-07-28 does not have: `elicitationId`, `task` and the progress token. */
export function toInputRequest(method: string, params: JsonObject | undefined): InputRequest['request'] {
  if (params === undefined) return { method }
  const { elicitationId: _, task: __, _meta: ___, ...rest } = params
  const { progressToken: ____, ...meta } = metaOf(params)
  return { method, params: Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest }
}

/** The input requests in the data of -32042 (MCP 2025-11-25 elicitation, URL mode); empty if there are none, or too many. */
export function urlElicitations(data: unknown): InputRequest[] {
  const elicitations = isJsonObject(data) ? data['elicitations'] : undefined
  if (!Array.isArray(elicitations) || elicitations.length > maxInputRequests) return []
  return elicitations.filter(isUrlElicitation).map(({ message, url }) => ({
    id: undefined,
    request: { method: 'elicitation/create', params: { mode: 'url', message, url } },
  }))
}

function isUrlElicitation(value: unknown): value is { message: string; url: string } {
  return isJsonObject(value) && typeof value['message'] === 'string' && typeof value['url'] === 'string'
}

/** A call that waits for its client to send the request again, with input. */
export interface PendingResult {
  /** Returns true if a retry is the same request. Ignores `_meta`, whose progress token changes. */
  isSameRequest(method: string, params: JsonObject): boolean
  abandon(reason: string): void
}

const maxPending = 64

/**
 * Calls by the `requestState` that the client got for them. They live in memory, so a state is of no use to another process. A
 * call is abandoned when the client does not retry within {@link maxInputSeconds}.
 */
export class PendingResults<T extends PendingResult> {
  readonly #runtime: AdapterRuntime
  readonly #pending = new Map<string, { call: T; clearDeadline(): void }>()

  constructor(runtime: AdapterRuntime) {
    this.#runtime = runtime
  }

  /** Keeps a call and returns its `requestState`, random and good for one use. The oldest is abandoned when there are too many. */
  add(call: T): string {
    const [oldest] = this.#pending.keys()
    if (this.#pending.size >= maxPending && oldest !== undefined)
      this.#remove(oldest)?.abandon('Too many calls are waiting for input.')
    const requestState = encodeBase64url(this.#runtime.randomBytes(24))
    const clearDeadline = after(this.#runtime, maxInputSeconds, () =>
      this.#remove(requestState)?.abandon('The input did not arrive in time.'),
    )
    this.#pending.set(requestState, { call, clearDeadline })
    return requestState
  }

  /** Removes and returns a call; undefined if the state is unknown, expired, used, or belongs to another request. */
  take(requestState: string, method: string, params: JsonObject): T | undefined {
    const call = this.#pending.get(requestState)?.call
    return call?.isSameRequest(method, params) ? this.#remove(requestState) : undefined
  }

  close(): void {
    for (const requestState of this.#pending.keys())
      this.#remove(requestState)?.abandon('The connection is closed.')
  }

  #remove(requestState: string): T | undefined {
    const entry = this.#pending.get(requestState)
    this.#pending.delete(requestState)
    entry?.clearDeadline()
    return entry?.call
  }
}
