import { isSameScalar } from '@drawbridge/shared/exact-json.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { missingCapability, neededCapability } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import { maxInputSeconds } from '@drawbridge/shared/mcp/adapter/input-required.ts'
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
  timer: NodeJS.Timeout
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
    const expire = (): void => {
      this.#withdraw(id, 'The answer did not arrive in time.')
      answer(notAnswered(request.id))
    }
    const timer = setTimeout(expire, maxInputSeconds * 1000).unref()
    this.#open.set(id, { session, answer, processId: request.id, timer })
    void session.client.send({ ...request, id }, session.relatedTo)
  }

  /** Takes a response of the client. Returns whether it answers a question. */
  answer(response: JsonRpcResponse): boolean {
    const id = response.id ?? ''
    const question = this.#open.get(id)
    this.#forget(id)
    question?.answer({ ...response, id: question.processId })
    return question !== undefined
  }

  /** Withdraws a question whose answer the process no longer needs. */
  cancel(processId: unknown): void {
    const [id] = [...this.#open].findLast(([, question]) => isSameScalar(question.processId, processId)) ?? []
    if (id !== undefined) this.#withdraw(id, 'The answer is no longer needed.')
  }

  #withdraw(requestId: JsonRpcId, reason: string): void {
    const { client, relatedTo } = this.#open.get(requestId)?.session ?? {}
    const params = { requestId, reason }
    void client?.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, relatedTo)
    this.#forget(requestId)
  }

  #forget(id: JsonRpcId): void {
    clearTimeout(this.#open.get(id)?.timer)
    this.#open.delete(id)
  }
}

function hasDeclared(declared: JsonObject, { method, params }: JsonRpcRequest): boolean {
  const needed = neededCapability(method, params)
  return needed !== undefined && missingCapability(needed, declared) === undefined
}

function notAnswered(id: JsonRpcId): JsonRpcResponse {
  return jsonRpcError(id, jsonRpcCode.internalError, 'The client did not answer.')
}
