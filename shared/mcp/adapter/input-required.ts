import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { jsonRpcCode } from '../json-rpc.ts'
import { paramsOf } from '../params.ts'
import { CallError } from './call-error.ts'
import { missingCapability, neededCapability } from './capabilities.ts'

/** The requests of one `input_required` result (MCP 2026-07-28 multi round-trip requests). */
export interface InputRound {
  requests: readonly InputRequest[]
  /** Sent back unchanged. Undefined if the server sent none; then none may be sent back. */
  requestState: string | undefined
}

export interface InputRequest {
  /** The server's name for it, also the key of its answer in `inputResponses`. */
  key: string
  method: string
  params: JsonObject | undefined
}

/** The requests that may be answered with `input_required`; only these take `inputResponses` and `requestState`. */
export const inputMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** How long a person has to answer one input request. */
export const maxInputSeconds = 600

/** Limits memory; no client shows more at once. */
export const maxInputRequests = 32

/** Reads an `input_required` result. Throws {@link CallError} if it is invalid or needs a capability that the client lacks. */
export function readInputRound(result: JsonObject, clientCapabilities: JsonObject): InputRound {
  const { inputRequests, requestState } = result
  const entries = isJsonObject(inputRequests) ? Object.entries(inputRequests) : []
  if (entries.length > maxInputRequests) throw invalidInput(`${entries.length} input requests at once`)
  if (entries.length === 0 && typeof requestState !== 'string')
    throw invalidInput('neither inputRequests nor requestState')
  return {
    requests: entries.map(([key, value]) => readRequest(key, value, clientCapabilities)),
    requestState: typeof requestState === 'string' ? requestState : undefined,
  }
}

function readRequest(key: string, value: unknown, clientCapabilities: JsonObject): InputRequest {
  const method = isJsonObject(value) ? value['method'] : undefined
  const params = paramsOf(value)
  const needed = typeof method === 'string' ? neededCapability(method, params) : undefined
  if (typeof method !== 'string' || needed === undefined) throw invalidInput('an unknown input request')
  if (params === undefined && method !== 'roots/list') throw invalidInput(`${method} without params`)
  const missing = missingCapability(needed, clientCapabilities)
  if (missing === undefined) return { key, method, params }
  const names = Object.keys(missing).join(', ')
  throw new CallError(
    jsonRpcCode.internalError,
    `The server asked for ${method}, but this client does not support ${names}.`,
    { requiredCapabilities: missing },
  )
}

function invalidInput(what: string): CallError {
  return new CallError(jsonRpcCode.internalError, `The server asked for input with ${what}.`)
}
