import { pause, settledWithin } from '../../async.ts'
import { isSameScalar, plainNumber } from '../../exact-json.ts'
import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcMessage, type JsonRpcNotification } from '../json-rpc.ts'
import { metaOf } from '../params.ts'
import { CallError } from './call-error.ts'
import { inputMethods, readInputRound, type InputRound } from './input-required.ts'
import type { AdapterRuntime, ClientCall } from './ports.ts'
import type { ClientRequests } from './client-requests.ts'
import type { Upstream2026 } from './upstream.ts'

export interface CallPorts {
  upstream: Upstream2026
  clientRequests: ClientRequests
  runtime: AdapterRuntime
  clientCapabilities: JsonObject
}

/** The limit of the MCP SDKs. */
const maxRounds = 10
/** The pause before the next request if the server sent only a state, to be polled. */
const pollMs = 250

/**
 * Sends a request to a 2026-07-28 server, and answers its input requests until it completes. The result still has
 * `resultType`. Throws {@link CallError}, and as {@link Upstream2026} does.
 */
export async function completeCall(call: ClientCall, ports: CallPorts): Promise<JsonObject> {
  const { method, params } = call.request
  const progress = new Progress(call)
  let added: JsonObject = {}
  for (let round = 0; round <= maxRounds; round += 1) {
    const onMessage = async (message: JsonRpcMessage): Promise<void> => {
      // A 2026-07-28 server must not send requests, and they could not be answered.
      if ('method' in message && !('id' in message)) await call.deliver(progress.translate(message))
    }
    const options = { signal: call.signal, onMessage }
    const result = await ports.upstream.request(method, { ...params, ...added }, options)
    // Older servers leave it out of complete results.
    const { resultType = 'complete' } = result
    if (resultType === 'complete') return result
    if (resultType !== 'input_required' || !inputMethods.has(method)) throw unknownResultType(resultType)
    const inputRound = readInputRound(result, ports.clientCapabilities)
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
    await pause(runtime, pollMs, call.signal)
    call.signal.throwIfAborted()
    return state
  }
  const round = new AbortController()
  const signal = AbortSignal.any([call.signal, round.signal])
  try {
    const answers = await Promise.all(
      requests.map(
        async (request) => [request.key, await clientRequests.request(request, call, signal)] as const,
      ),
    )
    return { inputResponses: Object.fromEntries(answers), ...state }
  } catch (error) {
    // Without this answer the others are useless.
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

const keepAliveMs = 15_000
/** Progress has to grow with each notification; this is too little to be seen. */
const step = 0.001

/**
 * The progress of a call that is one request for the client and several for the server, which may count from zero in each.
 * Does nothing for a call without `progressToken`.
 */
class Progress {
  readonly #call: ClientCall
  readonly #token: unknown
  /** Where the current request to the server began to count. */
  #base = 0
  #last = 0

  constructor(call: ClientCall) {
    this.#call = call
    this.#token = metaOf(call.request.params)['progressToken']
  }

  /** Returns the notification for the client in place of the server's. */
  translate(notification: JsonRpcNotification): JsonRpcNotification {
    const { method, params } = notification
    if (method !== 'notifications/progress' || !isSameScalar(params?.['progressToken'], this.#token))
      return notification
    const progress = plainNumber(params?.['progress'])
    if (params === undefined || typeof progress !== 'number') return notification
    const grown = this.#base === 0 ? progress : Math.max(this.#base + progress, this.#last + step)
    this.#last = grown
    if (grown === progress) return notification
    const { total: given, ...rest } = params
    const total = plainNumber(given)
    const shifted = typeof total === 'number' ? { total: this.#base + total } : {}
    return { ...notification, params: { ...rest, ...shifted, progress: grown } }
  }

  /** Prepares for the next request, which may count from zero again. */
  nextRound(): void {
    this.#base = this.#last
  }

  /** Sends progress at intervals while `work` lasts: many clients give up after a minute of silence. */
  async during<T>(work: Promise<T>): Promise<T> {
    if (this.#token === undefined) return work
    while ((await settledWithin(work, keepAliveMs)) === 'waiting') this.#sendKeepAlive()
    return work
  }

  #sendKeepAlive(): void {
    this.#last += step
    const params = { progressToken: this.#token, progress: this.#last, message: 'Waiting for input' }
    void this.#call.deliver({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }
}
