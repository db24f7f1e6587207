import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import type { Runtime } from '../../../runtime.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcResponse } from '../../json-rpc.ts'
import { CallError, resultObject, toError2025 } from '../call-error.ts'
import type { Deadlines } from '../deadlines.ts'
import { inputMethods, readInputRound } from '../input-required.ts'
import type { InputRound } from '../input-required.ts'
import type { LocalCall } from '../local-calls.ts'
import { metaOf } from '../params.ts'
import type { RequestOptions, Server2026 } from '../ports.ts'
import type { ClientRequests } from './client-requests.ts'

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

/** The progress of one call of a client that sees one request where the server sees several. */
interface Progress {
  /** What the client is sent for a notification of the server. */
  pass(notification: JsonRpcNotification): JsonRpcNotification
  /** The next request to the server may count progress from zero again. */
  nextRound(): void
  /** Tells the client now and then, while the work lasts, that the call is alive: many give up after a minute of silence. */
  during<T>(work: Promise<T>): Promise<T>
}

const tickSeconds = 15
/** Progress has to grow with each notification; this is too little to be seen. */
const step = 0.001

/** Does nothing for a call without `progressToken`. Until `nextRound` or `during`, notifications pass unchanged. */
function createProgress(call: LocalCall, deadlines: Deadlines): Progress {
  const token = metaOf(call.request.params)['progressToken']
  let base = 0
  let last = 0

  function tick(): void {
    last += step
    const params = { progressToken: token, progress: last, message: 'Waiting for input' }
    void call.notify({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }

  return {
    pass(notification) {
      const { method, params } = notification
      if (method !== 'notifications/progress' || params?.['progressToken'] !== token) return notification
      const { progress } = params ?? {}
      if (params === undefined || typeof progress !== 'number') return notification
      const grown = base === 0 ? progress : Math.max(base + progress, last + step)
      last = grown
      if (grown === progress) return notification
      const { total, ...rest } = params
      const shifted = typeof total === 'number' ? { total: base + total } : {}
      return { ...notification, params: { ...rest, ...shifted, progress: grown } }
    },
    nextRound() {
      base = last
    },
    async during(work) {
      if (token === undefined) return work
      let clear: () => void
      const arm = () => {
        clear = deadlines.after(tickSeconds, () => {
          tick()
          arm()
        })
      }
      arm()
      try {
        return await work
      } finally {
        clear!()
      }
    },
  }
}

/** A 2026-07-28 server, called on behalf of one client. */
export interface Upstream2026 {
  /**
   * Sends a request under a new id, with the client's claims in `_meta`. An error that came as the body of a 4xx is a
   * response too; else rejects as {@link Server2026} does.
   */
  request(method: string, params: JsonObject | undefined, options?: RequestOptions): Promise<JsonRpcResponse>
}

/** `claims` are the reserved members of `_meta`; other members of the client's `_meta` are kept. */
export function createUpstream2026(server: Server2026, claims: () => JsonObject): Upstream2026 {
  let lastId = 0

  return {
    async request(method, params, options) {
      lastId += 1
      const stamped = { ...params, _meta: { ...metaOf(params), ...claims() } }
      try {
        return await server.request({ jsonrpc: '2.0', id: lastId, method, params: stamped }, options)
      } catch (error) {
        const response = server.errorResponse(error)
        if (response === undefined) throw error
        return response
      }
    },
  }
}
