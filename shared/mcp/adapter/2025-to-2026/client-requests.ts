import { encodeBase64url } from '../../../base64url.ts'
import type { JsonObject } from '../../../json-object.ts'
import { isJsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcId, JsonRpcResponse } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError } from '../call-error.ts'
import { answerSeconds } from '../input-required.ts'
import type { InputRequest } from '../input-required.ts'
import type { Deadlines } from '../deadlines.ts'
import type { LocalPeer } from '../ports.ts'

/** Sends requests to a 2025 client, and matches its responses. */
export interface ClientRequests {
  /**
   * The result of the client. Rejects with {@link CallError} when it answers with an error or not in time, and with the reason
   * of the signal. A request that ends early is cancelled by `notifications/cancelled`.
   */
  request(request: InputRequest, signal: AbortSignal): Promise<JsonObject>
  /** Takes a response of the client. What answers no open question is dropped. */
  take(response: JsonRpcResponse): void
  /** Forgets all questions and sends nothing more. */
  close(): void
}

interface Question {
  settle(outcome: JsonObject | CallError): void
}

/** Ids begin with random text, so that an answer meant for another sender of questions hits nothing here. */
export function createClientRequests(
  local: LocalPeer,
  runtime: Runtime,
  deadlines: Deadlines,
): ClientRequests {
  const open = new Map<unknown, Question>()
  const prefix = encodeBase64url(runtime.randomBytes(6))
  let lastId = 0
  let closed = false

  async function send(id: JsonRpcId, request: InputRequest): Promise<void> {
    const params = withElicitationId(request, runtime)
    await local.send({ jsonrpc: '2.0', id, method: request.method, ...(params && { params }) })
  }

  function cancel(requestId: JsonRpcId, reason: string): void {
    if (!open.delete(requestId) || closed) return
    const params = { requestId, reason }
    local.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {})
  }

  return {
    async request(request, signal) {
      signal.throwIfAborted()
      lastId += 1
      const id = `${prefix}-${lastId}`
      const outcome = await new Promise<JsonObject | CallError>((resolve, reject) => {
        const abandon = () => {
          cancel(id, 'The answer is not needed any more.')
          reject(signal.reason)
        }
        const clear = deadlines.after(answerSeconds, () => {
          cancel(id, 'The time for an answer is over.')
          settle(
            new CallError(jsonRpcCode.internalError, `The client did not answer ${request.method} in time.`),
          )
        })
        const settle = (value: JsonObject | CallError) => {
          clear()
          signal.removeEventListener('abort', abandon)
          resolve(value)
        }
        signal.addEventListener('abort', abandon, { once: true })
        open.set(id, { settle })
        send(id, request).catch(reject)
      })
      if (outcome instanceof CallError) throw outcome
      return outcome
    },
    take(response) {
      const question = open.get(response.id)
      open.delete(response.id)
      question?.settle(readAnswer(response))
    },
    close() {
      closed = true
      open.clear()
    },
  }
}

/** A client that will not answer ends the call: `inputResponses` has no place for errors. */
function readAnswer(response: JsonRpcResponse): JsonObject | CallError {
  if ('error' in response) {
    const { code, message } = response.error
    return new CallError(jsonRpcCode.internalError, `The client did not give the input: ${message}`, { code })
  }
  if (isJsonObject(response.result)) return response.result
  return new CallError(jsonRpcCode.internalError, 'The client gave an input that is no object.')
}

/** 2025-11-25 requires `elicitationId` for URL mode; 2026-07-28 has none. */
function withElicitationId({ method, params }: InputRequest, runtime: Runtime): JsonObject | undefined {
  if (method !== 'elicitation/create' || params?.['mode'] !== 'url') return params
  return { elicitationId: encodeBase64url(runtime.randomBytes(16)), ...params }
}
