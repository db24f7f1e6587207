import { isSameScalar } from '@drawbridge/shared/exact-json.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { missingCapability, neededCapability } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import { maxInputSeconds } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import type { ClientPort } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'

interface QuestionTerms {
  /** Undefined when there is nobody to ask. */
  asked: ClientPort | undefined
  isShared: boolean
  /** The capabilities of the client. */
  declared: JsonObject | undefined
  /** The call of that client that it is about, if that is known. */
  relatedTo: JsonRpcId | undefined
}

interface Question {
  asked: ClientPort
  relatedTo: JsonRpcId | undefined
  answer: (response: JsonRpcResponse) => void
  /** The id that the process gave it. Two processes may have the same. */
  processId: JsonRpcId
  timer: NodeJS.Timeout
}

/** The requests of processes to clients that are open, by ids of their own. */
export class Questions {
  readonly #open = new Map<JsonRpcId, Question>()
  #lastId = 0

  ask(request: JsonRpcRequest, terms: QuestionTerms, answer: Question['answer']): void {
    const { asked, relatedTo } = terms
    const refusal = refusalOf(request, terms)
    if (!asked || refusal !== undefined) {
      const text = `${request.method.slice(0, 100)} is not possible: ${refusal}.`
      return answer(jsonRpcError(request.id, jsonRpcCode.methodNotFound, text))
    }
    this.#lastId += 1
    const id = `drawbridge-${this.#lastId}`
    const expire = (): void => {
      this.#withdraw(id, 'The answer did not arrive in time.')
      answer(notAnswered(request.id))
    }
    const timer = setTimeout(expire, maxInputSeconds * 1000).unref()
    this.#open.set(id, { asked, relatedTo, answer, processId: request.id, timer })
    void asked.send({ ...request, id }, relatedTo)
  }

  /** Takes the response of the client that was asked; of another one it is dropped. Says whether it was one. */
  answer(response: JsonRpcResponse, from: ClientPort): boolean {
    const question = this.#open.get(response.id ?? '')
    if (question?.asked !== from) return false
    this.#forget(response.id ?? '')
    question.answer({ ...response, id: question.processId })
    return true
  }

  /** The process no longer waits for the answer. */
  cancel(processId: unknown): void {
    const [id] = [...this.#open].findLast(([, question]) => isSameScalar(question.processId, processId)) ?? []
    if (id !== undefined) this.#withdraw(id, 'The answer is no longer needed.')
  }

  /** A client has left without an answer. */
  leave(client: ClientPort): void {
    for (const [id, { asked }] of this.#open) if (asked === client) this.answer(notAnswered(id), client)
  }

  #withdraw(requestId: JsonRpcId, reason: string): void {
    const params = { requestId, reason }
    const question = this.#open.get(requestId)
    void question?.asked.send(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params },
      question.relatedTo,
    )
    this.#forget(requestId)
  }

  #forget(id: JsonRpcId): void {
    clearTimeout(this.#open.get(id)?.timer)
    this.#open.delete(id)
  }
}

/** Says why the process cannot ask that. */
function refusalOf(
  { method, params }: JsonRpcRequest,
  { asked, isShared, declared = {} }: QuestionTerms,
): string | undefined {
  if (isShared) return 'this process serves everybody and can ask nobody'
  if (!asked) return 'no client of this process has declared at initialize that it can be asked'
  const needed = neededCapability(method, params)
  const isDeclared = needed && !missingCapability(needed, declared)
  return isDeclared ? undefined : 'the client has not declared it at initialize'
}

function notAnswered(id: JsonRpcId): JsonRpcResponse {
  return jsonRpcError(id, jsonRpcCode.internalError, 'The client did not answer.')
}
