import { isSameScalar } from '@drawbridge/shared/exact-json.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { missingCapability, neededCapability } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'

export interface ClientPort {
  /**
   * Sends the client a message. `relatedTo`: the id of the call that a notification or request belongs to. Resolves when there is room
   * for the next one.
   */
  send(message: JsonRpcMessage, relatedTo?: JsonRpcId): Promise<void>
}

/** The session that owns a process. */
export interface AskedSession {
  client: ClientPort
  /** The capabilities that it has declared. */
  declared: JsonObject
  /** Its call that the question is about, if that is known. */
  relatedTo: JsonRpcId | undefined
}

interface Question {
  session: AskedSession
  answer: (response: JsonRpcResponse) => void
  /** The id that the process gave it. Two processes may have the same. */
  processId: JsonRpcId
}

/** The open requests of the processes of a session to their client, under ids of this server. */
export class Questions {
  readonly #open = new Map<JsonRpcId, Question>()
  #lastId = 0

  /** Asks the session; undefined if the process has none, and the answer is an error. */
  ask(request: JsonRpcRequest, session: AskedSession | undefined, answer: Question['answer']): void {
    if (!session || !hasDeclared(session.declared, request)) {
      const reason = session
        ? 'the client has not declared it at initialize'
        : 'this process serves no session that can be asked'
      const text = `${request.method.slice(0, 100)} is not possible: ${reason}.`
      return answer(jsonRpcError(request.id, jsonRpcCode.methodNotFound, text))
    }
    this.#lastId += 1
    const id = `drawbridge-${this.#lastId}`
    this.#open.set(id, { session, answer, processId: request.id })
    void session.client.send({ ...request, id }, session.relatedTo)
  }

  /** Takes a response of the client. Returns whether it answers a question. */
  answer(response: JsonRpcResponse): boolean {
    const id = response.id ?? ''
    const question = this.#open.get(id)
    this.#open.delete(id)
    question?.answer({ ...response, id: question.processId })
    return question !== undefined
  }

  /** Withdraws a question whose answer the process no longer needs. */
  cancel(processId: unknown): void {
    const found = [...this.#open].findLast(([, question]) => isSameScalar(question.processId, processId))
    if (!found) return
    const [requestId, { session }] = found
    this.#open.delete(requestId)
    const params = { requestId, reason: 'The answer is no longer needed.' }
    void session.client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, session.relatedTo)
  }
}

function hasDeclared(declared: JsonObject, { method, params }: JsonRpcRequest): boolean {
  const needed = neededCapability(method, params)
  return needed !== undefined && missingCapability(needed, declared) === undefined
}
