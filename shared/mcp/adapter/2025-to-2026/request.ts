import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcResponse } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, resultObject, toError2025 } from '../call-error.ts'
import { inputMethods, readInputRound } from '../input-required.ts'
import type { InputRound } from '../input-required.ts'
import type { ClientRequests } from './client-requests.ts'
import { createProgress } from './progress.ts'
import type { Progress } from './progress.ts'
import type { Upstream2026 } from './upstream.ts'
import type { LocalCall } from '../local-calls.ts'
import type { Deadlines } from '../deadlines.ts'

/** What a call needs from the connection. */
export interface CallPorts {
  upstream: Upstream2026
  clientRequests: ClientRequests
  deadlines: Deadlines
  runtime: Runtime
  clientCapabilities(): JsonObject
}

/** As the SDKs have it. */
const maxRounds = 10
/** Between two requests when the server gave a state and asked nothing: it wants us to come back. */
const pacingMs = 250

/**
 * Sends one request to a 2026-07-28 server and answers its rounds of input until it completes. The result still has
 * `resultType`. Throws {@link CallError}, and as {@link Upstream2026} does.
 */
export async function completeCall(call: LocalCall, ports: CallPorts): Promise<JsonObject> {
  const { method, params } = call.request
  const progress = createProgress(call, ports.deadlines)
  // Kept per call: the state of one call must not reach another.
  let more: JsonObject = {}
  for (let round = 0; round <= maxRounds; round += 1) {
    const response = await sendRound(call, { ...params, ...more }, progress, ports)
    if ('error' in response) {
      const { code, message, data } = toError2025(response.error, method, params)
      throw new CallError(code, message, data)
    }
    const result = resultObject(response)
    // Absent from older servers, and then it is complete.
    const { resultType = 'complete' } = result
    if (resultType === 'complete') return result
    if (resultType !== 'input_required' || !inputMethods.has(method)) throw strangeResult(resultType)
    const asked = readInputRound(result, ports.clientCapabilities())
    if (round === maxRounds) break
    more = await progress.during(answerRound(call, asked, ports))
    progress.nextRound()
  }
  throw new CallError(
    jsonRpcCode.internalError,
    `The server still asked for input after ${maxRounds} rounds.`,
  )
}

async function sendRound(
  call: LocalCall,
  params: JsonObject,
  progress: Progress,
  { upstream }: CallPorts,
): Promise<JsonRpcResponse> {
  const { method } = call.request
  const onMessage = async (message: JsonRpcMessage) => {
    // A 2026-07-28 server sends no requests, and there is no way to answer one.
    if ('method' in message && !('id' in message)) await call.notify(progress.pass(message))
  }
  return upstream.request(method, params, { signal: call.signal, onMessage })
}

/** The parameters that the next round adds. */
async function answerRound(
  call: LocalCall,
  { requests, requestState }: InputRound,
  { clientRequests, runtime }: CallPorts,
): Promise<JsonObject> {
  const state = requestState === undefined ? {} : { requestState }
  if (requests.length === 0) {
    await runtime.sleep(pacingMs)
    call.signal.throwIfAborted()
    return state
  }
  const round = new AbortController()
  const signal = AbortSignal.any([call.signal, round.signal])
  try {
    const answers = await Promise.all(
      requests.map(async (request) => [request.key, await clientRequests.request(request, signal)] as const),
    )
    return { inputResponses: Object.fromEntries(answers), ...state }
  } catch (error) {
    // One answer is missing for good: the client need not go on with the other questions.
    round.abort(error)
    throw error
  }
}

function strangeResult(resultType: unknown): CallError {
  const name = isJsonObject(resultType) ? 'object' : JSON.stringify(resultType)
  return new CallError(
    jsonRpcCode.internalError,
    `The server answered with a result of type ${name}, which this client has no way to take.`,
  )
}
