import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode, type JsonRpcMessage } from '../../json-rpc.ts'
import { CallError } from '../call-error.ts'
import type { Deadlines } from '../deadlines.ts'
import { inputMethods, readInputRound, type InputRound } from '../input-required.ts'
import type { ClientCall } from '../client-calls.ts'
import type { AdapterRuntime } from '../ports.ts'
import type { ClientRequests } from './client-requests.ts'
import { Progress } from './progress.ts'
import type { Upstream2026 } from './upstream.ts'

export interface CallPorts {
  upstream: Upstream2026
  clientRequests: ClientRequests
  deadlines: Deadlines
  runtime: Pick<AdapterRuntime, 'sleep'>
  clientCapabilities(): JsonObject
}

/** The limit of the MCP SDKs. */
const maxRounds = 10
/** The pause before the next request when the server sent only a state: it wants the client to poll. */
const pollMs = 250

/**
 * Sends a request to a 2026-07-28 server, and answers its input requests until it completes. The result still has
 * `resultType`. Throws {@link CallError}, and as {@link Upstream2026} does.
 */
export async function completeCall(call: ClientCall, ports: CallPorts): Promise<JsonObject> {
  const { method, params } = call.request
  const progress = new Progress(call, ports.deadlines)
  let added: JsonObject = {}
  for (let round = 0; round <= maxRounds; round += 1) {
    const onMessage = async (message: JsonRpcMessage): Promise<void> => {
      // A 2026-07-28 server must not send requests, and they could not be answered.
      if ('method' in message && !('id' in message)) await call.notify(progress.translate(message))
    }
    const options = { signal: call.signal, onMessage }
    const result = await ports.upstream.request(method, { ...params, ...added }, options)
    // Older servers leave it out of complete results.
    const { resultType = 'complete' } = result
    if (resultType === 'complete') return result
    if (resultType !== 'input_required' || !inputMethods.has(method)) throw unknownResultType(resultType)
    const inputRound = readInputRound(result, ports.clientCapabilities())
    if (round === maxRounds) break
    added = await progress.during(answerRound(call, inputRound, ports))
    progress.nextRound()
  }
  throw new CallError(jsonRpcCode.internalError, `The server still asks for input after ${maxRounds} rounds.`)
}

/** The parameters to add in the next round. */
async function answerRound(
  call: ClientCall,
  { requests, requestState }: InputRound,
  { clientRequests, runtime }: CallPorts,
): Promise<JsonObject> {
  const state = requestState === undefined ? {} : { requestState }
  if (requests.length === 0) {
    await runtime.sleep(pollMs)
    call.signal.throwIfAborted()
    return state
  }
  const round = new AbortController()
  const signal = AbortSignal.any([call.signal, round.signal])
  try {
    const answers = await Promise.all(
      requests.map(
        async (request) =>
          [request.key, await clientRequests.request(request, call.request.id, signal)] as const,
      ),
    )
    return { inputResponses: Object.fromEntries(answers), ...state }
  } catch (error) {
    // Without this answer the others are of no use.
    round.abort(error)
    throw error
  }
}

function unknownResultType(resultType: unknown): CallError {
  const name = isJsonObject(resultType) ? 'object' : JSON.stringify(resultType)
  return new CallError(
    jsonRpcCode.internalError,
    `The server sent a result of type ${name}, which this client does not support.`,
  )
}
